// What LocalBroker does with webhooks on request.
#include <utility>

#include "broker/local_broker.h"
#include "broker/local_parts.h"
#include "broker/queue_book.h"
#include "broker/recorder.h"
#include "broker/seen.h"
#include "store/store.h"

namespace millrace {

// Sends what is stored now, so a receiver that gets the webhook twice gets the same content.
void LocalBroker::redeliver(Ask ask, TaskId task, Completion<Put> done) {
  const auto pending = std::make_shared<PendingRecords>();
  call_with_tasks<Put>(
      ask, {task},
      [this, ask, task, pending](Store& store, const FoundTasks& tasks,
                                 TimePoint now) -> Result<Put> {
        const Result<Task> found = seen_by(ask, task, tasks.front());
        if (!found) return std::unexpected(found.error());
        const auto webhook = books_.deliveries.again(*found, now);
        if (!webhook) return std::unexpected(webhook.error());
        auto puts = store.put({&*webhook, 1}, now);
        if (!puts) return std::unexpected(std::move(puts.error()));
        if (puts->front()) pending->put({{*webhook}, books_.queues, now}, now);
        return std::move(puts->front());
      },
      [this, pending, done = std::move(done)](Result<Put> put) mutable {
        if (put) pending->record(books_);
        done(std::move(put));
      },
      Parts{});
}

}  // namespace millrace
