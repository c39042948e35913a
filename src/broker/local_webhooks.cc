// What LocalBroker does with webhooks at somebody's wish.
#include <utility>

#include "broker/local_broker.h"
#include "broker/queue_book.h"

namespace millrace {

// What is sent is what is stored now: whoever receives it twice gets the same.
void LocalBroker::redeliver(Ask ask, TaskId task, Completion<Put> done) {
  call<Put>(
      ask,
      [this, task](Store& store, TimePoint now) -> Result<Put> {
        const auto found = store.find(task);
        if (!found) return std::unexpected(found.error());
        const auto webhook = books_.notices.again(*found, now);
        if (!webhook) return std::unexpected(webhook.error());
        auto puts = store.put({&*webhook, 1}, now);
        if (!puts) return std::unexpected(std::move(puts.error()));
        if (puts->front()) {
          Figures::Writing(books_.figures).of(std::string(webhooks_queue)).put(1, now);
        }
        return std::move(puts->front());
      },
      std::move(done));
}

}  // namespace millrace
