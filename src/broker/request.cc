#include "broker/request.h"

#include <algorithm>

namespace millrace {

std::size_t bytes_of(const NewTask& task) {
  std::size_t bytes = sizeof(NewTask) + task.type.size() + task.payload.size() +
                      task.content_type.size() + task.client_id.size() + task.request_id.size() +
                      task.group.size() + task.metadata.size();
  for (const std::string& tag : task.tags) bytes += sizeof(tag) + tag.size();
  if (task.unique) bytes += task.unique->key.size();
  if (task.callback) bytes += task.callback->url.size();
  if (task.after) bytes += task.after->tasks.size() * sizeof(TaskId);
  return bytes;
}

std::size_t bytes_of(const Settlement& settlement) {
  std::size_t bytes = sizeof(Settlement) + settlement.result.size();
  if (const auto& error = settlement.error) {
    bytes += error->message.size() + error->details.size() + error->stack.size();
  }
  for (const NewTask& task : settlement.follow_ups) bytes += bytes_of(task);
  if (settlement.checkpoint) bytes += settlement.checkpoint->size();
  return bytes;
}

std::size_t bytes_of(const Extension& extension) {
  std::size_t bytes = sizeof(Extension);
  for (const std::string& line : extension.log) bytes += sizeof(line) + line.size();
  if (extension.checkpoint) bytes += extension.checkpoint->size();
  return bytes;
}

// A take counts as much as it may bring, so that a round's answers are bounded, too.
std::size_t wanted(const TakeRequest& take) {
  std::size_t most = 0;
  for (const Want& want : take.queues) most += want.most;
  return std::max<std::size_t>(most, 1);
}

Request put_request(CallerId caller, std::vector<NewTask> tasks, TimePoint deadline,
                    Completion<std::vector<Result<Put>>> done) {
  Request request{.caller = caller, .deadline = deadline, .part = PutPart{{}, std::move(done)}};
  request.items = std::max<std::size_t>(tasks.size(), 1);
  for (const NewTask& task : tasks) request.bytes += bytes_of(task);
  std::get<PutPart>(request.part).tasks = std::move(tasks);
  return request;
}

Request work_request(CallerId caller, Work work, TimePoint deadline, Completion<WorkResult> done) {
  Request request{.caller = caller, .deadline = deadline, .part = WorkPart{{}, std::move(done)}};
  request.items = work.settlements.size() + work.extensions.size();
  for (const Settlement& settlement : work.settlements) request.bytes += bytes_of(settlement);
  for (const Extension& extension : work.extensions) request.bytes += bytes_of(extension);
  for (const TakeRequest& take : work.takes) {
    request.items += wanted(take);
    request.bytes += sizeof(TakeRequest) + take.queues.size() * sizeof(Want);
  }
  request.items = std::max<std::size_t>(request.items, 1);
  request.first_step = !work.settlements.empty()  ? Step::settle
                       : !work.extensions.empty() ? Step::extend
                                                  : Step::take;
  request.last_step = !work.takes.empty()        ? Step::take
                      : !work.extensions.empty() ? Step::extend
                                                 : Step::settle;
  std::get<WorkPart>(request.part).work = std::move(work);
  return request;
}

Request any_request(CallerId caller, CallPart part, TimePoint deadline, std::size_t bytes) {
  return {.caller = caller,
          .deadline = deadline,
          .part = std::move(part),
          .first_step = Step::call,
          .last_step = Step::call,
          .bytes = sizeof(Request) + bytes};
}

void Request::answer() {
  if (auto* put = std::get_if<PutPart>(&part)) {
    if (instead) return put->done(std::unexpected(std::move(*instead)));
    return put->done(std::move(put->results));
  }
  if (auto* work = std::get_if<WorkPart>(&part)) {
    if (instead) return work->done(std::unexpected(std::move(*instead)));
    return work->done(std::move(work->result));
  }
  std::get<CallPart>(part).done(instead);
}

}  // namespace millrace
