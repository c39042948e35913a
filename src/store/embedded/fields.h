// Which fields of a value are stored, in which order: one list serves writing and reading.
//
// The order is part of the format on disk. New fields go to the end of a list, together with a new
// format number.
#pragma once

#include <millrace/queue.h>
#include <millrace/schedule.h>
#include <millrace/task.h>
#include <concepts>
#include <type_traits>

#include "store/embedded/bytes.h"

namespace millrace::embedded {

template <class T, class Value>
concept A = std::same_as<std::remove_const_t<T>, Value>;

void fields(A<RetryRules> auto& of, const auto& visit) {
  visit(of.backoff), visit(of.base), visit(of.factor), visit(of.cap), visit(of.jitter);
  visit(of.jitter_share), visit(of.cap_after_jitter), visit(of.max_retries), visit(of.retryable);
}
void fields(A<UniqueKey> auto& of, const auto& visit) {
  visit(of.key), visit(of.scope), visit(of.window);
}
void fields(A<Callback> auto& of, const auto& visit) {
  visit(of.url), visit(of.events), visit(of.max_attempts);
}
void fields(A<Keep> auto& of, const auto& visit) {
  visit(of.for_time), visit(of.last);
}
void fields(A<TaskError> auto& of, const auto& visit) {
  visit(of.code), visit(of.message), visit(of.details), visit(of.stack), visit(of.failed_at);
}
void fields(A<Attempt> auto& of, const auto& visit) {
  visit(of.started_at), visit(of.ended_at), visit(of.event), visit(of.worker);
  visit(of.error_code), visit(of.error_message);
}
void fields(A<LogLine> auto& of, const auto& visit) {
  visit(of.at), visit(of.text);
}
void fields(A<DeliveryNote> auto& of, const auto& visit) {
  visit(of.attempts), visit(of.last_status);
}
void fields(A<Rate> auto& of, const auto& visit) {
  visit(of.max), visit(of.per);
}
void fields(A<TypePolicy> auto& of, const auto& visit) {
  visit(of.type), visit(of.retry), visit(of.timeout), visit(of.max_lost);
}
void fields(A<QueueSettings> auto& of, const auto& visit) {
  visit(of.name), visit(of.number), visit(of.id), visit(of.description);
  visit(of.active), visit(of.draining), visit(of.paused_until), visit(of.max_concurrent);
  visit(of.max_depth), visit(of.put_rate), visit(of.process_rate);
  visit(of.priority), visit(of.weight), visit(of.ageing);
  visit(of.lease), visit(of.timeout), visit(of.batch_size);
  visit(of.max_lost), visit(of.retry), visit(of.types), visit(of.dead_letters);
  visit(of.keep_completed), visit(of.keep_dead);
}
void fields(A<Queue> auto& of, const auto& visit) {
  visit(of.settings), visit(of.created_at), visit(of.updated_at), visit(of.removing);
}
void fields(A<TickRule> auto& of, const auto& visit) {
  visit(of.cron), visit(of.zone), visit(of.dst), visit(of.every), visit(of.anchor);
}
void fields(A<NewTask> auto& of, const auto& visit) {
  visit(of.id), visit(of.queue), visit(of.type), visit(of.payload), visit(of.content_type);
  visit(of.priority), visit(of.held), visit(of.start), visit(of.delay), visit(of.start_by);
  visit(of.timeout), visit(of.max_lost), visit(of.retry), visit(of.unique), visit(of.callback);
  visit(of.keep_for), visit(of.client_id), visit(of.request_id), visit(of.group);
  visit(of.metadata), visit(of.tags), visit(of.parent);
}
void fields(A<Schedule> auto& of, const auto& visit) {
  visit(of.name), visit(of.rule), visit(of.task), visit(of.overlap), visit(of.missed);
  visit(of.missed_most), visit(of.jitter), visit(of.paused), visit(of.next), visit(of.last);
  visit(of.last_task), visit(of.fired), visit(of.skipped), visit(of.created_at);
  visit(of.updated_at);
}

template <class T>
concept HasFields = requires(T& value) { fields(value, [](const auto&) {}); };

template <class Out, HasFields T>
void write(Out& out, const T& value) {
  fields(value, [&](const auto& field) { write(out, field); });
}
template <HasFields T>
void read(ByteReader& in, T& value) {
  fields(value, [&](auto& field) { read(in, field); });
}

// A queue by name, number or UUID.
template <class Out>
void write(Out& out, const QueueRef& queue) {
  write(out, static_cast<std::uint8_t>(queue.index()));
  std::visit([&](const auto& value) { write(out, value); }, queue);
}
inline void read(ByteReader& in, QueueRef& queue) {
  std::uint8_t kind = 0;
  read(in, kind);
  if (kind == 0) return read(in, queue.emplace<0>());
  if (kind == 1) return read(in, queue.emplace<1>());
  if (kind == 2) return read(in, queue.emplace<2>());
  in.spoil();
}

}  // namespace millrace::embedded
