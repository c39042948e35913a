#include "store/embedded/records.h"

#include <algorithm>
#include <cstring>
#include <vector>

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

void write_mutable(Appender& to, const State& state, const Slot& slot) {
  mutable_fields(slot, [&](const auto& field) { write(to, field); });
  write(to, bool{slot.cancel_requested}), write(to, bool{slot.has_start_by});
  write(to, state.workers.text(slot.worker));
  write(to, Blobs::view(slot.notes));
}

void write_task(std::string& out, const State& state, const Slot& slot) {
  write_record(out, RecordKind::task, [&](Appender& to) {
    write(to, slot.number), write(to, slot.version), write(to, slot.id), write(to, slot.queue);
    write(to, state.body(slot));
    write_mutable(to, state, slot);
  });
}

void write_change(std::string& out, const State& state, const Slot& slot) {
  write_record(out, RecordKind::change, [&](Appender& to) {
    write(to, slot.number), write(to, slot.version);
    write_mutable(to, state, slot);
  });
}

void write_gone(std::string& out, const TaskChange& change) {
  write_record(out, RecordKind::gone,
               [&](Appender& to) { write(to, change.number), write(to, change.version); });
}

void write_queue(std::string& out, const QueueEntry& queue) {
  write_record(out, RecordKind::queue, [&](Appender& to) {
    write(to, queue.index), write(to, queue.queue), write(to, queue.puts), write(to, queue.takes);
  });
}

void write_window(std::string& out, std::uint16_t queue, const std::string& key,
                  const Holder& holder) {
  write_record(out, RecordKind::window,
               [&](Appender& to) { write(to, queue), write(to, key), write(to, holder); });
}

void write_whole(std::string& out, RecordKind kind, const auto& value) {
  write_record(out, kind, [&](Appender& to) { write(to, value); });
}

void write_numbers(std::string& out, const State& state) {
  write_record(out, RecordKind::numbers, [&](Appender& to) {
    write(to, state.numbers_given()), write(to, state.tokens_given());
    write(to, state.memos.versions_given());
  });
}

// Writes a thing as it is now; false: it is gone.
bool write_small(std::string& out, const State& state, const SmallChange& change) {
  switch (change.thing) {
    case Thing::queue: {
      if (!state.has_queue_at(change.queue)) return false;
      write_queue(out, state.queue_at(change.queue));
      return true;
    }
    case Thing::schedule: {
      const auto found = state.schedules.find(change.key);
      if (found == state.schedules.end()) return false;
      write_whole(out, RecordKind::schedule, found->second);
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
  }
  return false;
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
  }
  return RecordKind::queue_gone;
}

void write_task_change(std::string& out, State& state, const TaskChange& change) {
  Slot& slot = state.slot(change.slot);
  if (slot.number != change.number) return;  // gone since
  slot.recorded = false;
  if (change.kind == RecordKind::task) return write_task(out, state, slot);
  write_change(out, state, slot);
}

}  // namespace

// A queue goes after its tasks, and comes before them; a name is free before it is used again.
void take_records(State& state, std::string& out) {
  Changes& changes = state.changes;
  if (changes.tasks.empty() && changes.small.empty()) return;
  for (const TaskChange& change : changes.tasks) {
    if (change.kind == RecordKind::gone) write_gone(out, change);
  }
  std::string present;
  for (const SmallChange& change : changes.small) {
    if (write_small(present, state, change)) continue;
    write_record(out, gone_kind(change.thing),
                 [&](Appender& to) { write(to, change.queue), write(to, change.key); });
  }
  out += present;
  for (const TaskChange& change : changes.tasks) {
    if (change.kind != RecordKind::gone) write_task_change(out, state, change);
  }
  write_numbers(out, state);
  changes.tasks.clear();
  changes.small.clear();
}

void write_state(const State& state, std::string& out) {
  write_numbers(out, state);
  for (const auto& [name, index] : state.queue_names()) write_queue(out, state.queue_at(index));
  for (const auto& [name, schedule] : state.schedules) {
    write_whole(out, RecordKind::schedule, schedule);
  }
  for (const auto& [key, memo] : state.memos.all()) write_whole(out, RecordKind::memo, memo);
  for (const auto& [key, holder] : state.holders.all()) {
    if (holder.until != never) write_window(out, key.first, key.second, holder);
  }
  std::vector<std::pair<std::uint64_t, std::uint32_t>> tasks;
  for (std::uint32_t at = 0; at < state.slot_count(); ++at) {
    if (state.slot(at).number != 0) tasks.emplace_back(state.slot(at).number, at);
  }
  std::ranges::sort(tasks);
  for (const auto& [number, at] : tasks) write_task(out, state, state.slot(at));
}

}  // namespace millrace::embedded
