#include <fmt/format.h>
#include <utility>

#include "api/server/handlers.h"
#include "api/wire/tasks.h"
#include "api/wire/text_writer.h"
#include "api/wire/views.h"
#include "core/quote.h"

namespace millrace::api {
namespace {

// The view of one queue, with its counters.
template <class Write>
void show_queue(CallPtr call, QueueRef queue, unsigned status, Write write) {
  Broker& broker = *call->broker;
  const Ask ask = call->ask();
  auto then = [status, write](CallPtr back, const std::vector<QueueView>& views) {
    if (views.empty()) return back->refuse(Error{ErrorCode::not_found, "the queue is gone"});
    back->answer(write(views.front()), status);
  };
  broker.queues(ask, std::move(queue),
                answered<std::vector<QueueView>>(std::move(call), std::move(then)));
}

std::string write_view(const QueueView& view) {
  return wire::view_of(view);
}

// Shows a queue as it was stored, with its counters of now. The change is stored, so whatever
// becomes of reading the counters, that is the answer: without them they are zero, as those of a
// new queue are.
void show_stored(CallPtr call, Queue queue, unsigned status) {
  QueueView stored{.queue = std::move(queue)};
  if (status == 201) return call->answer(write_view(stored), status);
  Broker& broker = *call->broker;
  const Ask ask = call->ask();
  const std::string name = stored.queue.settings.name;
  auto then = [call = std::move(call), stored = std::move(stored),
               status](Result<std::vector<QueueView>> now) mutable {
    if (now && !now->empty()) stored.counts = std::move(now->front().counts);
    call->answer(write_view(stored), status);
  };
  broker.queues(ask, name, std::move(then));
}

void list_all(CallPtr call, bool stats) {
  if (!call->query_is_good()) return;
  Broker& broker = *call->broker;
  const Ask ask = call->ask();
  auto then = [stats](CallPtr back, std::vector<QueueView> views) {
    std::erase_if(
        views, [&](const QueueView& view) { return !back->may_touch(view.queue.settings.name); });
    back->answer(wire::view_of("queues", views, stats));
  };
  broker.queues(ask, std::nullopt,
                answered<std::vector<QueueView>>(std::move(call), std::move(then)));
}

void store_queue(CallPtr call, QueueSettings settings, PutQueue mode, unsigned status) {
  std::vector<QueueRef> queues{settings.name};
  with_queues(std::move(call), std::move(queues),
              [settings = std::move(settings), mode, status](CallPtr back) mutable {
                Broker& broker = *back->broker;
                const Ask ask = back->ask();
                auto then = [status](CallPtr again, Queue queue) {
                  show_stored(std::move(again), std::move(queue), status);
                };
                broker.put_queue(ask, std::move(settings), mode,
                                 answered<Queue>(std::move(back), std::move(then)));
              });
}

// Changes the queue of the path in one step and shows what became of it.
template <class Change>
void change_settings(CallPtr call, Change change) {
  with_queue(std::move(call), [change = std::move(change)](CallPtr back, QueueRef queue) mutable {
    Broker& broker = *back->broker;
    const Ask ask = back->ask();
    auto then = [](CallPtr again, Queue changed) {
      show_stored(std::move(again), std::move(changed), 200);
    };
    broker.change_queue(ask, std::move(queue), std::move(change),
                        answered<Queue>(std::move(back), std::move(then)));
  });
}

// Replaces by number or UUID: the queue keeps its name.
void replace_found(CallPtr call, QueueRef queue) {
  Broker& broker = *call->broker;
  const Ask ask = call->ask();
  auto then = [](CallPtr back, const std::vector<QueueView>& views) {
    if (views.empty()) return back->refuse(Error{ErrorCode::not_found, "there is no such queue"});
    const std::string& body = back->request.body;
    auto settings =
        back->good(wire::read_queue(body.empty() ? "{}" : body, views.front().queue.settings.name));
    if (settings) store_queue(std::move(back), std::move(*settings), PutQueue::replace, 200);
  };
  broker.queues(ask, std::move(queue),
                answered<std::vector<QueueView>>(std::move(call), std::move(then)));
}

}  // namespace

void list_queues(CallPtr call) {
  list_all(std::move(call), false);
}

void all_stats(CallPtr call) {
  list_all(std::move(call), true);
}

void create_queue(CallPtr call) {
  if (!call->query_is_good()) return;
  auto settings = call->good(wire::read_queue(call->request.body, {}));
  if (settings) store_queue(std::move(call), std::move(*settings), PutQueue::create, 201);
}

void get_queue(CallPtr call) {
  with_queue(std::move(call), [](CallPtr back, QueueRef queue) {
    show_queue(std::move(back), std::move(queue), 200, write_view);
  });
}

void queue_stats(CallPtr call) {
  with_queue(std::move(call), [](CallPtr back, QueueRef queue) {
    show_queue(std::move(back), std::move(queue), 200,
               [](const QueueView& view) { return wire::stats_of(view); });
  });
}

void replace_queue(CallPtr call) {
  with_queue(std::move(call), [](CallPtr back, QueueRef queue) {
    const auto* name = std::get_if<std::string>(&queue);
    if (name == nullptr) return replace_found(std::move(back), std::move(queue));
    const std::string& body = back->request.body;
    auto settings = back->good(wire::read_queue(body.empty() ? "{}" : body, *name));
    if (settings) store_queue(std::move(back), std::move(*settings), PutQueue::replace, 200);
  });
}

void change_queue(CallPtr call) {
  if (auto wrong = wire::merged("{}", call->request.body, {}); !wrong) {
    return call->refuse(wrong.error());
  }
  std::string patch = call->request.body;
  change_settings(std::move(call),
                  [patch = std::move(patch)](QueueSettings& settings) -> Result<void> {
                    auto patched = wire::patched(settings, patch);
                    if (!patched) return std::unexpected(std::move(patched.error().error));
                    settings = std::move(*patched);
                    return {};
                  });
}

void remove_queue(CallPtr call) {
  const bool force = call->query.flag("force");
  with_queue(std::move(call), [force](CallPtr back, QueueRef queue) {
    Broker& broker = *back->broker;
    const Ask ask = back->ask();
    QueueRef removed = queue;
    auto then = [removed = std::move(removed), force](CallPtr again) mutable {
      if (!force) return again->answer(HttpResponse{.status = 204});
      // A forced removal goes on in the background as long as the queue is still there.
      Broker& asked = *again->broker;
      const Ask once_more = again->ask();
      asked.queues(once_more, std::move(removed),
                   [call = std::move(again)](Result<std::vector<QueueView>> left) {
                     const bool gone =
                         left ? left->empty() : left.error().code == ErrorCode::not_found;
                     call->answer(HttpResponse{.status = gone ? 204U : 202U,
                                               .body = gone ? "" : R"({"removing":true})"});
                   });
    };
    broker.remove_queue(ask, std::move(queue), force,
                        answered<void>(std::move(back), std::move(then)));
  });
}

void pause_queue(CallPtr call) {
  auto until = call->good(wire::read_pause(call->request.body, call->broker->now()));
  if (!until) return;
  change_settings(std::move(call), [until = *until](QueueSettings& settings) -> Result<void> {
    settings.paused_until = until;
    return {};
  });
}

void resume_queue(CallPtr call) {
  change_settings(std::move(call), [](QueueSettings& settings) -> Result<void> {
    settings.paused_until = std::nullopt;
    settings.draining = false;
    return {};
  });
}

void drain_queue(CallPtr call) {
  change_settings(std::move(call), [](QueueSettings& settings) -> Result<void> {
    settings.draining = true;
    return {};
  });
}

void clear_queue(CallPtr call) {
  with_queue(std::move(call), [](CallPtr back, QueueRef queue) {
    Broker& broker = *back->broker;
    const Ask ask = back->ask();
    broker.clear(ask, std::move(queue),
                 answered<std::uint64_t>(std::move(back), [](CallPtr again, std::uint64_t removed) {
                   again->answer(fmt::format(R"({{"removed":{}}})", removed));
                 }));
  });
}

}  // namespace millrace::api
