// Random requests, departures, moments and failures, and what must hold whatever happens:
//
//   - every request is answered exactly once, unless its caller left;
//   - nothing is answered before a flush that began after it was applied;
//   - requests of one caller are applied in their order;
//   - no caller is passed twice by the same other caller while it is its turn;
//   - what waits, what is parked and what a round holds stays within its bounds;
//   - every lease is answered to a caller that is there, or given back.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "store/store.h"
#include "tests/support/rounds_driver.h"

namespace millrace {
namespace {

using namespace millrace::test;

// Notes what was applied when, and which leases are open. Each item has a name: the task's id for
// puts and settlements, the worker for takes.
class WatchedStore : public RecordingStore {
 public:
  std::uint64_t calls_made = 0;  // the moment of this store
  std::uint64_t durable = 0;     // calls up to here are flushed
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> applied;  // name: first, last
  std::set<std::uint64_t> open_leases;                                     // tokens
  std::optional<std::uint64_t> fail_at;

  void touch(const std::string& name) {
    applied.try_emplace(name, calls_made, calls_made).first->second.second = calls_made;
  }

  Result<std::vector<Result<Put>>> put(std::span<const NewTask> tasks, TimePoint now) override {
    if (!next_call()) return std::unexpected(*failure);
    for (const NewTask& task : tasks) touch(task.request_id);
    return RecordingStore::put(tasks, now);
  }
  Result<WorkResult> work(std::span<const Settlement> settlements,
                          std::span<const Extension> extensions, std::span<const TakeRequest> takes,
                          TimePoint now) override {
    if (!next_call()) return std::unexpected(*failure);
    for (const Settlement& settlement : settlements) {
      touch(settlement.result);
      open_leases.erase(std::get<Held>(settlement.expect).token.value);
    }
    ++calls_made;  // takes come after settlements
    for (const TakeRequest& take : takes) touch(take.worker);
    auto result = RecordingStore::work(settlements, extensions, takes, now);
    for (const auto& taken : result->taken) {
      for (const Lease& lease : *taken) open_leases.insert(lease.token.value);
    }
    return result;
  }

