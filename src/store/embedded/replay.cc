#include "store/embedded/replay.h"

#include <fmt/format.h>

#include <cstring>
#include <string>

#include "store/embedded/record_fields.h"

namespace millrace::embedded {
namespace {

// The mutable part of a task to which nothing has happened.
void reset_mutable(Slot& slot) {
  optional_mutables(slot, [](auto& field, const auto& usual) { field = usual; });
  slot.cancel_requested = false;
  slot.has_start_by = false;
  slot.has_steps = false;
  slot.has_waits = false;
  slot.orphaned = false;
}

}  // namespace

Result<void> Replay::apply(std::string_view records, const Origin* origin) {
  state_.replaying = true;
  origin_ = origin;
  begin_ = records.data();
  std::string_view left = records;
  std::string_view ahead = records;
  for (int i = 0; i < 12; ++i) expect_next(ahead);
  while (!left.empty()) {
    expect_next(ahead);
    const std::size_t offset = records.size() - left.size();
    const auto record = next_record(left);
    if (!record) {
      return fail(ErrorCode::corrupt, fmt::format("the record at offset {} is cut off", offset));
    }
    if (!apply_one(*record)) {
      return fail(ErrorCode::corrupt, fmt::format("record of kind {} at offset {} makes no sense",
                                                  static_cast<unsigned>(record->kind), offset));
    }
  }
  return {};
}

// The task of this record will be looked for soon.
void Replay::expect_next(std::string_view& ahead) const {
  const auto record = next_record(ahead);
  if (!record || record->kind > RecordKind::gone || record->payload.size() < 8) return;
  ByteReader in(record->payload);
  std::uint64_t number = 0;
  read(in, number);
  numbers_.expect(mix(number));
  if (record->kind != RecordKind::task) return;
  if (const auto head = task_head(*record)) state_.expect(head->id);
}

Result<void> Replay::finish() {
  for (std::uint32_t at = 0; at < state_.slot_count(); ++at) {
    Slot& slot = state_.slot(at);
    if (slot.number == 0 || !slot.unindexed) continue;
    if (!state_.has_queue_at(slot.queue)) {
      return fail(ErrorCode::corrupt,
                  fmt::format("task number {} is in queue {}, which is not there", slot.number,
                              slot.queue));
    }
    slot.unindexed = false;
    if (slot.has_waits && !state_.link(at)) {
      return fail(ErrorCode::corrupt,
                  fmt::format("what task number {} waits for makes no sense", slot.number));
    }
    state_.index(at);
  }
  state_.find_untold();
  state_.settle_groups();
  return {};
}

bool Replay::apply_one(const RecordView& record) {
  switch (record.kind) {
    case RecordKind::task:
      return apply_task(record);
    case RecordKind::change:
      return apply_change(record);
    case RecordKind::gone:
      return apply_gone(record.payload);
    case RecordKind::queue:
      return apply_queue(record.payload);
    case RecordKind::queue_gone:
    case RecordKind::schedule_gone:
    case RecordKind::memo_gone:
    case RecordKind::window_gone:
    case RecordKind::group_gone:
      return apply_gone_thing(record);
    case RecordKind::begin:
    case RecordKind::cleaned:
      return true;
    default:
      return apply_thing(record);
  }
}

std::uint32_t Replay::find(std::uint64_t number) const {
  return numbers_.find(mix(number),
                       [&](std::uint32_t at) { return state_.slot(at).number == number; });
}

void Replay::unindex(std::uint32_t at) {
  Slot& slot = state_.slot(at);
  if (!slot.unindexed) state_.unindex(at);
  if (slot.linked) state_.unlink(at);
  slot.unindexed = true;
}

// A blob of the bytes being applied: a copy, or its place in the log.
Blob Replay::keep(std::string_view bytes) {
  if (bytes.empty()) return {};
  Blob blob;
  if (origin_ != nullptr) {
    const auto at = static_cast<std::uint32_t>(bytes.data() - begin_) - blob_head;
    state_.blobs.set_logged(blob, {.segment = origin_->segment,
                                   .offset = origin_->offset + at,
                                   .size = static_cast<std::uint32_t>(bytes.size())});
    return blob;
  }
  blob = state_.blobs.add(bytes.size());
  std::memcpy(Blobs::data(blob), bytes.data(), bytes.size());
  return blob;
}

// Reads the mutable part into a slot; on failure the slot is not to be used.
bool Replay::read_mutable(ByteReader& in, Slot& slot) {
  std::uint16_t bits = 0;
  read(in, bits), read(in, slot.state), read(in, slot.priority);
  read(in, slot.start), read(in, slot.updated_at);
  reset_mutable(slot);
  unsigned left = bits;
  optional_mutables(slot, [&](auto& field, const auto&) {
    if ((left & 1U) != 0) read(in, field);
    left >>= 1U;
  });
  std::string worker;
  if ((bits & has_worker) != 0) read(in, worker);
  std::string_view notes;
  if ((bits & has_notes) != 0) {
    const auto stored = read_blob(in, slot.number);
    if (!stored) return false;
    notes = *stored;
  }
  const bool good =
      in.good() && in.left() == 0 && notes_are_sound(notes) && (bits & ~known_bits) == 0 &&
      static_cast<std::size_t>(slot.state) < state_count && slot.priority < priority_count;
  if (!good) return false;
  slot.cancel_requested = (bits & cancel_requested) != 0;
  slot.has_start_by = (bits & has_start_by) != 0;
  slot.has_steps = (bits & has_steps) != 0;
  slot.has_waits = (bits & has_waits) != 0;
  const auto held = state_.workers.hold(worker);
  state_.workers.release(slot.worker);
  slot.worker = held;
  state_.blobs.remove(slot.notes);
  slot.notes = keep(notes);
  return true;
}

// The same version again is the same task, carried to another place of the log; the new place
// counts.
bool Replay::apply_task(const RecordView& record) {
  const auto head = task_head(record);
  if (!head || head->number == 0) return false;
  ByteReader in(record.whole.substr(head->body));
  const auto body = read_blob(in, head->number);
  if (!body || !body_is_sound(*body)) return false;
  const auto known = find(head->number);
  if (known != no_slot && state_.slot(known).version > head->version) return true;
  if (known == no_slot && state_.find(head->id) != no_slot) return false;
  Slot slot;
  if (known != no_slot) {
    unindex(known);
    slot = state_.slot(known);
  }
  slot.number = head->number;
  slot.version = head->version;
  slot.id = head->id;
  slot.queue = head->queue;
  if (!read_mutable(in, slot)) return false;
  state_.blobs.remove(slot.body);
  slot.body = keep(*body);
  const BodyFlags flags = body_flags(*body);
  slot.has_unique = flags.has_unique;
  slot.has_start_by = slot.has_start_by && flags.has_start_by;
  slot.keeps_itself = flags.keeps_itself;
  slot.set_facts(flags.facts);
  slot.unindexed = true;
  auto at = known;
  if (known != no_slot) {
    state_.leave_group(known);  // it may have been moved, or be another one's by now
    state_.slot(known) = slot;
  } else {
    at = state_.adopt(slot);
    numbers_.insert(mix(slot.number), at);
  }
  state_.join_group(at, flags.group);
  return true;
}

bool Replay::apply_change(const RecordView& record) {
  ByteReader in(record.payload);
  std::uint64_t number = 0;
  std::uint32_t version = 0;
  read(in, number), read(in, version);
  const auto at = find(number);
  if (at == no_slot) return in.good();  // its task comes later, at this version or a higher one
  if (state_.slot(at).version >= version) return true;
  unindex(at);
  Slot changed = state_.slot(at);
  changed.version = version;
  const bool good = read_mutable(in, changed);
  if (good) state_.slot(at) = changed;
  return good;
}

bool Replay::apply_gone(std::string_view payload) {
  ByteReader in(payload);
  std::uint64_t number = 0;
  std::uint32_t version = 0;
  read(in, number), read(in, version);
  if (!in.good() || in.left() != 0) return false;
  const auto at = find(number);
  if (at == no_slot || state_.slot(at).version >= version) return true;
  unindex(at);
  numbers_.erase(mix(number), at);
  state_.erase(at);
  return true;
}

bool Replay::apply_queue(std::string_view payload) {
  ByteReader in(payload);
  std::uint16_t index = 0;
  Queue queue;
  RateWindow puts;
  RateWindow takes;
  read(in, index), read(in, queue), read(in, puts), read(in, takes);
  read_all_late(in, queue.settings);
  std::uint32_t epoch = 0;
  std::uint64_t turn = 0;
  std::uint64_t ungrouped = 0;
  if (in.left() != 0) read(in, epoch), read(in, turn), read(in, ungrouped);
  if (!in.good() || in.left() != 0) return false;
  const QueueEntry* of_this_name = state_.queue(queue.settings.name);
  if (of_this_name != nullptr && of_this_name->index != index) return false;
  state_.put_queue_at(index, std::move(queue));
  QueueEntry& entry = state_.queue_at(index);
  entry.puts = puts;
  entry.takes = takes;
  entry.group_epoch = epoch;
  entry.turn = turn;
  if (entry.line) entry.line->ungrouped().turn = ungrouped;
  return true;
}

bool Replay::apply_group(std::string_view payload) {
  ByteReader in(payload);
  std::uint16_t queue = 0;
  std::string name;
  std::uint32_t epoch = 0;
  std::optional<GroupOverride> override;
  std::uint64_t turn = 0;
  read(in, queue), read(in, name), read(in, epoch), read(in, override), read(in, turn);
  auto takes = read_uses(in);
  if (!in.good() || in.left() != 0 || name.empty()) return false;
  GroupEntry& group = state_.groups.at(state_.groups.make(queue, name));
  group.recorded = true;
  group.epoch = epoch;
  group.override = override ? std::make_unique<GroupOverride>(*override) : nullptr;
  group.turn = turn;
  group.takes = std::move(takes);
  return true;
}

bool Replay::apply_thing(const RecordView& record) {
  ByteReader in(record.payload);
  const auto complete = [&] { return in.good() && in.left() == 0; };
  switch (record.kind) {
    case RecordKind::schedule: {
      Schedule schedule;
      read(in, schedule);
      read_all_late(in, schedule);
      if (complete()) state_.schedules.insert_or_assign(schedule.name, schedule);
      return complete();
    }
    case RecordKind::memo: {
      Memo memo;
      read(in, memo);
      if (complete()) state_.memos.restore(memo);
      return complete();
    }
    case RecordKind::group:
      return apply_group(record.payload);
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

bool Replay::apply_gone_thing(const RecordView& record) {
  ByteReader in(record.payload);
  std::uint16_t queue = 0;
  std::string key;
  read(in, queue), read(in, key);
  if (!in.good() || in.left() != 0) return false;
  switch (record.kind) {
    case RecordKind::queue_gone: {
      state_.holders.erase_queue(queue);
      if (!state_.has_queue_at(queue)) return true;
      if (state_.queue_at(queue).total() != 0) return false;  // as far as they are indexed
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
    case RecordKind::group_gone: {
      const auto handle = state_.groups.find(queue, key);
      if (handle == no_group) return true;
      GroupEntry& group = state_.groups.at(handle);
      group.override.reset(), group.takes.reset();
      group.turn = 0;
      group.recorded = false;
      return true;
    }
    default:
      state_.holders.erase_window(queue, key);
      return true;
  }
}

}  // namespace millrace::embedded
