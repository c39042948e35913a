#include "store/embedded/task_copy.h"

#include <utility>

#include "core/transition.h"
#include "store/embedded/codec.h"
#include "store/embedded/state.h"

namespace millrace::embedded {
namespace {

void copy_bytes(Blob blob, std::string& into) {
  if (blob && !blob.is_in_log()) into = Blobs::view(blob);
}

}  // namespace

TaskCopy copy_task(const State& state, const Slot& slot, Wanted wanted) {
  TaskCopy copy{.slot = slot,
                .queue = state.queue_at(slot.queue).settings().name,
                .worker = std::string(state.workers.text(slot.worker)),
                .wanted = wanted};
  if (!wanted.head) return copy;
  if (!slot.body.is_in_log() && !wanted.payload) {
    copy.body = without_payload(Blobs::view(slot.body));
  } else {
    copy_bytes(slot.body, copy.body);
  }
  if (wanted.notes == Wanted::Notes::all) copy_bytes(slot.notes, copy.notes);
  if (wanted.notes == Wanted::Notes::brief && slot.notes && !slot.notes.is_in_log()) {
    copy.notes = without_result(Blobs::view(slot.notes));
  }
  return copy;
}

ReadCost cost_of(const TaskCopy& copy) {
  // What is read of a large blob without its payload, about; it may have 20 KiB of other fields.
  constexpr std::size_t head = 2U << 10U;
  ReadCost cost{.bytes = sizeof(TaskCopy) + copy.body.size() + copy.notes.size()};
  if (copy.needs_body()) {
    cost += copy.skips_payload() ? ReadCost{head, 2} : ReadCost{copy.slot.body.place().size, 1};
  }
  if (copy.needs_notes()) {
    cost += copy.skips_result() ? ReadCost{longest_brief, 2}
                                : ReadCost{copy.slot.notes.place().size, 1};
  }
  return cost;
}

std::optional<Task> task_of(TaskCopy&& copy) {
  const Slot& slot = copy.slot;
  Task task;
  task.id = slot.id;
  task.number = {slot.number};
  task.version = {slot.version};
  task.queue = std::move(copy.queue);
  task.state = slot.state;
  task.priority = slot.priority;
  task.cancel_requested = slot.cancel_requested;
  task.counters = slot.counters;
  task.updated_at = slot.updated_at;
  task.start = slot.start;
  if (slot.previous_start != no_moment) task.previous_start = slot.previous_start;
  if (slot.started_at != no_moment) task.started_at = slot.started_at;
  if (is_final(slot.state)) task.finished_at = slot.moment;
  if (slot.state == TaskState::processing) task.lease_until = slot.moment;
  task.worker = std::move(copy.worker);
  if (!copy.wanted.head) return task;
  if (!decode_body(copy.body, task, copy.wanted.payload)) return std::nullopt;
  // A body that was read without its payload was read without its checksum.
  if (!copy.wanted.payload && facts_of(task) != slot.facts()) return std::nullopt;
  if (!slot.has_start_by) task.start_by.reset();
  if (slot.has_waits && notes_are_sound(copy.notes)) {
    task.waits_for = open_parents(task.after, decode_notes(copy.notes).waits);
  }
  if (copy.wanted.notes == Wanted::Notes::none) return task;
  const bool brief = copy.wanted.notes == Wanted::Notes::brief;
  std::optional<Notes> decoded = brief ? decode_brief(copy.notes) : decode_notes(copy.notes);
  if (!decoded) return std::nullopt;
  Notes& notes = *decoded;
  task.error = std::move(notes.error);
  task.progress = notes.progress;
  task.delivery = std::move(notes.delivery);
  if (brief) return task;
  task.result = std::move(notes.result);
  task.log = std::move(notes.log);
  task.history = std::move(notes.history);
  task.checkpoint = std::move(notes.checkpoint);
  task.answer = std::move(notes.answer);
  return task;
}

}  // namespace millrace::embedded
