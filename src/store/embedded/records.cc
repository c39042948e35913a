#include "store/embedded/records.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/crc32c.h"
#include "store/embedded/record_fields.h"

namespace millrace::embedded {
namespace {

// Writes one record around what `fill` writes.
void write_record(std::string& out, RecordKind kind, const auto& fill) {
  Appender to(out);
  write(to, kind);
  const std::size_t length_at = out.size();
  write(to, std::uint32_t{0});
  fill(to);
  const auto length = static_cast<std::uint32_t>(out.size() - length_at - sizeof(std::uint32_t));
  std::memcpy(out.data() + length_at, &length, sizeof(length));
}

std::uint32_t blob_checksum(std::uint64_t number, std::string_view bytes) {
  return crc32c(static_cast<std::uint32_t>(number ^ (number >> 32U)), bytes);
}

void write_blob(Appender& to, std::uint64_t number, std::string_view bytes) {
  write(to, static_cast<std::uint32_t>(bytes.size()));
  write(to, blob_checksum(number, bytes));
  to.raw(bytes.data(), bytes.size());
}

std::uint16_t bits_of(const Slot& slot) {
  unsigned bits = 0;
  unsigned bit = 1;
  optional_mutables(slot, [&](const auto& field, const auto& usual) {
    if (field != usual) bits |= bit;
    bit <<= 1U;
  });
  if (slot.worker != 0) bits |= has_worker;
  if (slot.notes) bits |= has_notes;
  if (slot.cancel_requested) bits |= cancel_requested;
  if (slot.has_start_by) bits |= has_start_by;
  if (slot.has_steps) bits |= has_steps;
  if (slot.has_waits) bits |= has_waits;
  return static_cast<std::uint16_t>(bits);
}

// Returns the offset of the notes in the bytes written to, if there are any.
std::size_t write_mutable(std::string& out, const State& state, const Slot& slot) {
  Appender to(out);
  write(to, bits_of(slot)), write(to, slot.state), write(to, slot.priority);
  write(to, slot.start), write(to, slot.updated_at);
  optional_mutables(slot, [&](const auto& field, const auto& usual) {
    if (field != usual) write(to, field);
  });
  if (slot.worker != 0) write(to, state.workers.text(slot.worker));
  if (!slot.notes) return Written::nowhere;
  const std::size_t at = out.size();
  write_blob(to, slot.number, state.bytes(slot.notes, slot.number));
  return at;
}

Written write_task_record(std::string& out, const State& state, std::uint32_t at) {
  const Slot& slot = state.slot(at);
  Written written{.slot = at};
  write_record(out, RecordKind::task, [&](Appender& to) {
    write(to, slot.number), write(to, slot.version), write(to, slot.id), write(to, slot.queue);
    written.body = out.size();
    write_blob(to, slot.number, state.body(slot));
    written.notes = write_mutable(out, state, slot);
  });
  return written;
}

Written write_change(std::string& out, const State& state, std::uint32_t at) {
  const Slot& slot = state.slot(at);
  Written written{.slot = at};
  write_record(out, RecordKind::change, [&](Appender& to) {
    write(to, slot.number), write(to, slot.version);
    written.notes = write_mutable(out, state, slot);
  });
  return written;
}

void write_gone(std::string& out, const TaskChange& change) {
  write_record(out, RecordKind::gone,
               [&](Appender& to) { write(to, change.number), write(to, change.version); });
}

void write_queue(std::string& out, const QueueEntry& queue) {
  write_record(out, RecordKind::queue, [&](Appender& to) {
    write(to, queue.index), write(to, queue.queue), write(to, queue.puts), write(to, queue.takes);
    const bool more = queue.group_epoch != 0;
    write_all_late(to, queue.settings(), more);
    if (!more) return;
    write(to, queue.group_epoch), write(to, queue.turn);
    write(to, queue.line ? queue.line->ungrouped().turn : 0U);
  });
}

void write_group(std::string& out, const GroupEntry& group) {
  write_record(out, RecordKind::group, [&](Appender& to) {
    write(to, group.queue), write(to, group.name), write(to, group.epoch);
    write(to, group.override ? std::optional(*group.override) : std::nullopt);
    write(to, group.has_tasks() ? group.turn : 0U);
    write_uses(to, group.takes.get());
  });
}

void write_window(std::string& out, std::uint16_t queue, const std::string& key,
                  const Holder& holder) {
  write_record(out, RecordKind::window,
               [&](Appender& to) { write(to, queue), write(to, key), write(to, holder); });
}

void write_schedule(std::string& out, const Schedule& schedule) {
  write_record(out, RecordKind::schedule, [&](Appender& to) {
    write(to, schedule);
    write_all_late(to, schedule);
  });
}

// In the order of their names.
void write_groups(std::string& out, const State& state, std::uint16_t queue) {
  std::vector<std::pair<std::string_view, std::uint32_t>> groups;
  for (const auto& [handle, same] : state.groups.of(queue)) {
    if (state.has_record(state.groups.at(handle))) {
      groups.emplace_back(state.groups.at(handle).name, handle);
    }
  }
  std::ranges::sort(groups);
  for (const auto& [name, handle] : groups) write_group(out, state.groups.at(handle));
}

void write_whole(std::string& out, RecordKind kind, const auto& value) {
  write_record(out, kind, [&](Appender& to) { write(to, value); });
}

RecordKind gone_kind(Thing thing) {
  switch (thing) {
    case Thing::queue:
      return RecordKind::queue_gone;
    case Thing::schedule:
      return RecordKind::schedule_gone;
    case Thing::memo:
      return RecordKind::memo_gone;
    case Thing::window:
      return RecordKind::window_gone;
    case Thing::group:
      return RecordKind::group_gone;
  }
  return RecordKind::queue_gone;
}

void write_task_change(Records& out, State& state, const TaskChange& change) {
  Slot& slot = state.slot(change.slot);
  if (slot.number != change.number) return;  // gone since
  slot.recorded = false;
  // Only a whole record has the queue and the body.
  const bool whole = change.kind == RecordKind::task || slot.moved || slot.rewritten;
  slot.moved = slot.rewritten = false;
  if (whole) {
    out.written.push_back(write_task_record(out.bytes, state, change.slot));
    return;
  }
  const Written written = write_change(out.bytes, state, change.slot);
  if (written.notes != Written::nowhere) out.written.push_back(written);
}

}  // namespace

bool write_thing(const State& state, const SmallChange& change, std::string& out) {
  switch (change.thing) {
    case Thing::queue: {
      if (!state.has_queue_at(change.queue)) return false;
      write_queue(out, state.queue_at(change.queue));
      return true;
    }
    case Thing::schedule: {
      const auto found = state.schedules.find(change.key);
      if (found == state.schedules.end()) return false;
      write_schedule(out, found->second);
      return true;
    }
    case Thing::memo: {
      const auto found = state.memos.all().find(change.key);
      if (found == state.memos.all().end()) return false;
      write_whole(out, RecordKind::memo, found->second);
      return true;
    }
    case Thing::window: {
      const Holder* holder = state.holders.window(change.queue, change.key);
      if (holder == nullptr) return false;
      write_window(out, change.queue, change.key, *holder);
      return true;
    }
    case Thing::group: {
      const auto handle = state.groups.find(change.queue, change.key);
      if (handle == no_group || !state.has_record(state.groups.at(handle))) return false;
      write_group(out, state.groups.at(handle));
      return true;
    }
  }
  return false;
}

void write_numbers(const State& state, std::string& out) {
  write_record(out, RecordKind::numbers, [&](Appender& to) {
    write(to, state.numbers_given()), write(to, state.tokens_given());
    write(to, state.memos.versions_given());
  });
}

void write_task(const State& state, std::uint32_t slot, Records& out) {
  out.written.push_back(write_task_record(out.bytes, state, slot));
}

// A queue goes after its tasks and comes before them; a name is freed before it is used again.
void take_records(State& state, Records& out) {
  Changes& changes = state.changes;
  if (changes.tasks.empty() && changes.small.empty()) return;
  for (const TaskChange& change : changes.tasks) {
    if (change.kind == RecordKind::gone) write_gone(out.bytes, change);
  }
  std::string present;
  for (const SmallChange& change : changes.small) {
    if (write_thing(state, change, present)) continue;
    write_record(out.bytes, gone_kind(change.thing),
                 [&](Appender& to) { write(to, change.queue), write(to, change.key); });
  }
  out.bytes += present;
  for (const TaskChange& change : changes.tasks) {
    if (change.kind != RecordKind::gone) write_task_change(out, state, change);
  }
  write_numbers(state, out.bytes);
  changes.tasks.clear();
  changes.small.clear();
}

void write_state(const State& state, std::string& out) {
  write_numbers(state, out);
  for (const auto& [name, index] : state.queue_names()) write_queue(out, state.queue_at(index));
  for (const auto& [name, schedule] : state.schedules) {
    write_schedule(out, schedule);
  }
  for (const auto& [key, memo] : state.memos.all()) write_whole(out, RecordKind::memo, memo);
  for (const auto& [key, holder] : state.holders.all()) {
    if (holder.until != never) write_window(out, key.first, key.second, holder);
  }
  for (const auto& [name, index] : state.queue_names()) write_groups(out, state, index);
  std::vector<std::pair<std::uint64_t, std::uint32_t>> tasks;
  for (std::uint32_t at = 0; at < state.slot_count(); ++at) {
    if (state.slot(at).number != 0) tasks.emplace_back(state.slot(at).number, at);
  }
  std::ranges::sort(tasks);
  for (const auto& [number, at] : tasks) write_task_record(out, state, at);
}

// ---- Taking records apart ----------------------------------------------------------------------

std::optional<RecordView> next_record(std::string_view& bytes) {
  ByteReader in(bytes);
  std::uint8_t kind = 0;
  std::uint32_t length = 0;
  read(in, kind), read(in, length);
  const std::string_view payload = in.raw(length);
  if (!in.good()) return std::nullopt;
  const std::size_t size = bytes.size() - in.left();
  const RecordView record{static_cast<RecordKind>(kind), bytes.substr(0, size), payload};
  bytes.remove_prefix(size);
  return record;
}

std::optional<SmallChange> thing_of(const RecordView& record) {
  ByteReader in(record.payload);
  SmallChange thing;
  switch (record.kind) {
    case RecordKind::queue:
      read(in, thing.queue);
      return thing;
    case RecordKind::schedule:
      thing.thing = Thing::schedule;
      break;
    case RecordKind::memo:
      thing.thing = Thing::memo;
      break;
    case RecordKind::window:
      thing.thing = Thing::window;
      read(in, thing.queue);
      break;
    case RecordKind::group:
      thing.thing = Thing::group;
      read(in, thing.queue);
      break;
    default:
      return std::nullopt;
  }
  read(in, thing.key);
  return thing;
}

std::optional<TaskHead> task_head(const RecordView& record) {
  ByteReader in(record.payload);
  TaskHead head;
  read(in, head.number), read(in, head.version), read(in, head.id), read(in, head.queue);
  head.body = record.whole.size() - in.left();
  if (!in.good()) return std::nullopt;
  return head;
}

std::optional<std::string_view> read_blob(ByteReader& in, std::uint64_t number) {
  std::uint32_t size = 0;
  std::uint32_t checksum = 0;
  read(in, size), read(in, checksum);
  const std::string_view bytes = in.raw(size);
  if (!in.good() || checksum != blob_checksum(number, bytes)) return std::nullopt;
  return bytes;
}

}  // namespace millrace::embedded
