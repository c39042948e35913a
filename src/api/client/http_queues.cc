// Queues and schedules.
#include <fmt/format.h>
#include <utility>

#include "api/client/http_broker.h"
#include "api/client/target.h"
#include "api/wire/requests.h"
#include "api/wire/views.h"
#include "core/quote.h"

namespace millrace {

using client::queue_target;
using client::schedule_target;

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
             [read, text = std::move(shown->body)](std::string_view body) {
               return read(text, body);
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
  Request read{.target = queue_target(queue)};
  auto then = [this, ask, queue, change = std::move(change),
               done = std::move(done)](Result<Queue> found) mutable {
    if (!found) return done(std::move(found));
    QueueSettings settings = found->settings;
    if (auto good = change(settings); !good) return done(std::unexpected(std::move(good.error())));
    auto patch = wire::difference(wire::queue_text(found->settings), wire::queue_text(settings));
    if (!patch) return done(std::unexpected(std::move(patch.error().error)));
    call<Queue>(ask, {.method = "PATCH", .target = queue_target(queue), .body = std::move(*patch)},
                wire::queue_from, std::move(done));
  };
  call<Queue>(ask, std::move(read), wire::queue_from, std::move(then));
}

void HttpBroker::remove_queue(Ask ask, QueueRef queue, bool force, Completion<void> done) {
  call(ask, {.method = "DELETE", .target = queue_target(queue, force ? "?force=true" : "")},
       std::move(done));
}

void HttpBroker::clear(Ask ask, QueueRef queue, Completion<std::uint64_t> done) {
  call<std::uint64_t>(ask, {.method = "POST", .target = queue_target(queue, "/clear")},
                      wire::removed_from, std::move(done));
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
  Request read{.target = schedule_target(name)};
  auto then = [this, ask, name = std::move(name), change = std::move(change),
               done = std::move(done)](Result<Schedule> found) mutable {
    if (!found) return done(std::move(found));
    if (auto good = change(*found); !good) return done(std::unexpected(std::move(good.error())));
    if (found->name != name) {
      return done(fail(
          ErrorCode::invalid,
          fmt::format("schedule {} cannot get another name; create a new one", in_quotes(name))));
    }
    put_schedule(ask, std::move(*found), PutQueue::replace, std::move(done));
  };
  call<Schedule>(ask, std::move(read), wire::schedule_from, std::move(then));
}

void HttpBroker::remove_schedule(Ask ask, std::string name, Completion<void> done) {
  call(ask, {.method = "DELETE", .target = schedule_target(name)}, std::move(done));
}

void HttpBroker::run_schedule(Ask ask, std::string name, Completion<Put> done) {
  call<Put>(ask, {.method = "POST", .target = schedule_target(name, "/run")}, wire::put_from,
            std::move(done));
}

}  // namespace millrace
