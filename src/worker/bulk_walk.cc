#include "worker/bulk_walk.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "api/wire/bulk.h"
#include "broker/wait_for_answer.h"
#include "core/limits.h"
#include "core/transition.h"
#include "core/uuid.h"

namespace millrace::worker {
namespace {

// Tasks that one step of the broker acts on. Other callers wait for that step, so it must be short.
constexpr std::size_t at_once = 250;

ListRequest list_of(const BulkRequest& request) {
  const BulkFilter& filter = request.filter;
  return {.queue = filter.queue,
          .states = states_of(request),
          .type = filter.type,
          .client_id = filter.client_id,
          .group = filter.group,
          .tag = filter.tag,
          .priority = filter.priority,
          .created_from = filter.created_from,
          .created_until = filter.created_until,
          .limit = limits::max_page,
          .detail =
              filter.text ? Detail::full : Detail::usual};  // the text is searched in payloads, too
}

}  // namespace

BulkWalk::BulkWalk(Broker& broker, BulkVerbs& verbs, CallerId caller, const BulkRequest& request,
                   TaskId id, TaskNumber number)
    : broker_(broker),
      verbs_(verbs),
      ask_{.caller = caller},
      request_(request),
      key_(std::string(bulk_memos) + to_text(id.value)),
      why_(std::string(bulk_reasons) + to_text(id.value)),
      number_(number) {}

template <class T, class Start>
Result<T> BulkWalk::wait(const Start& start) {
  return wait_for_answer<T>(start);
}

// ---- Progress ----

Result<std::optional<Memo>> BulkWalk::recall(const std::string& key) {
  auto memos = wait<std::vector<Memo>>(
      [&](auto done) { verbs_.recall(ask_, {.prefix = key, .limit = 1}, std::move(done)); });
  if (!memos) return std::unexpected(std::move(memos.error()));
  if (memos->empty()) return std::nullopt;
  return std::move(memos->front());
}

// The walk never goes beyond the number of its own task, whatever the stored progress says.
Result<void> BulkWalk::load() {
  const auto memo = recall(key_);
  if (!memo) return std::unexpected(memo.error());
  if (!*memo) return {};
  auto read = wire::progress_from((*memo)->value);
  if (!read) return std::unexpected(std::move(read.error()));
  progress_ = std::move(*read);
  if (progress_.before) progress_.before = std::min(*progress_.before, number_);
  version_ = (*memo)->version;
  return {};
}

std::string BulkWalk::reason() {
  const auto memo = recall(why_);
  return memo && *memo ? (*memo)->value : std::string();
}

void BulkWalk::forget(bool with_progress) {
  const Ask inside{.caller = ask_.caller, .deadline = ask_.deadline, .internal = true};
  for (const std::string& key : {why_, key_}) {
    if (key == key_ && !with_progress) continue;
    const auto memo = recall(key);
    if (!memo || !*memo) continue;
    Remember request{.key = key, .expected = (*memo)->version};
    (void)wait<Memo>(
        [&](auto done) { verbs_.remember(inside, std::move(request), std::move(done)); });
  }
}

Result<void> BulkWalk::save() {
  const Ask inside{.caller = ask_.caller, .deadline = ask_.deadline, .internal = true};
  Remember request{.key = key_,
                   .value = wire::progress_text(progress_),
                   .expected = version_,
                   .lifetime = bulk_kept_for};
  const auto stored =
      wait<Memo>([&](auto done) { verbs_.remember(inside, std::move(request), std::move(done)); });
  if (!stored) return std::unexpected(stored.error());
  version_ = stored->version;
  return {};
}

// Estimated from counters, without reading tasks.
Result<std::uint64_t> BulkWalk::count() {
  const auto queues = wait<std::vector<QueueView>>(
      [&](auto done) { broker_.queues(ask_, request_.filter.queue, std::move(done)); });
  if (!queues) return std::unexpected(queues.error());
  std::uint64_t sum = 0;
  for (const QueueView& view : *queues) {
    for (const TaskState state : states_of(request_)) sum += view.counts.of(state);
  }
  return sum;
}

Result<void> BulkWalk::begin() {
  if (auto good = load(); !good) return good;
  if (version_ != 0) {
    if (progress_.pending.empty()) return {};
    if (auto acted = act(true); !acted) return acted;
    return save();
  }
  const auto about = count();
  if (!about) return std::unexpected(about.error());
  progress_.about = *about;
  progress_.before = number_;
  return {};
}

// ---- A page ----

Result<TaskPage> BulkWalk::next_page() {
  ListRequest request = list_of(request_);
  request.before = progress_.before;
  return wait<TaskPage>(
      [&](auto done) { broker_.list(ask_, std::move(request), std::move(done)); });
}

Result<bool> BulkWalk::step() {
  if (!progress_.before) return false;
  const auto page = next_page();
  if (!page) return std::unexpected(page.error());
  progress_.before = page->next;
  progress_.looked_at += page->looked_at;
  for (const Task& task : page->tasks) {
    if (!fits(request_, task)) continue;
    ++progress_.matched;
    if (!request_.dry_run) {
      progress_.pending.push_back({task.id, task.version, task.finished_at});
    }
  }
  if (auto saved = save(); !saved) return std::unexpected(std::move(saved.error()));
  if (auto acted = act(false); !acted) return std::unexpected(std::move(acted.error()));
  if (progress_.before) return true;
  if (auto saved = save(); !saved) return std::unexpected(std::move(saved.error()));
  return false;
}

// ---- Acting ----

// `again`: some of the tasks may have been acted on before. Those are not retried again: a task may
// have had its second life and be dead once more.
Result<void> BulkWalk::act(bool again) {
  if (again) {
    if (auto good = drop_new_ones(); !good) return good;
  }
  const std::vector<BulkSeen> tasks = progress_.pending;
  for (std::size_t from = 0; from < tasks.size();) {
    const auto begin = tasks.begin() + static_cast<std::ptrdiff_t>(from);
    const auto count = static_cast<std::ptrdiff_t>(std::min(at_once, tasks.size() - from));
    BulkBatch batch{.request = request_,
                    .tasks = {begin, begin + count},
                    .not_twice = again && request_.action == BulkAction::retry};
    const auto states = wait<Broker::States>(
        [&](auto done) { verbs_.act(ask_, std::move(batch), std::move(done)); });
    if (!states) return std::unexpected(states.error());
    for (const auto& state : *states) {
      if (auto good = note(tasks[from++], state, again); !good) return good;
    }
  }
  progress_.pending.clear();
  return {};
}

// A caller may have put another task with the id of a removed one in the meantime.
Result<void> BulkWalk::drop_new_ones() {
  std::vector<BulkSeen> kept;
  for (const BulkSeen& seen : progress_.pending) {
    const auto found = wait<Task>([&](auto done) { broker_.find(ask_, seen.id, std::move(done)); });
    if (!found && found.error().code != ErrorCode::not_found) {
      return std::unexpected(found.error());
    }
    if (!found || found->number < number_) {
      kept.push_back(seen);
    } else {
      ++(request_.action == BulkAction::remove ? progress_.done : progress_.refused);
    }
  }
  progress_.pending = std::move(kept);
  return {};
}

Result<void> BulkWalk::note(const BulkSeen& seen, const Result<TaskState>& state, bool again) {
  if (state) {
    ++progress_.done;
    return {};
  }
  if (again) {
    const auto done = was_done(seen);
    if (!done) return std::unexpected(done.error());
    if (*done) {
      ++progress_.done;
      return {};
    }
  }
  ++progress_.refused;
  if (progress_.refusal.empty()) progress_.refusal = state.error().message;
  return {};
}

// Whether a task that cannot be acted on looks as if the operation had acted on it before.
Result<bool> BulkWalk::was_done(const BulkSeen& seen) {
  const auto found = wait<Task>([&](auto done) { broker_.find(ask_, seen.id, std::move(done)); });
  if (!found) {
    if (found.error().code != ErrorCode::not_found) return std::unexpected(found.error());
    return request_.action == BulkAction::remove;
  }
  switch (request_.action) {
    case BulkAction::cancel:
      return found->state == TaskState::cancelled || found->cancel_requested;
    case BulkAction::retry:
      return found->finished_at != seen.finished_at;  // it has another life, or had one
    case BulkAction::remove:
      return false;
    case BulkAction::priority:
      return request_.priority == found->priority;
    case BulkAction::move:
      return request_.to == QueueRef(found->queue);
  }
  return false;
}

}  // namespace millrace::worker
