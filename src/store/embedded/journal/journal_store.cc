#include "store/embedded/journal/journal_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/limits.h"
#include "store/embedded/records.h"
#include "store/embedded/verbs.h"
#include "store/store.h"

namespace millrace::embedded {
namespace {

// The cleaner looks at this many bytes for each byte that a call appended: enough to keep up while
// at most three quarters of what it looks at must be written again.
constexpr std::uint64_t clean_ratio = 4;
constexpr std::uint64_t least_cleaned = 16U << 10U;
constexpr std::uint64_t most_cleaned = 2U << 20U;  // a few milliseconds

// What a task costs in the log besides its bytes.
constexpr std::uint64_t record_cost = 90;

constexpr std::size_t most_unwritten = 32U << 20U;
// Blobs stay in memory until they are written: a smaller cache would hold nothing else.
static_assert(JournalOptions::usual_cache > most_unwritten);

constexpr std::size_t least_segment = 4U << 10U;
constexpr std::size_t most_segment = 64U << 20U;
static_assert(most_segment <= Place::max_offset / 2);
// A body, and notes with a result and all that may stand beside it.
static_assert(std::max(limits::max_payload, limits::max_result) + limits::mib < Place::max_size);

// The space a put may take in the log; none if it will be refused for its size.
std::size_t bytes_of(const NewTask& task) {
  if (task.payload.size() > limits::max_payload) return 0;
  std::size_t bytes = 512 + task.payload.size() + task.metadata.size();
  for (const std::string& tag : task.tags) bytes += tag.size() + 4;
  if (task.after) bytes += task.after->tasks.size() * sizeof(TaskId);
  return bytes;
}

std::size_t bytes_of(const Task& task) {
  if (task.payload.size() > limits::max_payload || task.result.size() > limits::max_result)
    return 0;
  std::size_t bytes = 512 + task.payload.size() + task.metadata.size() + task.result.size();
  for (const std::string& tag : task.tags) bytes += tag.size() + 4;
  if (task.error) bytes += limits::max_error_code + 3 * limits::max_error_text;
  if (task.delivery) bytes += task.delivery->last_status.size();
  for (const LogLine& line : task.log) bytes += 12 + line.text.size();
  for (const Attempt& line : task.history) {
    bytes += 64 + line.worker.size() + line.error_code.size() + line.error_message.size();
  }
  return bytes;
}

std::size_t bytes_of(const Settlement& settlement);
std::size_t bytes_of(const CancelRequest& request);

// The same for a whole batch; none if the batch will be refused for its length.
template <class Item>
std::size_t bytes_of_all(std::span<const Item> items) {
  if (items.size() > limits::max_batch) return 0;
  std::size_t bytes = 0;
  for (const Item& item : items) bytes += bytes_of(item);
  return bytes;
}

std::size_t bytes_of(const Settlement& settlement) {
  if (settlement.result.size() > limits::max_result) return 0;
  return settlement.result.size() + bytes_of_all<NewTask>(settlement.follow_ups);
}

std::size_t bytes_of(const CancelRequest& request) {
  return bytes_of_all<NewTask>(request.follow_ups);
}

}  // namespace

JournalStore::JournalStore(std::unique_ptr<Disk> disk, JournalOptions options)
    : disk_(std::move(disk)),
      options_(std::move(options)),
      segments_(*disk_),
      blobs_(segments_),
      spares_(*disk_, options_.segment_size),
      log_(segments_, spares_, options_),
      cleaner_(segments_) {}

JournalStore::~JournalStore() {
  if (!machine_ || options_.read_only || log_.failure()) return;
  // A further group says that the last one was on disk, so later damage to that one is noticed.
  if (!log_.flush(std::nullopt)) return;
  records_ = {};
  write_numbers(state(), records_.bytes);
  log_.append(state(), records_, std::nullopt);
  if (log_.flush(std::nullopt)) std::ignore = log_.note_end();
}

// ---- Opening ----------------------------------------------------------------------------------

Result<void> JournalStore::open() {
  if (options_.segment_size < least_segment || options_.segment_size > most_segment) {
    return fail(ErrorCode::invalid,
                fmt::format("a segment of {} bytes is not possible; it must have {} to {}",
                            options_.segment_size, least_segment, most_segment));
  }
  if (auto locked = disk_->lock(options_.read_only); !locked) return locked;
  State::Options options{
      .hash_seed = options_.hash_seed,
      .record = false,
      .read_log = [this](Blob blob, std::uint64_t number) { return blobs_.read(blob, number); },
      .open_log = [this] { return open_log(); },
      .cache_size = options_.cache_size};
  machine_ = std::make_unique<StateMachine>(options);
  auto opened = read_journal(segments_, blobs_, state(), options_.progress);
  if (!opened) {
    machine_.reset();
    return std::unexpected(opened.error());
  }
  Result<void> done;
  if (!options_.read_only) done = guarded([&] { return go_on_from(*opened); });
  opened_ = std::move(*opened);
  if (!done) machine_.reset();
  return done;
}

Result<void> JournalStore::go_on_from(Opened& opened) {
  if (opened.cut != 0 && options_.warn) {
    options_.warn(
        fmt::format("{}: cut {} bytes at the end that a crash left unfinished; nothing "
                    "in them had been acknowledged",
                    segment_name(opened.start.end.segment), opened.cut));
  }
  if (auto proven = prove_end(opened); !proven) return proven;
  if (auto removed = remove_unneeded(opened); !removed) return removed;
  if (auto adopted = spares_.adopt(opened.spares); !adopted) return adopted;
  // A segment may begin only when the names of those before it are on disk, too.
  if (auto synced = disk_->sync_directory(); !synced) return synced;
  spares_.refill(0);
  state().go_on(opened.start.epoch);
  if (auto started = log_.start(state(), opened.start); !started) return started;
  end_local_leases(state());
  return after_change();
}

// The last segment says which files are unneeded, and a failed sync may have left its name in the
// system's memory only. If the files went first and that name then got lost, the segment before it
// would still need them.
Result<void> JournalStore::remove_unneeded(const Opened& opened) {
  if (auto synced = disk_->sync_directory(); !synced) return synced;
  for (const std::string& name : opened.unneeded) {
    segments_.forget(segment_number(name).value_or(0));
    if (auto removed = disk_->remove(name); !removed) return removed;
  }
  if (!opened.last || opened.last->size == options_.segment_size) return {};
  return disk_->remove(last_segment_file);  // segments have another size from now on
}

// No blob of the state lies before the segment that the log begins with.
LoadFromLog JournalStore::open_log() {
  return [loader = std::make_shared<LogLoader>(segments_, log_.first(), blobs_.written())](
             std::span<TaskCopy> copies) { return loader->load(copies); };
}

Result<void> JournalStore::prove_end(const Opened& opened) {
  if (opened.unproven_bytes.empty()) return {};
  const auto file = disk_->open(segment_name(opened.unproven.segment), Disk::Access::write);
  if (!file) return std::unexpected(file.error());
  auto done = disk_->write(*file, opened.unproven.offset, opened.unproven_bytes);
  if (done) done = disk_->sync(*file);
  disk_->close(*file);
  return done;
}

// ---- Around every call ------------------------------------------------------------------------

Result<void> JournalStore::check_failed() const {
  if (auto failure = log_.failure()) return std::unexpected(std::move(*failure));
  return {};
}

auto JournalStore::guarded(const auto& call) -> decltype(call()) {
  try {
    return call();
  } catch (const Unreadable& unreadable) {
    return std::unexpected(log_.fail_for_good(unreadable.error));
  }
}

// Bytes that a read cannot get are missing from its answer and nowhere else.
auto JournalStore::ask(const auto& call) -> decltype(call()) {
  if (auto good = check_failed(); !good) return std::unexpected(std::move(good.error()));
  try {
    return call();
  } catch (const Unreadable& unreadable) {
    return std::unexpected(unreadable.error);
  }
}

auto JournalStore::change(Reserve reserve, std::size_t bytes, const auto& call)
    -> decltype(call()) {
  const Turns::Change turn(machine_->turns());
  return guarded([&]() -> decltype(call()) {
    if (auto good = before_change(reserve, bytes); !good) {
      return std::unexpected(std::move(good.error()));
    }
    auto answer = call();
    if (auto good = after_change(); !good) return std::unexpected(std::move(good.error()));
    return answer;
  });
}

// Asks for space before anything changes, because afterwards there is no way back. Calls that add
// tasks leave the last segments to calls that work on those that exist (takes, settlements,
// removals). Those leave the last of them to the cleaner, which is how a full store frees space.
Result<void> JournalStore::before_change(Reserve reserve, std::size_t bytes) {
  if (auto good = check_failed(); !good) return good;
  if (options_.read_only) {
    return fail(ErrorCode::conflict, fmt::format("{} is open for reading only", disk_->path()));
  }
  const bool adds = reserve == Reserve::must_leave;
  const std::uint64_t left = options_.segment_size * (adds ? 6 : 3) / 4;
  Result<void> made;
  while (made && log_.room() < left + bytes) made = log_.make_room();
  if (made && !adds) return {};
  std::optional<Error> shortage;
  if (!made) {
    shortage = made.error();
  } else {
    shortage = spares_.is_short() ? spares_.shortage() : log_.lacks_space();
  }
  if (!shortage) return {};
  if (!std::exchange(reported_full_, true) && options_.warn) {
    options_.warn(fmt::format("no space for another segment: {}", shortage->message));
  }
  if (auto cleaned = clean(0); !cleaned) return cleaned;
  return std::unexpected(Error{
      .code = ErrorCode::limited,
      .message = fmt::format("the store is full and takes no more until there is space for another "
                             "{} bytes: {}",
                             options_.segment_size, shortage->message),
      .retry_after = std::chrono::seconds(1),
      .no_space = true});
}

Result<void> JournalStore::after_change() {
  records_.bytes.clear();
  records_.written.clear();
  take_records(state(), records_);
  const std::size_t appended = records_.bytes.size();
  if (appended != 0) log_.append(state(), records_, std::nullopt);
  if (!spares_.is_short()) reported_full_ = false;
  if (auto good = clean(appended); !good) return good;
  const Position written = log_.written();
  blobs_.set_written(written);
  state().cache.trim(
      state().blobs,
      [&](std::uint32_t at) {
        Slot& slot = state().slot(at);
        return std::array{&slot.body, &slot.notes};
      },
      [&](const Place& place) { return blobs_.is_written(place); });
  if (log_.unwritten() <= most_unwritten) return {};
  // The change is applied; if there is no space for it now, the next flush will say so.
  auto flushed = flush();
  return !flushed && flushed.error().code == ErrorCode::limited ? Result<void>{} : flushed;
}

std::uint64_t JournalStore::live_bytes() const {
  const State& state = machine_->state();
  return state.blobs.used() + state.blobs.only_logged() + record_cost * state.task_count();
}

// Keeps the log below about 1.6 times the bytes that are alive in it, plus a few segments.
Result<void> JournalStore::clean(std::size_t appended) {
  const std::uint64_t live = live_bytes();
  const bool full = spares_.is_short();
  const std::uint64_t most = full ? live + live / 8 + 2 * options_.segment_size
                                  : live + live * 6 / 10 + 3 * options_.segment_size;
  if (log_.size() <= most) return {};
  const auto oldest = log_.oldest();
  if (!oldest) return {};
  const std::uint64_t room = log_.room();
  if (room < options_.segment_size / 2) return {};
  const auto budget = std::min(
      std::clamp<std::uint64_t>(clean_ratio * appended, least_cleaned, most_cleaned), room / 4);
  auto step = cleaner_.step(state(), oldest->segment, oldest->offset, budget);
  if (!step) return std::unexpected(log_.fail_for_good(step.error()));
  if (!step->carried.bytes.empty()) log_.append(state(), step->carried, step->cleaned);
  return {};
}

Result<void> JournalStore::flush() {
  if (options_.read_only) return {};
  return log_.flush(TimePoint(Duration(now_.load())));
}

// ---- Calls that add ----------------------------------------------------------------------------

Result<std::vector<Result<Put>>> JournalStore::put(std::span<const NewTask> tasks, TimePoint now) {
  saw(now);
  return change(Reserve::must_leave, bytes_of_all(tasks),
                [&] { return machine_->put(tasks, now); });
}

Result<std::vector<Put>> JournalStore::put_all(std::span<const NewTask> tasks, TimePoint now) {
  saw(now);
  std::size_t bytes = 0;
  if (tasks.size() <= limits::max_put_all) {
    for (const NewTask& task : tasks) bytes += bytes_of(task);
  }
  return change(Reserve::must_leave, std::min(bytes, 2 * limits::max_put_all_bytes),
                [&] { return machine_->put_all(tasks, now); });
}

Result<std::vector<Result<Put>>> JournalStore::restore(std::span<const Task> tasks, TimePoint now) {
  saw(now);
  return change(Reserve::must_leave, bytes_of_all(tasks),
                [&] { return machine_->restore(tasks, now); });
}

Result<Schedule> JournalStore::put_schedule(const Schedule& schedule, PutSchedule mode,
                                            TimePoint now) {
  saw(now);
  return change(Reserve::must_leave, bytes_of(schedule.task),
                [&] { return machine_->put_schedule(schedule, mode, now); });
}

Result<Fired> JournalStore::fire(const Fire& tick, TimePoint now) {
  saw(now);
  return change(Reserve::must_leave, 2 * bytes_of(tick.task),
                [&] { return machine_->fire(tick, now); });
}

Result<Memo> JournalStore::remember(const Remember& request, TimePoint now) {
  saw(now);
  const std::size_t bytes = request.value ? request.value->size() : 0;
  return change(request.value ? Reserve::must_leave : Reserve::may_use, bytes,
                [&] { return machine_->remember(request, now); });
}

// ---- Calls that work on what exists -----------------------------------------------------------

Result<WorkResult> JournalStore::work(std::span<const Settlement> settlements,
                                      std::span<const Extension> extensions,
                                      std::span<const TakeRequest> takes, TimePoint now) {
  saw(now);
  return change(Reserve::may_use, bytes_of_all(settlements),
                [&] { return machine_->work(settlements, extensions, takes, now); });
}

Result<Advanced> JournalStore::advance(TimePoint now, std::size_t limit) {
  saw(now);
  return change(Reserve::may_use, 0, [&] { return machine_->advance(now, limit); });
}

Result<std::vector<Result<TaskState>>> JournalStore::cancel(std::span<const CancelRequest> requests,
                                                            TimePoint now) {
  saw(now);
  return change(Reserve::may_use, bytes_of_all(requests),
                [&] { return machine_->cancel(requests, now); });
}

Result<std::vector<Result<TaskState>>> JournalStore::retry(std::span<const TaskId> tasks,
                                                           TimePoint now) {
  saw(now);
  return change(Reserve::may_use, 0, [&] { return machine_->retry(tasks, now); });
}

Result<std::vector<Result<TaskState>>> JournalStore::remove(std::span<const TaskId> tasks,
                                                            TimePoint now) {
  saw(now);
  return change(Reserve::may_use, 0, [&] { return machine_->remove(tasks, now); });
}

// A move writes the whole task again, payload and all.
std::size_t JournalStore::bytes_of_moved(std::span<const TaskUpdate> updates) const {
  if (updates.size() > limits::max_batch) return 0;
  const State& state = machine_->state();
  const auto size = [](Blob blob) -> std::size_t {
    return blob.is_in_log() ? blob.place().size : Blobs::view(blob).size();
  };
  std::size_t bytes = 0;
  for (const TaskUpdate& update : updates) {
    if (!update.queue) continue;
    const auto at = state.find(update.id);
    if (at == no_slot) continue;
    bytes += 512 + size(state.slot(at).body) + size(state.slot(at).notes);
  }
  return bytes;
}

Result<std::vector<Result<TaskState>>> JournalStore::update(std::span<const TaskUpdate> updates,
                                                            TimePoint now) {
  saw(now);
  const std::size_t moved = bytes_of_moved(updates);
  return change(moved == 0 ? Reserve::may_use : Reserve::must_leave, moved,
                [&] { return machine_->update(updates, now); });
}

Result<Queue> JournalStore::put_queue(const QueueSettings& settings, PutQueue mode, TimePoint now) {
  saw(now);
  return change(Reserve::may_use, 0, [&] { return machine_->put_queue(settings, mode, now); });
}

Result<void> JournalStore::remove_queue(const QueueRef& queue, bool force, TimePoint now) {
  saw(now);
  return change(Reserve::may_use, 0, [&] { return machine_->remove_queue(queue, force, now); });
}

Result<std::size_t> JournalStore::clear(const QueueRef& queue, std::size_t limit, TimePoint now) {
  saw(now);
  return change(Reserve::may_use, 0, [&] { return machine_->clear(queue, limit, now); });
}

Result<millrace::Group> JournalStore::put_group(const PutGroup& group, TimePoint now) {
  saw(now);
  return change(Reserve::may_use, 0, [&] { return machine_->put_group(group, now); });
}

Result<void> JournalStore::remove_schedule(std::string_view name, TimePoint now) {
  saw(now);
  return change(Reserve::may_use, 0, [&] { return machine_->remove_schedule(name, now); });
}

// ---- Reads ------------------------------------------------------------------------------------

Result<std::vector<Overdue>> JournalStore::due(TimePoint now, const DueRequest& request) {
  saw(now);
  if (auto good = check_failed(); !good) return std::unexpected(std::move(good.error()));
  // What is overdue must be settled, and without its bytes it cannot be.
  return guarded([&] { return machine_->due(now, request); });
}

Result<std::vector<Result<Task>>> JournalStore::find(std::span<const TaskRef> tasks, Parts parts) {
  return ask([&] { return machine_->find(tasks, parts); });
}

Result<TaskPage> JournalStore::list(const ListRequest& request) {
  return ask([&] { return machine_->list(request); });
}

Result<std::vector<QueueCounts>> JournalStore::counts(const std::optional<QueueRef>& queue,
                                                      TimePoint now) {
  return ask([&] { return machine_->counts(queue, now); });
}

Result<std::vector<Queue>> JournalStore::queues(const std::optional<QueueRef>& queue) {
  return ask([&] { return machine_->queues(queue); });
}

Result<GroupPage> JournalStore::groups(const GroupsRequest& request, TimePoint now) {
  return ask([&] { return machine_->groups(request, now); });
}

Result<std::vector<Schedule>> JournalStore::schedules(const std::optional<std::string>& name) {
  return ask([&] { return machine_->schedules(name); });
}

Result<std::vector<Memo>> JournalStore::recall(const Recall& request, TimePoint now) {
  return ask([&] { return machine_->recall(request, now); });
}

Result<std::vector<std::string>> JournalStore::ready(TimePoint now) {
  saw(now);
  return ask([&] { return machine_->ready(now); });
}

Traits JournalStore::traits() const {
  Traits traits = machine_->traits();
  traits.name = "journal";
  traits.leases_survive = true;
  switch (options_.sync) {
    case SyncMode::always:
      traits.durability = Durability::synced;
      traits.loss_window = Duration::zero();
      break;
    case SyncMode::interval:
      traits.durability = Durability::interval;
      traits.loss_window = options_.interval;
      break;
    case SyncMode::none:
      traits.durability = Durability::none;
      traits.loss_window = Duration::max();
      break;
  }
  return traits;
}

}  // namespace millrace::embedded

namespace millrace {

Result<std::unique_ptr<Store>> open_journal(std::unique_ptr<Disk> disk, JournalOptions options) {
  auto store = std::make_unique<embedded::JournalStore>(std::move(disk), std::move(options));
  if (auto opened = store->open(); !opened) return std::unexpected(std::move(opened.error()));
  return store;
}

}  // namespace millrace
