#include "broker/round.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "broker/batches.h"
#include "core/ensure.h"
#include "store/store.h"

namespace millrace {
namespace {

// How many parked takes of a queue are tried at first; four times as many each time all of them got
// what they wanted. So the number of tries follows the number of tasks, not that of parked takes.
constexpr std::size_t first_try = 4;

WorkPart& work_of(Request& request) {
  return std::get<WorkPart>(request.part);
}

// The same error for each item of a call that was refused as a whole.
template <class T>
void refuse_each(std::vector<Result<T>>& results, std::size_t count, const Error& error) {
  results.insert(results.end(), count, std::unexpected(error));
}

// Moves `count` results to `to`, starting with the one at `at`.
template <class T>
void hand_out(std::vector<T>& from, std::size_t& at, std::size_t count, std::vector<T>& to) {
  to.reserve(count);
  for (std::size_t i = 0; i < count; ++i) to.push_back(std::move(from[at++]));
}

bool found_nothing(const WorkPart& part) {
  return std::ranges::all_of(part.result.taken,
                             [](const auto& taken) { return taken && taken->empty(); });
}

}  // namespace

RoundRunner::RoundRunner(Store& store, const RoundOptions& options)
    : store_(store), options_(options), recovers_(store.traits().recovers) {}

void RoundRunner::run(Round& round) {
  for (Request* request : round.unpark) parked_.remove(*request);
  apply(round);
  // A parked take ends at the moment its caller named, whatever became of the store.
  for (Request* request : parked_.ended(round.now)) {
    parked_.remove(*request);
    round.answered.push_back(request);
  }
}

bool RoundRunner::apply(Round& round) {
  if (round.touch) {
    if (auto touched = store_.ready(round.now); !touched && failed(round, touched.error())) {
      return false;
    }
  }
  return put(round) && call(round) && work(round);
}

bool RoundRunner::failed(Round& round, const Error& error) const {
  if (error.code != ErrorCode::unavailable) return false;
  // A read that could not get its bytes failed alone, and says when to come back.
  if (error.retry_after && !recovers_) return false;
  round.failure = error;
  return true;
}

bool RoundRunner::put(Round& round) {
  std::vector<NewTask> tasks;
  tasks.reserve(round.requests.size());
  for (Request* request : round.requests) {
    if (auto* part = std::get_if<PutPart>(&request->part)) append(tasks, part->tasks);
  }
  std::vector<Result<Put>> results;
  results.reserve(tasks.size());
  std::span<const NewTask> rest = tasks;
  while (!rest.empty()) {
    std::size_t room = options_.batch;
    const auto batch = cut(rest, room);
    auto puts = store_.put(batch, round.now);
    if (puts) {
      ensure(puts->size() == batch.size(), "the store did not answer each task of a put");
      append(results, *puts);
    } else if (failed(round, puts.error())) {
      return false;
    } else {
      refuse_each(results, batch.size(), puts.error());
    }
  }
  std::size_t at = 0;
  for (Request* request : round.requests) {
    auto* part = std::get_if<PutPart>(&request->part);
    if (part == nullptr) continue;
    hand_out(results, at, part->tasks.size(), part->results);
    round.answered.push_back(request);
  }
  return true;
}

bool RoundRunner::call(Round& round) {
  for (Request* request : round.requests) {
    auto* part = std::get_if<CallPart>(&request->part);
    if (part == nullptr) continue;
    const auto error = part->run(store_, round.now);
    if (error && failed(round, *error)) return false;
    round.answered.push_back(request);
  }
  return true;
}

bool RoundRunner::work_in_batches(Round& round, std::span<const Settlement> settlements,
                                  std::span<const Extension> extensions,
                                  std::span<const TakeRequest> takes, WorkResult& result) {
  return each_batch_of_work(
      settlements, extensions, takes, options_.batch,
      [&](std::span<const Settlement> settle, std::span<const Extension> extend,
          std::span<const TakeRequest> take) {
        auto answer = store_.work(settle, extend, take, round.now);
        if (answer) {
          ensure(answer->settled.size() == settle.size() &&
                     answer->extended.size() == extend.size() &&
                     answer->taken.size() == take.size(),
                 "the store did not answer each part of its work");
          append(result.settled, answer->settled);
          append(result.extended, answer->extended);
          append(result.taken, answer->taken);
          result.more = result.more || answer->more;
        } else if (failed(round, answer.error())) {
          return false;
        } else {
          refuse_each(result.settled, settle.size(), answer.error());
          refuse_each(result.extended, extend.size(), answer.error());
          refuse_each(result.taken, take.size(), answer.error());
        }
        return true;
      });
}

bool RoundRunner::work(Round& round) {
  std::vector<Request*> requests;
  for (Request* request : round.requests) {
    if (std::holds_alternative<WorkPart>(request->part)) requests.push_back(request);
  }
  if ((round.serve || !round.hot.empty()) && parked_.size() != 0) {
    if (!ask(round, requests, {.reports = true}) || !serve_parked(round) ||
        !ask(round, requests, {.takes = true})) {
      return false;
    }
  } else if (!ask(round, requests, {.reports = true, .takes = true})) {
    return false;
  }
  return std::ranges::all_of(requests,
                             [&](Request* request) { return answer_or_park(round, *request); });
}

bool RoundRunner::ask(Round& round, std::span<Request* const> requests, Parts parts) {
  std::vector<Settlement> settlements;
  std::vector<Extension> extensions;
  std::vector<TakeRequest> takes;
  if (parts.reports) settlements = round.give_backs;
  // A give-back is refused if the task was settled meanwhile, or is to be cancelled; then its lease
  // runs out, and the sweeper decides what becomes of the task.
  std::size_t settled = settlements.size();
  std::unordered_map<const Request*, KnownTakes> known;  // of those that may miss queues
  for (Request* request : requests) {
    Work& work = work_of(*request).work;
    if (parts.reports) append(settlements, work.settlements);
    if (parts.reports) append(extensions, work.extensions);
    if (!parts.takes) continue;
    if (!work.may_miss || !KnownTakes::misses(work.takes, options_.exists)) {
      append(takes, work.takes);
      continue;
    }
    const auto at = known.emplace(request, KnownTakes(work.takes, options_.exists)).first;
    const auto& some = at->second.takes();
    takes.insert(takes.end(), some.begin(), some.end());
  }
  WorkResult result;
  const bool good = work_in_batches(round, settlements, extensions, takes, result);
  // The takes move back into their requests, since those that find nothing are tried again later.
  auto next = takes.begin();
  for (Request* request : requests) {
    if (!parts.takes) break;
    if (const auto some = known.find(request); some != known.end()) {
      next += static_cast<std::ptrdiff_t>(some->second.takes().size());
      continue;
    }
    for (TakeRequest& take : work_of(*request).work.takes) take = std::move(*next++);
  }
  if (!good) return false;
  if (parts.reports) round.give_backs.clear();
  std::size_t extended = 0;
  std::size_t taken = 0;
  for (Request* request : requests) {
    WorkPart& part = work_of(*request);
    if (parts.reports) {
      hand_out(result.settled, settled, part.work.settlements.size(), part.result.settled);
      hand_out(result.extended, extended, part.work.extensions.size(), part.result.extended);
      part.result.more = result.more;
    }
    if (!parts.takes) continue;
    part.result.taken.clear();
    if (const auto some = known.find(request); some != known.end()) {
      some->second.hand_out(result.taken, taken, part.result.taken);
    } else {
      hand_out(result.taken, taken, part.work.takes.size(), part.result.taken);
    }
  }
  return true;
}

bool RoundRunner::answer_or_park(Round& round, Request& request) {
  WorkPart& part = work_of(request);
  const Work& work = part.work;
  const bool may_wait = !work.takes.empty() && work.wait_until && *work.wait_until > round.now &&
                        work.settlements.empty() && work.extensions.empty();
  if (!may_wait || !found_nothing(part)) {
    round.answered.push_back(&request);
  } else if (parked_.size() >= options_.parked) {
    request.instead = Error{ErrorCode::limited,
                            fmt::format("{} takes wait for work already; try again in {} ms",
                                        parked_.size(), options_.retry_after.count()),
                            options_.retry_after};
    round.answered.push_back(&request);
  } else {
    auto names = names_of(work.takes);
    if (!names) return !failed(round, names.error());
    part.queues = std::move(*names);
    parked_.add(request);
    round.parked.push_back(&request);
  }
  return true;
}

Result<std::vector<std::string>> RoundRunner::names_of(const std::vector<TakeRequest>& takes) {
  std::vector<std::string> names;
  for (const TakeRequest& take : takes) {
    for (const Want& want : take.queues) {
      if (const auto* name = std::get_if<std::string>(&want.queue)) {
        names.push_back(*name);
        continue;
      }
      // The take has just succeeded, so the queue is there, or was.
      const auto queues = store_.queues(want.queue);
      if (!queues && queues.error().code == ErrorCode::unavailable) {
        return std::unexpected(queues.error());
      }
      names.push_back(queues && !queues->empty() ? queues->front().settings.name : std::string());
    }
  }
  return names;
}

bool RoundRunner::serve_parked(Round& round) {
  Result<std::vector<std::string>> hot = std::move(round.hot);
  if (round.serve) hot = store_.ready(round.now);
  if (!hot) return !failed(round, hot.error());
  std::size_t given = 0;
  for (std::size_t tries = first_try;; tries = std::min(tries * 4, options_.items)) {
    std::erase_if(*hot, [&](const std::string& queue) { return !parked_.wanted(queue); });
    if (hot->empty()) return true;
    if (given >= options_.items) break;
    std::map<std::uint64_t, Request*> found;
    for (const std::string& queue : *hot) parked_.first(queue, tries, found);
    std::vector<Request*> candidates;
    std::size_t items = 0;
    for (const auto& [number, request] : found) {
      items += request->items;
      if (!candidates.empty() && items > options_.items) break;
      candidates.push_back(request);
    }
    if (!ask(round, candidates, {.takes = true})) return false;
    std::unordered_set<std::string> dry;
    for (Request* request : candidates) given += collect(round, *request, dry);
    std::erase_if(*hot, [&](const std::string& queue) { return dry.contains(queue); });
  }
  round.more = true;
  return true;
}

std::size_t RoundRunner::collect(Round& round, Request& request,
                                 std::unordered_set<std::string>& dry) {
  WorkPart& part = work_of(request);
  if (found_nothing(part)) {
    dry.insert(part.queues.begin(), part.queues.end());
    return 0;
  }
  std::size_t given = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < part.work.takes.size(); ++i) {
    std::unordered_map<std::string, std::size_t> missing;
    for (const Want& want : part.work.takes[i].queues) missing[part.queues[at++]] += want.most;
    const auto& taken = part.result.taken[i];
    if (!taken) continue;  // this says nothing about its queues
    given += taken->size();
    for (const Lease& lease : *taken) --missing[lease.queue];
    for (const auto& [queue, count] : missing) {
      if (count != 0) dry.insert(queue);
    }
  }
  parked_.remove(request);
  round.answered.push_back(&request);
  return given;
}

}  // namespace millrace
