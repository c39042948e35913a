// Queues and schedules.
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <utility>

#include "api/client/http_broker.h"
#include "api/client/target.h"
#include "api/wire/groups.h"
#include "api/wire/requests.h"
#include "api/wire/views.h"
#include "core/quote.h"
#include "core/validate.h"

namespace millrace {

using client::queue_target;
using client::schedule_target;

namespace {

Result<std::string> patch_of(std::string_view from, std::string_view to) {
  auto patch = wire::difference(from, to);
  if (!patch) return std::unexpected(std::move(patch.error().error));
  return std::move(*patch);
}

}  // namespace

// ---- Changes ----

// Read, decided on, and written as a patch of what changes.
template <class T>
struct HttpBroker::Edit {
  Ask ask = {};
  std::string target = {};
  Result<T> (*read)(std::string_view) = nullptr;
  // Decides: what to change of this.
  std::move_only_function<Result<std::string>(const T&)> patch = {};
  Completion<T> done = {};
  std::optional<T> seen = std::nullopt;         // what was last decided on
  std::optional<Error> refusal = std::nullopt;  // the conflict that the last try met
  int tries = 0;
};

template <class T>
bool is_as_seen(const T& seen, const T& found) {
  return seen == found;
}
// The counters of a group change all the while.
bool is_as_seen(const Group& seen, const Group& found) {
  return seen.override == found.override;
}

// A conflict although nothing has changed has another reason, and trying again would not help.
template <class T>
void HttpBroker::try_edit(std::shared_ptr<Edit<T>> edit) {
  constexpr int most_tries = 5;  // the server itself has tried ten times by then
  if (edit->tries++ == most_tries) return edit->done(std::unexpected(std::move(*edit->refusal)));
  auto written = [this, edit](Result<T> result) {
    if (result || result.error().code != ErrorCode::conflict) return edit->done(std::move(result));
    edit->refusal = std::move(result.error());
    try_edit(edit);
  };
  auto found = [this, edit, written = std::move(written)](Result<T> result) mutable {
    if (!result) return edit->done(std::move(result));
    if (edit->refusal && edit->seen && is_as_seen(*edit->seen, *result)) {
      return edit->done(std::unexpected(std::move(*edit->refusal)));
    }
    auto patch = edit->patch(*result);
    if (!patch) return edit->done(std::unexpected(std::move(patch.error())));
    if (*patch == "{}") return edit->done(std::move(result));  // nothing is written
    edit->seen = std::move(*result);
    call<T>(edit->ask, {.method = "PATCH", .target = edit->target, .body = std::move(*patch)},
            edit->read, std::move(written));
  };
  call<T>(edit->ask, {.target = edit->target}, edit->read, std::move(found));
}

// ---- Queues ----

// Settings and counters come from two routes.
void HttpBroker::queues(Ask ask, std::optional<QueueRef> queue,
                        Completion<std::vector<QueueView>> done) {
  const bool one = queue.has_value();
  Request views{.target = one ? queue_target(*queue) : "/v1/queues"};
  Request stats{.target = one ? queue_target(*queue, "/stats") : "/v1/stats"};
  send(ask, std::move(views),
       [this, ask, one, stats = std::move(stats),
        done = std::move(done)](Result<Reply> shown) mutable {
         if (!shown) return done(std::unexpected(std::move(shown.error())));
         const auto read = one ? wire::queue_view_from : wire::queue_views_from;
         call<std::vector<QueueView>>(
             ask, std::move(stats),
             [read, text = std::move(shown->body)](std::string_view counted) {
               return read(text, counted);
             },
             std::move(done));
       });
}

void HttpBroker::put_queue(Ask ask, QueueSettings settings, PutQueue mode, Completion<Queue> done) {
  const bool create = mode == PutQueue::create;
  call<Queue>(ask,
              {.method = create ? "POST" : "PUT",
               .target = create ? "/v1/queues" : queue_target(settings.name),
               .body = wire::queue_text(settings)},
              wire::queue_from, std::move(done));
}

void HttpBroker::change_queue(Ask ask, QueueRef queue, QueueChange change, Completion<Queue> done) {
  auto edit = std::make_shared<Edit<Queue>>();
  edit->ask = ask, edit->target = queue_target(queue);
  edit->read = wire::queue_from;
  edit->patch = [change = std::move(change)](const Queue& found) mutable -> Result<std::string> {
    QueueSettings settings = found.settings;
    if (auto good = change(settings); !good) return std::unexpected(std::move(good.error()));
    return patch_of(wire::queue_text(found.settings), wire::queue_text(settings));
  };
  edit->done = std::move(done);
  try_edit(std::move(edit));
}

void HttpBroker::remove_queue(Ask ask, QueueRef queue, bool force, Completion<void> done) {
  call(ask, {.method = "DELETE", .target = queue_target(queue, force ? "?force=true" : "")},
       std::move(done));
}

void HttpBroker::clear(Ask ask, QueueRef queue, Completion<std::uint64_t> done) {
  call<std::uint64_t>(ask, {.method = "POST", .target = queue_target(queue, "/clear")},
                      wire::removed_from, std::move(done));
}

// ---- Groups ----

void HttpBroker::groups(Ask ask, GroupsRequest request, Completion<GroupPage> done) {
  call<GroupPage>(ask, {.target = client::groups_target(request)}, wire::group_page_from,
                  std::move(done));
}

void HttpBroker::change_group(Ask ask, QueueRef queue, std::string name, GroupChange change,
                              Completion<Group> done) {
  // Without a name, the path would be that of another route.
  if (auto good = validate(PutGroup{.queue = queue, .name = name}); !good) {
    return done(std::unexpected(std::move(good.error())));
  }
  auto edit = std::make_shared<Edit<Group>>();
  edit->ask = ask, edit->target = client::group_target(queue, name);
  edit->read = wire::group_from;
  edit->patch = [change = std::move(change)](const Group& found) mutable -> Result<std::string> {
    const GroupOverride old = found.override.value_or(GroupOverride{});
    GroupOverride changed = old;
    if (auto good = change(changed); !good) return std::unexpected(std::move(good.error()));
    return patch_of(wire::override_text(old), wire::override_text(changed));
  };
  edit->done = std::move(done);
  try_edit(std::move(edit));
}

// ---- Schedules ----

void HttpBroker::schedules(Ask ask, std::optional<std::string> name,
                           Completion<std::vector<Schedule>> done) {
  if (!name) {
    return call<std::vector<Schedule>>(ask, {.target = "/v1/schedules"}, wire::schedules_from,
                                       std::move(done));
  }
  call<Schedule>(ask, {.target = schedule_target(*name)}, wire::schedule_from,
                 [done = std::move(done)](Result<Schedule> schedule) mutable {
                   if (!schedule) return done(std::unexpected(std::move(schedule.error())));
                   std::vector<Schedule> all;
                   all.push_back(std::move(*schedule));
                   done(std::move(all));
                 });
}

void HttpBroker::put_schedule(Ask ask, Schedule schedule, PutQueue mode,
                              Completion<Schedule> done) {
  const bool create = mode == PutQueue::create;
  call<Schedule>(ask,
                 {.method = create ? "POST" : "PUT",
                  .target = create ? "/v1/schedules" : schedule_target(schedule.name),
                  .body = wire::schedule_text(schedule)},
                 wire::schedule_from, std::move(done));
}

void HttpBroker::change_schedule(Ask ask, std::string name, ScheduleChange change,
                                 Completion<Schedule> done) {
  auto edit = std::make_shared<Edit<Schedule>>();
  edit->ask = ask, edit->target = schedule_target(name);
  edit->read = wire::schedule_from;
  edit->patch = [change = std::move(change)](const Schedule& found) mutable -> Result<std::string> {
    Schedule schedule = found;
    if (auto good = change(schedule); !good) return std::unexpected(std::move(good.error()));
    if (schedule.name != found.name) {
      return fail(ErrorCode::invalid,
                  fmt::format("schedule {} cannot get another name; create a new one",
                              in_quotes(found.name)));
    }
    return patch_of(wire::schedule_text(found), wire::schedule_text(schedule));
  };
  edit->done = std::move(done);
  try_edit(std::move(edit));
}

void HttpBroker::pause_schedule(Ask ask, std::string name, bool paused, Completion<Schedule> done) {
  call<Schedule>(ask,
                 {.method = "POST", .target = schedule_target(name, paused ? "/pause" : "/resume")},
                 wire::schedule_from, std::move(done));
}

void HttpBroker::remove_schedule(Ask ask, std::string name, Completion<void> done) {
  call(ask, {.method = "DELETE", .target = schedule_target(name)}, std::move(done));
}

void HttpBroker::run_schedule(Ask ask, std::string name, Completion<Put> done) {
  call<Put>(ask, {.method = "POST", .target = schedule_target(name, "/run")}, wire::put_from,
            std::move(done));
}

}  // namespace millrace
