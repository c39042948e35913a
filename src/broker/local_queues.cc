// Queues and memos of LocalBroker.
#include <fmt/format.h>

#include <string>
#include <unordered_map>
#include <utility>

#include "broker/local_broker.h"
#include "broker/local_parts.h"
#include "core/quote.h"
#include "core/validate.h"

namespace millrace {
namespace {

// History and whatever else begins so; API keys, which are older than this rule.
bool is_own_memo(std::string_view key) {
  return is_internal(key) || key.starts_with("key/");
}

}  // namespace

void LocalBroker::queues(Ask ask, std::optional<QueueRef> queue,
                         Completion<std::vector<QueueView>> done) {
  read<std::vector<QueueView>>(
      ask,
      [this, queue = std::move(queue)](Reader& reader,
                                       TimePoint now) -> Result<std::vector<QueueView>> {
        auto found = reader.queues(queue);
        if (!found) return std::unexpected(std::move(found.error()));
        auto counts = reader.counts(queue, now);
        if (!counts) return std::unexpected(std::move(counts.error()));
        std::unordered_map<std::string, QueueCounts> by_name;
        for (QueueCounts& each : *counts) by_name.emplace(each.queue, std::move(each));
        std::vector<QueueView> views;
        for (Queue& each : *found) {
          const std::string& name = each.settings.name;
          if (!queue && is_internal(name)) continue;
          QueueView& view = views.emplace_back();
          view.counts = std::move(by_name[name]);
          view.figures = books_.figures.of(name, now);
          view.queue = std::move(each);
        }
        return views;
      },
      std::move(done));
}

void LocalBroker::put_queue(Ask ask, QueueSettings settings, PutQueue mode,
                            Completion<Queue> done) {
  if (auto good = validate_name("queue name", settings.name, ask.internal); !good) {
    return done(std::unexpected(std::move(good.error())));
  }
  if (auto good = validate(settings); !good) {
    return done(std::unexpected(std::move(good.error())));
  }
  call<Queue>(
      ask,
      [this, mode, settings = std::move(settings)](Store& store,
                                                   TimePoint now) mutable -> Result<Queue> {
        const auto old = store.queues(settings.name);
        if (!old && old.error().code != ErrorCode::not_found) return std::unexpected(old.error());
        if (!old) {
          if (auto good = check_new_queue_name(settings.name); !good) {
            return std::unexpected(std::move(good.error()));
          }
        }
        if (old && mode == PutQueue::create) {
          return fail(ErrorCode::conflict,
                      fmt::format("there is a queue {} already", text_of(settings.name)));
        }
        if (!old && settings.id.is_nil()) settings.id = books_.ids.next(now);
        auto stored = store.put_queue(settings, mode, now);
        if (!stored) return stored;
        books_.queues.set(*stored);
        books_.log()(LogLevel::info,
                     fmt::format("queue {} {}", settings.name, old ? "changed" : "created"),
                     {{"queue", settings.name}});
        return stored;
      },
      std::move(done));
}

void LocalBroker::change_queue(Ask ask, QueueRef queue, QueueChange change,
                               Completion<Queue> done) {
  call<Queue>(
      ask,
      [this, queue = std::move(queue), change = std::move(change)](
          Store& store, TimePoint now) mutable -> Result<Queue> {
        auto old = store.queues(queue);
        if (!old) return std::unexpected(std::move(old.error()));
        const QueueSettings before = old->front().settings;
        QueueSettings settings = before;
        if (auto good = change(settings); !good) return std::unexpected(std::move(good.error()));
        if (settings.name != before.name || settings.id != before.id) {
          return fail(ErrorCode::invalid,
                      fmt::format("queue {} cannot get another name or id; create a new queue",
                                  before.name));
        }
        if (settings == before) return std::move(old->front());
        auto stored = store.put_queue(settings, PutQueue::replace, now);
        if (!stored) return stored;
        books_.queues.set(*stored);
        books_.log()(LogLevel::info, fmt::format("queue {} changed", settings.name),
                     {{"queue", settings.name}});
        return stored;
      },
      std::move(done));
}

void LocalBroker::remove_queue(Ask ask, QueueRef queue, bool force, Completion<void> done) {
  call<void>(
      ask,
      [this, queue = std::move(queue), force](Store& store, TimePoint now) -> Result<void> {
        const auto found = store.queues(queue);
        if (!found) return std::unexpected(found.error());
        const std::string name = found->front().settings.name;
        if (is_internal(name)) {
          return fail(ErrorCode::invalid,
                      fmt::format("queue {} is internal and cannot be removed", name));
        }
        if (auto good = store.remove_queue(queue, force, now); !good) return good;
        const auto left = books_.queues.look_up(store, name);  // forgets it if it is gone
        if (!left && left.error().code == ErrorCode::unavailable) {
          return std::unexpected(left.error());
        }
        if (!left) books_.figures.forget(name);
        books_.log()(LogLevel::info,
                     fmt::format("queue {} {}", name, left ? "is being removed" : "removed"),
                     {{"queue", name}});
        return {};
      },
      [this, done = std::move(done)](Result<void> result) mutable {
        if (result) runner_.wake_at(sweeper_, TimePoint::min());
        done(std::move(result));
      });
}

void LocalBroker::remember(Ask ask, Remember request, Completion<Memo> done) {
  if (!ask.internal && is_own_memo(request.key)) {
    return done(fail(ErrorCode::invalid,
                     fmt::format("memo {} is one of Millrace's own, which nobody else writes",
                                 in_quotes(request.key))));
  }
  const std::size_t bytes = request.value ? request.value->size() : 0;
  call<Memo>(
      ask,
      [request = std::move(request)](Store& store, TimePoint now) {
        return store.remember(request, now);
      },
      std::move(done), bytes);
}

void LocalBroker::recall(Ask ask, Recall request, Completion<std::vector<Memo>> done) {
  read<std::vector<Memo>>(
      ask,
      [request = std::move(request)](Reader& reader, TimePoint now) {
        return reader.recall(request, now);
      },
      std::move(done));
}

}  // namespace millrace
