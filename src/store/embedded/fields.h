// Which fields of a value are stored, in which order: one list serves writing and reading.
//
// The order is part of the format on disk. New fields go to the end of a list, together with a new
// format number.
#pragma once

#include <millrace/queue.h>
#include <millrace/schedule.h>
#include <millrace/task.h>
#include <millrace/work.h>
#include <algorithm>
#include <concepts>
#include <optional>
#include <string_view>
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
void fields(A<After> auto& of, const auto& visit) {
  visit(of.tasks), visit(of.when), visit(of.otherwise);
}
void fields(A<GroupRules> auto& of, const auto& visit) {
  visit(of.order), visit(of.max_concurrent), visit(of.process_rate), visit(of.rate_of);
  visit(of.max_depth), visit(of.weight), visit(of.retry_holds);
}
void fields(A<GroupOverride> auto& of, const auto& visit) {
  visit(of.max_concurrent), visit(of.process_rate), visit(of.max_depth), visit(of.weight);
  visit(of.paused_until), visit(of.until);
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

// Fields that came with format 2 stand behind all others, and only those that are not as usual: a
// value that has none of them has the bytes that it had in format 1. The order numbers the bits and
// must not change.
template <class T>
concept Given = A<T, NewTask> || A<T, Task> || A<T, Lease>;
void late_fields(Given auto& of, const auto& visit) {
  visit(of.cost, 1U), visit(of.after, std::nullopt);
  visit(of.keep_completed, std::nullopt), visit(of.keep_dead, std::nullopt);
}
void late_fields(A<UniqueKey> auto& of, const auto& visit) {
  visit(of.on_conflict, OnConflict::keep), visit(of.max_delay, std::nullopt);
}
void late_fields(A<TypePolicy> auto& of, const auto& visit) {
  visit(of.keep_completed, std::nullopt), visit(of.keep_dead, std::nullopt);
}
void late_fields(A<QueueSettings> auto& of, const auto& visit) {
  visit(of.dead_letter_queue, std::string_view()), visit(of.max_task_size, std::nullopt);
  visit(of.groups, std::nullopt), visit(of.rate_of, RateOf::tasks);
}

template <class T>
concept HasLateFields = requires(T& value) { late_fields(value, [](const auto&, const auto&) {}); };

std::uint16_t late_bits(const HasLateFields auto& value) {
  unsigned bits = 0;
  unsigned bit = 1;
  late_fields(value, [&](const auto& field, const auto& usual) {
    if (field != usual) bits |= bit;
    bit <<= 1U;
  });
  return static_cast<std::uint16_t>(bits);
}
template <class Out>
void write_late(Out& out, const HasLateFields auto& value) {
  write(out, late_bits(value));
  late_fields(value, [&](const auto& field, const auto& usual) {
    if (field != usual) write(out, field);
  });
}
void read_late(ByteReader& in, HasLateFields auto& value) {
  std::uint16_t bits = 0;
  read(in, bits);
  unsigned left = bits;
  late_fields(value, [&](auto& field, const auto&) {
    if ((left & 1U) != 0) read(in, field);
    left >>= 1U;
  });
  if (left != 0) in.spoil();
}

// The late fields of a queue's settings and of a schedule's task, where there are any.
inline bool has_late(const QueueSettings& settings) {
  return late_bits(settings) != 0 || std::ranges::any_of(settings.types, [](const auto& policy) {
           return late_bits(policy) != 0;
         });
}
template <class Out>
void write_all_late(Out& out, const QueueSettings& settings, bool more_comes = false) {
  if (!has_late(settings) && !more_comes) return;
  write_late(out, settings);
  for (const TypePolicy& policy : settings.types) write_late(out, policy);
}
inline void read_all_late(ByteReader& in, QueueSettings& settings) {
  if (in.left() == 0) return;
  read_late(in, settings);
  for (TypePolicy& policy : settings.types) read_late(in, policy);
}
inline bool has_late(const Schedule& schedule) {
  const NewTask& task = schedule.task;
  return late_bits(task) != 0 || (task.unique && late_bits(*task.unique) != 0);
}
template <class Out>
void write_all_late(Out& out, const Schedule& schedule) {
  if (!has_late(schedule)) return;
  write_late(out, schedule.task);
  if (schedule.task.unique) write_late(out, *schedule.task.unique);
}
inline void read_all_late(ByteReader& in, Schedule& schedule) {
  if (in.left() == 0) return;
  read_late(in, schedule.task);
  if (schedule.task.unique) read_late(in, *schedule.task.unique);
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
