#include "app/api_parts.h"

#include <memory>
#include <utility>
#include <vector>

namespace millrace {

api::Archive archive_of(const std::function<LocalBroker&()>& broker,
                        std::function<void(Completion<void> done)> memos_changed) {
  return {
      .restore =
          [broker](Ask ask, std::vector<Task> tasks, Completion<std::vector<Result<Put>>> done) {
            broker().restore(ask, std::move(tasks), std::move(done));
          },
      .read =
          [broker](Ask ask, std::shared_ptr<transfer::Exporter> exporter, Completion<bool> done) {
            broker().with_store<bool>(
                ask,
                [exporter = std::move(exporter)](Store& store, TimePoint now) {
                  return exporter->read(store, now);
                },
                std::move(done));
          },
      .memos_changed = std::move(memos_changed)};
}

api::Eyes eyes_of(const std::function<LocalBroker&()>& broker) {
  return {
      .observe = [broker](Ask ask,
                          Completion<Observed> done) { broker().observe(ask, std::move(done)); },
      .manager = [broker] { return broker().manager_view(); },
      .types =
          [broker](Ask ask, HistoryRequest request, Completion<TypesPast> done) {
            broker().types(ask, std::move(request), std::move(done));
          },
      .history =
          [broker](Ask ask, HistoryRequest request, Completion<History> done) {
            broker().history(ask, std::move(request), std::move(done));
          },
      .events = [broker]() -> EventRing& { return broker().events(); },
      .standing = [broker] { return broker().standing(); }};
}

}  // namespace millrace
