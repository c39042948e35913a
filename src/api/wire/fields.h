// The fields of a value on the wire and their names: one list serves both directions.
//
// A field that is empty, zero or false is left out, so its default in include/millrace must be
// that, too. If it is not, the list says always(); if a reader needs the field, required().
#pragma once

#include <millrace/queue.h>
#include <millrace/schedule.h>
#include <millrace/task.h>
#include <millrace/work.h>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "core/values.h"

namespace millrace::wire {

// Written even if it is empty.
template <class T>
struct Always {
  T& field;
};
template <class T>
Always<T> always(T& field) {
  return {field};
}

// Written even if it is empty; reading fails where it is missing.
template <class T>
struct Required {
  T& field;
};
template <class T>
Required<T> required(T& field) {
  return {field};
}

// Left out where it has its usual value, which is that of a field that is missing.
template <class T>
struct Usual {
  T& field;
  std::remove_const_t<T> value;
};
template <class T>
Usual<T> usual(T& field, std::remove_const_t<T> value) {
  return {field, value};
}

// A reader refuses null, which would otherwise mean the same as nothing.
template <class T>
struct NotNull {
  T& field;
};
template <class T>
NotNull<T> not_null(T& field) {
  return {field};
}

// Bits that are written as a list of names.
template <class T>
struct EventNames {
  T& bits;
};
template <class T>
EventNames<T> event_names(T& bits) {
  return {bits};
}

// Bytes that may be a JSON value. In an export they are a string; in the API they are the value
// itself, or have the suffix _text or _base64 if they are not JSON. `type` is the content type.
template <class T>
struct Embedded {
  T& bytes;
  T* type = nullptr;
  bool object = false;  // only an object is allowed
};
template <class T>
Embedded<T> embedded(T& bytes) {
  return {bytes};
}
template <class T>
Embedded<T> embedded(T& bytes, T& type) {
  return {bytes, &type};
}
template <class T>
Embedded<T> embedded_object(T& bytes) {
  return {bytes, nullptr, true};
}

// The same for a value that may be empty and yet given.
template <class T>
struct EmbeddedIfGiven {
  T& bytes;  // optional
};
template <class T>
EmbeddedIfGiven<T> embedded_if_given(T& bytes) {
  return {bytes};
}

template <class T, class Value>
concept A = std::same_as<std::remove_const_t<T>, Value>;

void fields(A<RetryRules> auto& of, auto& visit) {
  visit("backoff", of.backoff), visit("base_ms", of.base), visit("factor", of.factor);
  visit("cap_ms", of.cap), visit("jitter", of.jitter), visit("jitter_share", of.jitter_share);
  visit("cap_after_jitter", of.cap_after_jitter), visit("max_retries", of.max_retries);
  visit("retryable", of.retryable);
}
void fields(A<UniqueKey> auto& of, auto& visit) {
  visit("key", required(of.key)), visit("scope", of.scope), visit("window_ms", of.window);
  visit("on_conflict", of.on_conflict), visit("max_delay_ms", of.max_delay);
}
void fields(A<After> auto& of, auto& visit) {
  visit("tasks", required(of.tasks)), visit("when", always(of.when));
  visit("otherwise", always(of.otherwise));
}
void fields(A<Callback> auto& of, auto& visit) {
  visit("url", required(of.url)), visit("events", event_names(of.events));
  visit("max_attempts", always(of.max_attempts));
}
void fields(A<Keep> auto& of, auto& visit) {
  visit("for_ms", of.for_time), visit("last", of.last);
}
void fields(A<TaskError> auto& of, auto& visit) {
  visit("code", always(of.code)), visit("message", of.message), visit("details", of.details);
  visit("stack", of.stack), visit("failed_at", of.failed_at);
}
void fields(A<Counters> auto& of, auto& visit) {
  visit("deliveries", of.deliveries), visit("attempts", of.attempts);
  visit("retries", of.retries), visit("lost", of.lost);
}
void fields(A<Attempt> auto& of, auto& visit) {
  visit("started_at", of.started_at), visit("ended_at", of.ended_at), visit("event", of.event);
  visit("worker", of.worker), visit("error_code", of.error_code);
  visit("error_message", of.error_message);
}
void fields(A<LogLine> auto& of, auto& visit) {
  visit("at", of.at), visit("text", always(of.text));
}
void fields(A<DeliveryNote> auto& of, auto& visit) {
  visit("attempts", always(of.attempts)), visit("last_status", of.last_status);
}
void fields(A<Rate> auto& of, auto& visit) {
  visit("max", required(of.max)), visit("per_ms", required(of.per));
}
void fields(A<TypePolicy> auto& of, auto& visit) {
  visit("type", required(of.type)), visit("retry", of.retry), visit("timeout_ms", of.timeout);
  visit("max_lost", of.max_lost);
  visit("keep_completed", of.keep_completed), visit("keep_dead", of.keep_dead);
}
void fields(A<GroupRules> auto& of, auto& visit) {
  visit("order", of.order), visit("max_concurrent", of.max_concurrent);
  visit("process_rate", of.process_rate), visit("rate_of", usual(of.rate_of, RateOf::tasks));
  visit("max_depth", of.max_depth), visit("weight", usual(of.weight, 1));
  visit("retry_holds", usual(of.retry_holds, true));
}
void fields(A<GroupOverride> auto& of, auto& visit) {
  visit("max_concurrent", of.max_concurrent), visit("process_rate", of.process_rate);
  visit("max_depth", of.max_depth), visit("weight", of.weight);
  visit("paused_until", of.paused_until), visit("until", of.until);
}
// All but the name.
void fields_of_queue(auto& of, auto& visit) {
  visit("number", of.number), visit("id", of.id), visit("description", of.description),
      visit("active", always(of.active));
  visit("draining", of.draining), visit("paused_until", of.paused_until);
  visit("max_concurrent", of.max_concurrent), visit("max_depth", of.max_depth);
  visit("max_task_size", of.max_task_size);
  visit("put_rate", of.put_rate), visit("process_rate", of.process_rate);
  visit("rate_of", usual(of.rate_of, RateOf::tasks)), visit("groups", of.groups);
  visit("priority", always(of.priority)), visit("weight", of.weight);
  visit("ageing_ms", of.ageing), visit("lease_ms", always(of.lease));
  visit("timeout_ms", of.timeout), visit("batch_size", always(of.batch_size));
  visit("max_lost", of.max_lost), visit("retry", of.retry), visit("types", of.types);
  visit("dead_letters", always(of.dead_letters));
  visit("dead_letter_queue", of.dead_letter_queue);
  visit("keep_completed", always(of.keep_completed)), visit("keep_dead", always(of.keep_dead));
}
void fields(A<QueueSettings> auto& of, auto& visit) {
  visit("name", required(of.name));
  fields_of_queue(of, visit);
}
// The settings together with what the store adds, in one object.
void fields(A<Queue> auto& of, auto& visit) {
  fields(of.settings, visit);
  visit("created_at", of.created_at), visit("updated_at", of.updated_at);
  visit("removing", of.removing);
}
void fields(A<TickRule> auto& of, auto& visit) {
  visit("cron", of.cron), visit("zone", always(of.zone)), visit("dst", of.dst);
  visit("every_ms", of.every), visit("anchor", of.anchor);
}
// What a put gives and a stored task keeps; NewTask and Task have the same names for it.
void fields_given(auto& of, auto& visit) {
  visit("type", of.type);
  visit("payload", embedded(of.payload, of.content_type));
  visit("content_type", of.content_type);
  visit("priority", always(of.priority)), visit("start_by", of.start_by);
  visit("timeout_ms", of.timeout), visit("max_lost", of.max_lost), visit("retry", of.retry);
  visit("unique", of.unique), visit("callback", of.callback), visit("keep_for_ms", of.keep_for);
  visit("keep_completed", of.keep_completed), visit("keep_dead", of.keep_dead);
  visit("client_id", of.client_id), visit("request_id", of.request_id), visit("group", of.group);
  visit("cost", usual(of.cost, 1));
  visit("metadata", embedded_object(of.metadata)), visit("tags", of.tags),
      visit("parent", of.parent);
  visit("after", of.after);
}
void fields(A<NewTask> auto& of, auto& visit) {
  visit("id", of.id), visit("queue", required(of.queue));
  fields_given(of, visit);
  visit("held", of.held), visit("start", of.start), visit("delay_ms", of.delay);
}
void fields(A<Task> auto& of, auto& visit) {
  visit("id", required(of.id)), visit("number", of.number), visit("version", of.version);
  visit("queue", required(of.queue)), visit("state", required(of.state));
  fields_given(of, visit);
  visit("waits_for", of.waits_for);
  visit("cancel_requested", of.cancel_requested), visit("counters", of.counters);
  visit("created_at", required(of.created_at)), visit("updated_at", required(of.updated_at));
  visit("start", required(of.start)), visit("previous_start", of.previous_start);
  visit("started_at", of.started_at), visit("finished_at", of.finished_at);
  visit("lease_until", of.lease_until), visit("worker", of.worker);
  visit("result", embedded(of.result)), visit("error", of.error), visit("progress", of.progress);
  visit("delivery", of.delivery), visit("log", of.log), visit("history", of.history);
  visit("checkpoint", embedded(of.checkpoint)), visit("answer", embedded_if_given(of.answer));
}
// What a worker is given.
void fields(A<Lease> auto& of, auto& visit) {
  visit("id", required(of.id)), visit("number", of.number), visit("token", required(of.token));
  visit("until", required(of.until)), visit("queue", required(of.queue));
  fields_given(of, visit);
  visit("counters", of.counters), visit("created_at", of.created_at), visit("start", of.start);
  visit("previous_start", of.previous_start), visit("started_at", of.started_at);
  visit("checkpoint", embedded(of.checkpoint)), visit("answer", embedded_if_given(of.answer));
}
void fields(A<Want> auto& of, auto& visit) {
  visit("queue", required(of.queue)), visit("most", always(of.most));
}
void fields(A<Extension> auto& of, auto& visit) {
  visit("id", required(of.id)), visit("token", required(of.token));
  visit("lease_ms", of.lease), visit("progress", of.progress), visit("log", of.log);
  visit("checkpoint", embedded_if_given(of.checkpoint));
}
void fields(A<Extended> auto& of, auto& visit) {
  visit("until", required(of.until)), visit("cancel_requested", always(of.cancel_requested));
}
void fields(A<Schedule> auto& of, auto& visit) {
  visit("name", required(of.name)), visit("rule", required(of.rule));
  visit("task", required(of.task)), visit("overlap", of.overlap), visit("missed", of.missed);
  visit("missed_most", always(of.missed_most)), visit("jitter_ms", of.jitter);
  visit("paused", of.paused), visit("next", of.next), visit("last", of.last);
  visit("last_task", of.last_task), visit("fired", of.fired), visit("skipped", of.skipped);
  visit("created_at", of.created_at), visit("updated_at", of.updated_at);
}
void fields(A<Memo> auto& of, auto& visit) {
  visit("key", required(of.key)), visit("value", always(of.value));
  visit("version", of.version), visit("expires", of.expires);
}

struct AnyVisitor {
  void operator()(const char*, const auto&) {}
};
template <class T>
concept HasFields = requires(T& value, AnyVisitor visit) { fields(value, visit); };

// Whether a value is left out.
template <class T>
bool is_empty(const T& value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return value == T{};
  } else if constexpr (std::is_same_v<T, Duration> || std::is_same_v<T, Uuid> ||
                       std::is_same_v<T, TaskId>) {
    return value == T{};
  } else if constexpr (std::is_same_v<T, OnConflict>) {
    return value == OnConflict::keep;
  } else if constexpr (requires { value.empty(); }) {
    return value.empty();
  } else if constexpr (HasFields<T>) {
    return value == T{};
  } else {
    return false;
  }
}
template <class Tag, class Rep>
bool is_empty(const Strong<Tag, Rep>& value) {
  return value == Strong<Tag, Rep>{};
}

}  // namespace millrace::wire