  bool next_call() {
    ++calls_made;
    if (fail_at && calls_made >= *fail_at) failure = Error{ErrorCode::unavailable, "broken"};
    return !failure;
  }
};

class RandomRun {
 public:
  explicit RandomRun(std::uint64_t seed) : dice_(seed) {
    if (one_in(4)) store_.fail_at = 20 + below(300);
    options_ = {.items = 1 + below(12),
                .bytes = 2000 + below(20'000),
                .waiting = {.requests = 5 + below(30), .caller_requests = 3 + below(10)},
                .parked = 1 + below(8)};
    store_.pretended.batch = 1 + below(6);
    rounds_ = std::make_unique<Rounds>(store_, options_);
    StoreDriver(store_).make_queue(queue("q"));
    StoreDriver(store_).make_queue(queue("r", {.max_concurrent = 2}));
    StoreDriver(store_).make_queue(queue("s", {.process_rate = Rate{3, 1s}}));
  }

  void steps(int count) {
    for (int i = 0; i < count && !::testing::Test::HasFailure(); ++i) {
      step();
      check_bounds();
    }
    finish();
  }

 private:
  struct Asked {
    Ticket ticket = {};
    bool gone = false;
    bool on_its_way = false;  // left while answers were being delivered, perhaps its own
    int answers = 0;
  };

  std::uint64_t below(std::uint64_t n) { return dice_() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  std::string any_queue() { return std::array{"q", "r", "s"}[below(3)]; }

  void step() {
    switch (below(16)) {
      case 0:
      case 1:
      case 2:
        return ask_put();
      case 3:
      case 4:
      case 5:
        return ask_take();
      case 6:
      case 7:
        return ask_settle();
      case 8:
        return ask_find();
      case 9:
        if (one_in(3)) leave(1 + below(6));
        return;
      case 10:
        if (one_in(2)) cancel();
        return;
      case 11:
        now_ += Duration(below(400));
        if (one_in(10)) now_ -= 1s;
        return;
      case 12:
      case 13:
        return apply();
      case 14:
        flushing_ = flushing_ ? flushing_ : std::optional(begin_flush());
        return;
      case 15:
        if (flushing_) end_flush();
        if (one_in(60)) deliver(rounds_->stop());
        return;
    }
  }

  // ---- Asking ----------------------------------------------------------------------------------

  template <class T>
  Completion<T> completion(const std::string& name) {
    return [this, name](Result<T> result) { answered(name, std::move(result)); };
  }

  template <class T>
  void answered(const std::string& name, Result<T> result) {
    Asked& asked = asked_.at(name);
    ++asked.answers;
    // A request that has begun is answered even if its caller has left; takes are given back
    // instead.
    const bool begun =
        store_.applied.contains(name) || (!result && result.error().code == ErrorCode::unavailable);
    EXPECT_TRUE(!asked.gone || asked.on_its_way || begun)
        << name << " was answered after its caller had left";
    waits_no_more(asked.ticket);
    if (result || result.error().code != ErrorCode::unavailable) {
      if (const auto at = store_.applied.find(name); at != store_.applied.end()) {
        EXPECT_LE(at->second.second, store_.durable) << name << " was answered before its flush";
      } else {
        EXPECT_FALSE(result) << name << " succeeded without being applied";
      }
    }
    if constexpr (std::is_same_v<T, WorkResult>) {
      if (result) keep_leases(asked.ticket.caller, *result);
    }
    if (one_in(8)) ask_put();
    if (one_in(20)) leave(1 + below(6));
  }

  void keep_leases(CallerId caller, const WorkResult& result) {
    for (const auto& taken : result.taken) {
      for (const Lease& lease : *taken) {
        EXPECT_TRUE(store_.open_leases.erase(lease.token.value)) << "a lease answered twice";
        leases_.emplace_back(caller, lease);
      }
    }
  }

  void submit(const std::string& name, Request request) {
    const CallerId caller = request.caller;
    const TimePoint deadline = request.deadline;
    asked_[name].ticket.caller = caller;
    Answers refused;
    const Ticket ticket = rounds_->submit(std::move(request), now_, refused);
    Asked& asked = asked_.at(name);
    asked.ticket = ticket;
    if (ticket.number != 0) {
      order_[caller.value].push_back(name);
      lines_[caller.value].emplace(ticket.number, deadline);
    } else {
      asked.ticket.caller = caller;
    }
    deliver(std::move(refused));
  }

  std::string next_name() { return "request-" + std::to_string(++names_); }
  CallerId any_caller() { return {1 + below(6)}; }
  TimePoint any_deadline() { return one_in(3) ? now_ + Duration(below(1000)) : never; }

  void ask_put() {
    const std::string name = next_name();
    std::vector<NewTask> tasks;
    for (std::uint64_t i = 1 + below(4); i > 0; --i) {
      tasks.push_back(
          task(any_queue(), {.payload = std::string(below(500), 'x'), .request_id = name}));
    }
    submit(name, put_request(any_caller(), std::move(tasks), any_deadline(),
                             completion<std::vector<Result<Put>>>(name)));
  }

  void ask_take() {
    const std::string name = next_name();
    Work work{.takes = {{.worker = name, .queues = {{any_queue(), 1}}}}};
    while (one_in(3)) {
      work.takes.front().queues.push_back({any_queue(), static_cast<std::uint32_t>(1 + below(3))});
    }
    if (!one_in(3)) work.wait_until = now_ + Duration(below(3000));
    submit(name, work_request(any_caller(), std::move(work), any_deadline(),
                              completion<WorkResult>(name)));
  }

  void ask_settle() {
    if (leases_.empty()) return;
    const std::string name = next_name();
    const auto at = leases_.begin() + static_cast<std::ptrdiff_t>(below(leases_.size()));
    const auto [caller, lease] = *at;
    leases_.erase(at);
    Settlement end = one_in(2) ? done(lease) : given_back(lease);
    end.result = name;
    submit(name, work_request(caller, {.settlements = {end}}, any_deadline(),
                              completion<WorkResult>(name)));
  }

  void ask_find() {
    const std::string name = next_name();
    const auto find = [this, name](Store& store, TimePoint) {
      store_.next_call();
      store_.touch(name);
      return find_task(store, fresh_id());
    };
    submit(name, call_request<Task>(any_caller(), find, any_deadline(), completion<Task>(name)));
  }

  void set_gone(Asked& asked) {
    if (std::exchange(asked.gone, true)) return;
    asked.on_its_way = delivering_ != 0;
  }

  void leave(std::uint64_t caller) {
    for (auto& [name, asked] : asked_) {
      if (asked.ticket.caller.value == caller && asked.answers == 0) set_gone(asked);
    }
    lines_[caller].clear();
    passed_[caller].clear();
    deliver(rounds_->leave({caller}));
  }

  void cancel() {
    if (asked_.empty()) return;
    auto at = asked_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(below(asked_.size())));
    Asked& asked = at->second;
    if (asked.answers != 0 || asked.ticket.number == 0) return;
    set_gone(asked);
    waits_no_more(asked.ticket);
    deliver(rounds_->cancel(asked.ticket));
  }

  // ---- Running ---------------------------------------------------------------------------------

  void apply() {
    Round round;
    forget_expired();
    deliver(rounds_->expire(now_));
    deliver(rounds_->gather(now_, round));
    check_turns(round);
    if (one_in(6)) leave(1 + below(6));
    rounds_->run(round);
    if (one_in(6)) leave(1 + below(6));
    if (one_in(6)) cancel();
    if (one_in(3)) ask_put();
    deliver(rounds_->keep(round));
  }

  void deliver(Answers answers) {
    ++delivering_;
    answers.deliver();
    --delivering_;
  }

  struct Flush {
    std::uint64_t round = 0;
    std::uint64_t calls = 0;
  };
  Flush begin_flush() { return {rounds_->applied(), store_.calls_made}; }
  void end_flush() {
    const Flush flush = *std::exchange(flushing_, std::nullopt);
    const auto result = store_.flush();
    if (result) store_.durable = flush.calls;
    deliver(rounds_->flushed(flush.round, result));
  }

  // ---- What must hold --------------------------------------------------------------------------

  void waits_no_more(Ticket ticket) {
    auto& line = lines_[ticket.caller.value];
    line.erase(ticket.number);
    if (line.empty()) passed_[ticket.caller.value].clear();
  }

  // Before their answers: completions that ask again go to the end of the line.
  void forget_expired() {
    for (auto& [caller, line] : lines_) {
      std::erase_if(line, [&](const auto& waiting) { return waiting.second <= now_; });
      if (line.empty()) passed_[caller].clear();
    }
  }

  void check_turns(const Round& round) {
    std::size_t items = 0;
    std::size_t bytes = 0;
    std::set<std::uint64_t> served;
    for (const Request* request : round.requests) {
      items += request->items;
      bytes += request->bytes;
      const std::uint64_t caller = request->caller.value;
      for (const auto& [other, line] : lines_) {
        if (other == caller || line.empty() || served.contains(other)) continue;
        EXPECT_LE(++passed_[other][caller], 1) << other << " was passed twice by " << caller;
      }
      passed_[caller].clear();
      served.insert(caller);
      waits_no_more(request->ticket());
    }
    if (round.requests.size() > 1) {
      EXPECT_LE(items, options_.items);
      EXPECT_LE(bytes, options_.bytes);
    }
  }

  void check_bounds() {
    const RoundsStats stats = rounds_->stats();
    EXPECT_LE(stats.waiting, options_.waiting.requests);
    EXPECT_LE(stats.waiting_bytes, options_.waiting.bytes);
    EXPECT_LE(stats.parked, options_.parked);
    for (const auto& [caller, line] : lines_) {
      EXPECT_LE(line.size(), options_.waiting.caller_requests);
    }
  }

  void finish() {
    if (one_in(2)) deliver(rounds_->stop());
    for (int i = 0; i < 1000 && !rounds_->idle(); ++i) {
      now_ += 100ms;
      apply();
      flushing_ = begin_flush();
      end_flush();
    }
    EXPECT_TRUE(rounds_->idle());
    for (const auto& [name, asked] : asked_) {
      EXPECT_LE(asked.answers, 1) << name;
      EXPECT_GE(asked.answers, asked.gone ? 0 : 1) << name;
    }
    for (const auto& [caller, names] : order_) check_order(names);
    EXPECT_TRUE(store_.failure || store_.open_leases.empty()) << "a lease has no holder";
  }

  void check_order(const std::vector<std::string>& names) {
    std::uint64_t last = 0;
    for (const std::string& name : names) {
      const auto at = store_.applied.find(name);
      if (at == store_.applied.end()) continue;
      EXPECT_GE(at->second.first, last) << name << " was applied before the one before it";
      last = at->second.first;
    }
  }

  std::mt19937_64 dice_;
  WatchedStore store_;
  RoundsOptions options_;
  std::unique_ptr<Rounds> rounds_;
  TimePoint now_ = t0;
  std::optional<Flush> flushing_;
  std::map<std::string, Asked> asked_;
  std::map<std::uint64_t, std::vector<std::string>> order_;  // by caller
  std::map<std::uint64_t, std::map<std::uint64_t, TimePoint>>
      lines_;  // by caller: what waits, until when
  std::map<std::uint64_t, std::map<std::uint64_t, int>> passed_;  // since it was its turn
  std::vector<std::pair<CallerId, Lease>> leases_;                // answered and not settled
  std::uint64_t names_ = 0;
  int delivering_ = 0;
};

TEST(RoundsProperty, whatever_happens_the_promises_hold) {
  const char* seeds = std::getenv("MILLRACE_SEEDS");
  const std::uint64_t runs = seeds != nullptr ? std::strtoull(seeds, nullptr, 10) : 1000;
  for (std::uint64_t seed = 1; seed <= runs && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomRun(seed).steps(400);
  }
}

}  // namespace
}  // namespace millrace
