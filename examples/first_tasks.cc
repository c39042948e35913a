// A first look at Millrace: put tasks of several priorities into an in-memory store, work them with
// failures, retries and a delay, and watch what happens - in virtual time, so an hour takes no
// time.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/decide.h"
#include "core/retry.h"
#include "core/transition.h"
#include "core/uuid.h"
#include "store/embedded/memory.h"
#include "store/store.h"

namespace {

using namespace millrace;
using namespace std::chrono_literals;

const TimePoint start = std::chrono::sys_days(std::chrono::year(2026) / 1 / 5) + 9h;

template <class T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "first_tasks: {}\n", result.error().message);
  std::exit(1);
}

// The whole machinery around a store: a clock that only moves when told to, and one worker.
class Tour {
 public:
  Tour() : store_(open_memory()) {
    // Three retries: after 10 s, 20 s and 40 s.
    QueueSettings emails{.name = "emails", .id = ids_.next(now_)};
    emails.retry = {.base = 10s, .jitter = Jitter::none};
    must(store_->put_queue(emails, PutQueue::create, now_));
  }

  void put(std::string type, std::uint8_t priority, Duration delay = 0s) {
    const NewTask task{.id = {ids_.next(now_)},
                       .queue = "emails",
                       .type = type,
                       .payload = R"({"to":"someone@example.com"})",
                       .priority = priority,
                       .delay = delay};
    const Put put = must(must(store_->put({&task, 1}, now_)).front());
    say("put", fmt::format("{:<16} priority {}, {}", type, priority, name_of(*put.state)));
  }

  // Works whatever is due, then lets time pass to the next moment at which something is.
  void run() {
    while (true) {
      must(store_->advance(now_, 1000));
      while (work_one()) {
      }
      const auto next = must(store_->advance(now_, 1000)).next;
      if (!next || *next > start + 1h) return;
      now_ = *next;
    }
  }

  void sum_up() {
    fmt::print("\nAfter {} of virtual time:\n\n", passed());
    fmt::print("  {:<16} {:<10} {:>6} {:>8}   last error\n", "task", "state", "leases", "retries");
    auto page = must(store_->list({.queue = "emails"}));
    for (auto task = page.tasks.rbegin(); task != page.tasks.rend(); ++task) {
      fmt::print("  {:<16} {:<10} {:>6} {:>8}   {}\n", task->type, name_of(task->state),
                 task->counters.deliveries, task->counters.retries,
                 task->error ? task->error->message : "-");
    }
  }

 private:
  bool work_one() {
    const TakeRequest request{.worker = "tour", .queues = {{"emails", 1}}};
    const auto leases = must(must(store_->work({}, {}, {&request, 1}, now_)).taken.front());
    if (leases.empty()) return false;
    const Lease& lease = leases.front();
    const auto queue = must(store_->queues(lease.queue)).front();
    const Settlement settlement =
        decide(lease, handle(lease), queue.settings, RetryPolicy{}, now_, 0.5);
    must(must(store_->work({&settlement, 1}, {}, {}, now_)).settled.front());
    account(lease, settlement);
    return true;
  }

  // Sending mail: the newsletter's address does not exist, and the invoice works the third time.
  static Outcome handle(const Lease& lease) {
    if (lease.type == "newsletter") return Failed{{.message = "mailbox is full"}};
    if (lease.type == "to-no-one") {
      return Failed{{.code = "invalid_request", .message = "no such address"}, false};
    }
    if (lease.type == "invoice" && lease.counters.retries < 2) {
      return Failed{{.message = "server does not answer"}};
    }
    return Done{R"({"sent":true})"};
  }

  void account(const Lease& lease, const Settlement& settlement) {
    std::string what = fmt::format("{:<16} lease {}", lease.type, lease.counters.deliveries);
    if (settlement.error) what += fmt::format(", {}", settlement.error->message);
    if (settlement.event == Event::retry) {
      what += fmt::format("; again in {} s", (settlement.ready - now_) / 1s);
    }
    say(name_of(settlement.event), what);
  }

  std::string passed() const {
    const auto seconds = (now_ - start) / 1s;
    return fmt::format("{:02}:{:02}", seconds / 60, seconds % 60);
  }
  void say(std::string_view verb, std::string_view what) const {
    fmt::print("  {}  {:<8} {}\n", passed(), verb, what);
  }

  TimePoint now_ = start;
  UuidSource ids_{2026};
  std::unique_ptr<Store> store_;
};

}  // namespace

int main() {
  fmt::print("Six tasks, one worker, a store in memory, virtual time (minutes:seconds):\n\n");
  Tour tour;
  tour.put("newsletter", 2);
  tour.put("welcome", 5);
  tour.put("invoice", 5);
  tour.put("password-reset", 9);
  tour.put("reminder", 5, 30s);
  tour.put("to-no-one", 5);
  fmt::print("\n");
  tour.run();
  tour.sum_up();
  fmt::print(
      "\nHigher priorities went first, failures waited 10, 20, 40 s, `newsletter` used up its\n"
      "three retries and is a dead letter, `to-no-one` could not succeed and failed at once.\n");
  return 0;
}
