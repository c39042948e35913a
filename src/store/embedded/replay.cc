#include "store/embedded/replay.h"

#include <fmt/format.h>

#include <cstring>
#include <string>

#include "store/embedded/record_fields.h"

namespace millrace::embedded {
namespace {

Blob copy(Blobs& blobs, std::string_view bytes) {
  if (bytes.empty()) return {};
  const Blob blob = blobs.add(bytes.size());
  std::memcpy(Blobs::data(blob), bytes.data(), bytes.size());
  return blob;
}

// Reads the mutable part into a slot; on failure the slot is not to be used.
bool read_mutable(Reader& in, State& state, Slot& slot) {
  mutable_fields(slot, [&](auto& field) { read(in, field); });
  bool cancel_requested = false;
  bool has_start_by = false;
  std::string worker;
  std::string notes;
  read(in, cancel_requested), read(in, has_start_by), read(in, worker), read(in, notes);
  const bool good = in.good() && in.left() == 0 && notes_are_sound(notes) &&
                    static_cast<std::size_t>(slot.state) < state_count &&
                    slot.priority < priority_count;
  if (!good) return false;
  slot.cancel_requested = cancel_requested;
  slot.has_start_by = has_start_by;
  const auto held = state.workers.hold(worker);
  state.workers.release(slot.worker);
  slot.worker = held;
  state.blobs.remove(slot.notes);
  slot.notes = copy(state.blobs, notes);
  return true;
}

}  // namespace

Result<void> Replay::apply(std::string_view records) {
  Reader in(records);
  while (in.left() != 0) {
    const std::size_t offset = records.size() - in.left();
    std::uint8_t kind = 0;
    std::uint32_t length = 0;
    read(in, kind), read(in, length);
    const std::string_view payload = in.raw(length);
    if (!in.good() || !apply_one(kind, payload)) {
      return fail(ErrorCode::corrupt,
                  fmt::format("record of kind {} at offset {} makes no sense", kind, offset));
    }
  }
  return {};
}

bool Replay::apply_one(std::uint8_t kind, std::string_view payload) {
  switch (static_cast<RecordKind>(kind)) {
    case RecordKind::task:
      return apply_task(payload);
    case RecordKind::change:
      return apply_change(payload);
    case RecordKind::gone:
      return apply_gone(payload);
    case RecordKind::queue:
      return apply_queue(payload);
    case RecordKind::queue_gone:
    case RecordKind::schedule_gone:
    case RecordKind::memo_gone:
    case RecordKind::window_gone:
      return apply_gone_thing(kind, payload);
    default:
      return apply_thing(kind, payload);
  }
}

std::uint32_t Replay::find(std::uint64_t number) const {
  return numbers_.find(mix(number),
                       [&](std::uint32_t at) { return state_.slot(at).number == number; });
}

void Replay::forget(std::uint32_t at) {
  numbers_.erase(mix(state_.slot(at).number), at);
  state_.unindex(at);
  state_.erase(at);
}

bool Replay::apply_task(std::string_view payload) {
  Reader in(payload);
  Slot slot;
  std::string body;
  read(in, slot.number), read(in, slot.version), read(in, slot.id), read(in, slot.queue);
  read(in, body);
  if (!in.good() || slot.number == 0 || !state_.has_queue_at(slot.queue) || !body_is_sound(body)) {
    return false;
  }
  const auto known = find(slot.number);
  if (known != no_slot && state_.slot(known).version >= slot.version) return true;
  if (known != no_slot) forget(known);
  if (state_.find(slot.id) != no_slot || !read_mutable(in, state_, slot)) return false;
  slot.body = copy(state_.blobs, body);
  const Task given = state_.given(slot);
  slot.has_unique = given.unique.has_value();
  slot.has_start_by = slot.has_start_by && given.start_by.has_value();
  slot.keeps_itself = given.keep_for.has_value();
  const auto at = state_.adopt(slot);
  numbers_.insert(mix(slot.number), at);
  state_.index(at);
  return true;
}

bool Replay::apply_change(std::string_view payload) {
  Reader in(payload);
  std::uint64_t number = 0;
  std::uint32_t version = 0;
  read(in, number), read(in, version);
  const auto at = find(number);
  if (at == no_slot) return in.good();  // its task comes later, at this version or a higher one
  Slot changed = state_.slot(at);
  if (changed.version >= version) return true;
  state_.unindex(at);
  changed.version = version;
  const bool good = read_mutable(in, state_, changed);
  if (good) state_.slot(at) = changed;
  state_.index(at);
  return good;
}

bool Replay::apply_gone(std::string_view payload) {
  Reader in(payload);
  std::uint64_t number = 0;
  std::uint32_t version = 0;
  read(in, number), read(in, version);
  if (!in.good() || in.left() != 0) return false;
  const auto at = find(number);
  if (at != no_slot && state_.slot(at).version < version) forget(at);
  return true;
}

bool Replay::apply_queue(std::string_view payload) {
  Reader in(payload);
  std::uint16_t index = 0;
  Queue queue;
  RateWindow puts;
  RateWindow takes;
  read(in, index), read(in, queue), read(in, puts), read(in, takes);
  if (!in.good() || in.left() != 0) return false;
  const QueueEntry* of_this_name = state_.queue(queue.settings.name);
  if (of_this_name != nullptr && of_this_name->index != index) return false;
  state_.put_queue_at(index, std::move(queue));
  state_.queue_at(index).puts = puts;
  state_.queue_at(index).takes = takes;
  return true;
}

bool Replay::apply_thing(std::uint8_t kind, std::string_view payload) {
  Reader in(payload);
  const auto complete = [&] { return in.good() && in.left() == 0; };
  switch (static_cast<RecordKind>(kind)) {
    case RecordKind::schedule: {
      Schedule schedule;
      read(in, schedule);
      if (complete()) state_.schedules.insert_or_assign(schedule.name, schedule);
      return complete();
    }
    case RecordKind::memo: {
      Memo memo;
      read(in, memo);
      if (complete()) state_.memos.restore(memo);
      return complete();
    }
    case RecordKind::window: {
      std::uint16_t queue = 0;
      std::string key;
      Holder holder;
      read(in, queue), read(in, key), read(in, holder);
      if (complete()) state_.holders.set(queue, key, holder);
      return complete();
    }
    case RecordKind::numbers: {
      std::uint64_t number = 0;
      std::uint64_t token = 0;
      std::uint64_t memo = 0;
      read(in, number), read(in, token), read(in, memo);
      if (complete()) state_.resume(number, token, memo);
      return complete();
    }
    default:
      return false;
  }
}

bool Replay::apply_gone_thing(std::uint8_t kind, std::string_view payload) {
  Reader in(payload);
  std::uint16_t queue = 0;
  std::string key;
  read(in, queue), read(in, key);
  if (!in.good() || in.left() != 0) return false;
  switch (static_cast<RecordKind>(kind)) {
    case RecordKind::queue_gone: {
      if (!state_.has_queue_at(queue)) return true;
      if (state_.queue_at(queue).total() != 0) return false;
      state_.erase_queue(state_.queue_at(queue));
      return true;
    }
    case RecordKind::schedule_gone: {
      if (const auto at = state_.schedules.find(key); at != state_.schedules.end()) {
        state_.schedules.erase(at);
      }
      return true;
    }
    case RecordKind::memo_gone:
      state_.memos.erase(key);
      return true;
    default:
      state_.holders.erase_window(queue, key);
      return true;
  }
}

}  // namespace millrace::embedded
