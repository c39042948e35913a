// Queues and memos of LocalBroker.
#include <fmt/format.h>

#include <string>
#include <unordered_map>
#include <utility>

#include "broker/compare_and_set.h"
#include "broker/local_broker.h"
#include "broker/local_parts.h"
#include "core/quote.h"
#include "core/validate.h"
#include "store/store.h"

namespace millrace {
namespace {

// History and other keys that begin with $; and API keys, which are older than this rule.
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
          view.stats = books_.metrics.of(name, now);
          view.queue = std::move(each);
        }
        return views;
      },
      std::move(done));
}

void LocalBroker::put_queue(Ask ask, QueueSettings settings, PutQueue mode,
                            Completion<Queue> done) {
  if (auto good = validate_name({"queue name", "name"}, settings.name, ask.internal); !good) {
    return done(std::unexpected(std::move(good.error())));
  }
  if (auto good = validate(settings); !good) {
    return done(std::unexpected(std::move(good.error())));
  }
  call<Queue>(
      ask,
      [this, mode, settings = std::move(settings)](Store& store, TimePoint now) -> Result<Queue> {
        return compare_and_set<Queue>(
            fmt::format("queue {}", settings.name),
            [&] { return none_if_unknown(store.queues(settings.name)); },
            [&](const Queue* old) { return store_queue(store, settings, mode, old, now); });
      },
      std::move(done));
}

Result<Queue> LocalBroker::store_queue(Store& store, QueueSettings settings, PutQueue mode,
                                       const Queue* old, TimePoint now) {
  const auto there_is_one = [&] {
    return fail(ErrorCode::conflict,
                fmt::format("there is a queue {} already", text_of(settings.name)));
  };
  if (old != nullptr && !mode.replaces) return there_is_one();
  if (old == nullptr) {
    if (auto good = check_new_queue_name({"queue name", "name"}, settings.name); !good) {
      return std::unexpected(std::move(good.error()));
    }
    if (!is_internal(settings.name)) {
      if (auto good = books_.check_room_for_queue(); !good) {
        return std::unexpected(std::move(good.error()));
      }
    }
    if (settings.id.is_nil()) settings.id = books_.ids.next(now);
  }
  auto stored =
      store.put_queue(settings, old != nullptr ? PutQueue::changed(*old) : PutQueue::create, now);
  if (!stored) return stored;
  // Another server has created it since this one looked.
  if (old == nullptr && stored->settings != settings) return there_is_one();
  note_queue(*stored, old != nullptr ? "changed" : "created");
  return stored;
}

void LocalBroker::note_queue(const Queue& stored, std::string_view what) {
  const std::string& name = stored.settings.name;
  books_.queues.set(stored);
  books_.log()(LogLevel::info, fmt::format("queue {} {}", name, what), {{"queue", name}});
}

void LocalBroker::change_queue(Ask ask, QueueRef queue, QueueChange change,
                               Completion<Queue> done) {
  call<Queue>(
      ask,
      [this, queue = std::move(queue), change = std::move(change)](
          Store& store, TimePoint now) mutable -> Result<Queue> {
        return compare_and_set<Queue>(
            fmt::format("queue {}", text_of(queue)), [&] { return store.queues(queue); },
            [&](const Queue* old) { return store_change(store, *old, change, now); });
      },
      std::move(done));
}

Result<Queue> LocalBroker::store_change(Store& store, const Queue& old, QueueChange& change,
                                        TimePoint now) {
  QueueSettings settings = old.settings;
  if (auto good = change(settings); !good) return std::unexpected(std::move(good.error()));
  if (settings.name != old.settings.name || settings.id != old.settings.id) {
    return fail(ErrorCode::invalid,
                fmt::format("queue {} cannot get another name or id; create a new queue",
                            old.settings.name),
                settings.name != old.settings.name ? "name" : "id");
  }
  if (settings == old.settings) return old;
  auto stored = store.put_queue(settings, PutQueue::changed(old), now);
  if (stored) note_queue(*stored, "changed");
  return stored;
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
                      fmt::format("queue {} is internal and cannot be removed", name), "queue");
        }
        if (auto good = store.remove_queue(queue, force, now); !good) return good;
        const auto left = books_.queues.look_up(store, name);  // forgets it if it is gone
        if (!left && left.error().code == ErrorCode::unavailable) {
          return std::unexpected(left.error());
        }
        if (!left) books_.metrics.forget(name);
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
                     fmt::format("memo {} is reserved for Millrace itself", in_quotes(request.key)),
                     "key"));
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
