// Several stores on one PostgreSQL that get into each other's way, and one session that holds an
// old snapshot: limits hold, keys are held once, counters count, nothing is refused for no reason.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/uuid.h"
#include "postgres/connection.h"
#include "store/postgres/postgres.h"
#include "store/store.h"
#include "tests/e2e/fault_cluster.h"
#include "tests/random/dice.h"
#include "tests/support/driver.h"

namespace millrace::test {
namespace {

constexpr std::uint32_t most_at_once = 5;
constexpr Rate rate{.max = 40, .per = 500ms};
const std::vector<std::string> queues = {"limited", "rated", "free"};

// What all threads know. A thing is noted as certain after its answer and as doubtful before the
// request that may end it, so what is in here is true at any moment.
class Certain {
 public:
  void wrong(const std::string& what) {
    const std::scoped_lock lock(mutex_);
    if (complaints_.size() < 2000) complaints_ += what + "\n";
  }
  std::string complaints() {
    const std::scoped_lock lock(mutex_);
    return complaints_;
  }

  void put(const NewTask& task, const std::string& queue, const Put& answer) {
    const std::scoped_lock lock(mutex_);
    if (answer.existing) return;
    ids_.push_back(task.id);
    // Others may have worked it before its putter heard of it.
    if (!task.unique || freed_.contains(task.id)) return;
    const auto key = std::pair(queue, task.unique->key);
    const auto [at, fresh] = holders_.emplace(key, task.id);
    if (!fresh) complaints_ += fmt::format("{} in {} is held by two\n", key.second, queue);
    keys_[task.id] = key;
  }
  // Before anything that may free its key.
  void may_free(const TaskId& id) {
    const std::scoped_lock lock(mutex_);
    freed_.insert(id);
    const auto its = keys_.find(id);
    if (its == keys_.end()) return;
    holders_.erase(its->second);
    keys_.erase(its);
  }
  void taken(const std::vector<Lease>& leases, TimePoint now) {
    const std::scoped_lock lock(mutex_);
    for (const Lease& lease : leases) {
      ++leases_;
      if (!tokens_.insert(lease.token).second) complaints_ += "a token was given out twice\n";
      if (!held_.insert(lease.id).second) complaints_ += "a task is held by two\n";
      if (lease.queue == "limited" && ++limited_ > most_at_once) {
        complaints_ += fmt::format("{} run at once\n", limited_);
      }
      if (lease.queue == "rated") starts_.push_back({lease.started_at, now});
    }
  }
  // Before the settlement is sent.
  void settling(const Lease& lease) {
    const std::scoped_lock lock(mutex_);
    held_.erase(lease.id);
    if (lease.queue == "limited") --limited_;
  }
  std::vector<TaskId> some(Dice& dice, std::uint32_t most) {
    const std::scoped_lock lock(mutex_);
    std::set<TaskId> chosen;
    // The newest: those still wait, and the others are after them as well.
    const std::size_t recent = std::min<std::size_t>(ids_.size(), 60);
    for (std::uint32_t i = 0; recent != 0 && i < most; ++i) {
      chosen.insert(ids_[ids_.size() - 1 - dice.below(static_cast<std::uint32_t>(recent))]);
    }
    std::vector<TaskId> ids(chosen.begin(), chosen.end());
    if (dice.percent(50)) std::ranges::reverse(ids);
    return ids;
  }
  // Each was taken at an unknown moment between the one that its taker named and the answer.
  void check_rate() {
    std::ranges::sort(starts_);
    for (std::size_t i = 0; i + rate.max < starts_.size(); ++i) {
      std::vector<TimePoint> answers;
      for (std::size_t j = i; j < starts_.size(); ++j) answers.push_back(starts_[j].second);
      std::ranges::nth_element(answers, answers.begin() + rate.max);
      const Duration within = answers[rate.max] - starts_[i].first;
      if (within >= rate.per) continue;
      complaints_ += fmt::format("{} started within {} ms\n", rate.max + 1, within.count());
    }
  }
  std::size_t puts() const { return ids_.size(); }
  std::size_t leases() const { return leases_; }
  std::size_t rated() const { return starts_.size(); }

 private:
  std::mutex mutex_;
  std::string complaints_;
  std::vector<TaskId> ids_;
  std::map<std::pair<std::string, std::string>, TaskId> holders_;
  std::map<TaskId, std::pair<std::string, std::string>> keys_;
  std::set<TaskId> freed_;
  std::set<TaskId> held_;
  std::set<Token> tokens_;
  std::vector<std::pair<TimePoint, TimePoint>> starts_;  // asked, answered
  std::uint32_t limited_ = 0;
  std::size_t leases_ = 0;
};

class Worker {
 public:
  Worker(std::unique_ptr<Store> store, Certain& certain, std::uint64_t seed)
      : store_(std::move(store)), certain_(certain), dice_(seed), ids_(seed) {}

  void run(const std::atomic<bool>& stop) {
    while (!stop) {
      const auto roll = dice_.below(100);
      if (roll < 30) {
        put();
      } else if (roll < 75) {
        work();
      } else if (roll < 83) {
        cancel();
      } else if (roll < 91) {
        move();
      } else if (roll < 95) {
        note("retry", store_->retry(certain_.some(dice_, 6), clock_.now()));
      } else if (roll < 97) {
        remove();
      } else {
        note("advance", store_->advance(clock_.now(), 100));
      }
      if (dice_.percent(10)) note("flush", store_->flush());
    }
    while (!held_.empty()) work();
  }

 private:
  // Whatever is refused is refused for a reason.
  void note_error(const char* verb, const Error& error, bool whole) {
    using enum ErrorCode;
    const bool expected = error.code == conflict || error.code == limited ||
                          error.code == not_found || error.code == lease_lost;
    if (whole || !expected) certain_.wrong(fmt::format("{}: {}", verb, error.message));
  }
  template <class T>
  bool note(const char* verb, const Result<T>& answer) {
    if (!answer) note_error(verb, answer.error(), true);
    return answer.has_value();
  }
  template <class T>
  bool note(const char* verb, const Result<std::vector<Result<T>>>& answer) {
    if (!answer) note_error(verb, answer.error(), true);
    if (!answer) return false;
    for (const auto& each : *answer) {
      if (!each) note_error(verb, each.error(), false);
    }
    return true;
  }

  void put() {
    std::vector<NewTask> tasks;
    std::vector<std::string> names;
    const auto count = dice_.between(1U, 5U);
    for (std::uint32_t i = 0; i < count; ++i) {
      names.push_back(dice_.pick(queues));
      NewTask& task = tasks.emplace_back(
          NewTask{.id = {ids_.next(clock_.now())}, .queue = names.back(), .payload = "{}"});
      task.priority = static_cast<std::uint8_t>(dice_.below(10));
      if (dice_.percent(50)) task.unique = UniqueKey{.key = dice_.word("key", 30)};
    }
    const auto answer = store_->put(tasks, clock_.now());
    if (!note("put", answer)) return;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if ((*answer)[i]) certain_.put(tasks[i], names[i], *(*answer)[i]);
    }
  }

  void work() {
    std::vector<Settlement> settlements;
    while (!held_.empty() && dice_.percent(70)) {
      const Lease& lease = held_.front();
      certain_.settling(lease);
      const auto roll = dice_.below(10);
      if (roll < 7) certain_.may_free(lease.id);
      settlements.push_back(roll < 7   ? done(lease)
                            : roll < 9 ? given_back(lease)
                                       : retry_at(lease, clock_.now()));
      ends_.push_back(std::move(held_.front()));
      held_.pop_front();
    }
    TakeRequest take{.worker = "w", .queues = {}};
    for (const std::string& queue : queues) take.queues.push_back({queue, dice_.between(1U, 4U)});
    std::vector<TakeRequest> takes;
    if (held_.size() < 8) takes.push_back(take);
    const auto answer = store_->work(settlements, {}, takes, clock_.now());
    if (!note("work", answer)) return;
    for (std::size_t i = 0; i < settlements.size(); ++i) heard(answer->settled[i], i);
    ends_.clear();
    if (takes.empty() || !note("take", answer->taken.front())) return;
    certain_.taken(*answer->taken.front(), clock_.now());
    for (const Lease& lease : *answer->taken.front()) held_.push_back(lease);
  }

  void heard(const Result<Settled>& settled, std::size_t i) {
    if (!settled) return certain_.wrong("settle: " + settled.error().message);
    if (settled->status != SettleStatus::cancel_requested) return;
    // It runs on, and ends the next time.
    const auto again = store_->work(std::vector{cancelled(ends_[i])}, {}, {}, clock_.now());
    if (!again || !again->settled.front()) certain_.wrong("a wanted cancel was refused");
  }

  void cancel() {
    std::vector<CancelRequest> requests;
    for (const TaskId& id : certain_.some(dice_, 6)) {
      certain_.may_free(id);
      requests.push_back({.id = id, .reason = "chance"});
    }
    note("cancel", store_->cancel(requests, clock_.now()));
  }

  void move() {
    std::vector<TaskUpdate> updates;
    for (const TaskId& id : certain_.some(dice_, 6)) {
      certain_.may_free(id);
      updates.push_back({.id = id, .queue = QueueRef(dice_.pick(queues))});
    }
    note("move", store_->update(updates, clock_.now()));
  }

  void remove() {
    const auto ids = certain_.some(dice_, 3);
    for (const TaskId& id : ids) certain_.may_free(id);
    note("remove", store_->remove(ids, clock_.now()));
  }

  std::unique_ptr<Store> store_;
  Certain& certain_;
  SystemClock clock_;
  Dice dice_;
  UuidSource ids_;
  std::deque<Lease> held_;
  std::deque<Lease> ends_;  // being settled
};

class PostgresContention : public ::testing::Test {
 protected:
  void make_database(const std::string& name) {
    database_ = name;
    postgres().run_sql("create database " + name);
  }
  static PostgresServer& postgres() { return FaultCluster::get().postgres(); }
  std::string run_sql(const std::string& text) const { return postgres().run_sql(text, database_); }
  std::unique_ptr<Store> open() {
    return must(open_postgres({.url = postgres().url(database_)}, clock_));
  }
  std::chrono::nanoseconds steady() { return clock_.steady(); }
  // Counters equal a recount.
  void check_counts(Store& store) {
    StoreDriver driver(store);
    std::map<std::string, decltype(QueueCounts::by)> found;
    for (const Task& task : driver.list()) {
      ++found[task.queue][static_cast<std::size_t>(task.state)][task.priority];
    }
    for (const QueueCounts& counts : must(store.counts(std::nullopt, clock_.now()))) {
      EXPECT_EQ(counts.by, found[counts.queue]) << counts.queue;
    }
  }

  SystemClock clock_;
  std::string database_;
};

// What must hold at any moment; the test reads it from the database, not through Millrace.
const std::string rules_broken = fmt::format(
    "select 'more than {0} run' from millrace.tasks t join millrace.queues q using (queue) "
    "where q.name = 'limited' and t.state = 3 having count(*) > {0};"
    "select 'two hold ' || unique_key from millrace.tasks where unique_key is not null "
    "group by queue, unique_key having count(*) > 1;",
    most_at_once);

TEST_F(PostgresContention, limits_and_keys_hold_among_stores_that_do_everything_at_once) {
  make_database("contention");
  const auto eye = open();
  StoreDriver driver(*eye);
  driver.now = clock_.now();
  driver.make_queue(queue("limited", {.max_concurrent = most_at_once, .keep_completed = {}}));
  driver.make_queue(queue("rated", {.process_rate = rate, .keep_completed = {}}));
  driver.make_queue(queue("free", {.keep_completed = {}}));
  Certain certain;
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  std::random_device seed;
  for (int i = 0; i < 3; ++i) {
    auto worker = std::make_shared<Worker>(open(), certain, seed());
    threads.emplace_back([worker, &stop] { worker->run(stop); });
  }
  const auto until = steady() + 10s;
  while (steady() < until) {
    const std::string broken = run_sql(rules_broken);
    if (!broken.empty()) certain.wrong(broken);
  }
  stop = true;
  for (std::thread& each : threads) each.join();
  certain.check_rate();
  EXPECT_EQ(certain.complaints(), "");
  fmt::print("{} puts, {} leases, {} of them rated\n", certain.puts(), certain.leases(),
             certain.rated());
  EXPECT_GT(certain.leases(), 200U);
  EXPECT_GT(certain.rated(), rate.max) << "the rate was never reached";
  check_counts(*eye);
  // The table of keys agrees with the tasks.
  EXPECT_EQ(run_sql("select t.id, h.task from millrace.holders h full join "
                    "(select * from millrace.tasks where unique_key is not null) t "
                    "on t.id = h.task and t.queue = h.queue and t.unique_key = h.key "
                    "where t.id is null or h.task is null"),
            "");
}

// A take that has looked for tasks finds one that was taken and given back since.
TEST_F(PostgresContention, tasks_that_go_from_hand_to_hand_are_counted_once) {
  make_database("hands");
  const auto eye = open();
  StoreDriver driver(*eye);
  driver.now = clock_.now();
  driver.make_queue("plain");
  driver.make_queue(queue("ageing", {.ageing = 1h}));
  for (int i = 0; i < 4; ++i) driver.put(task("plain")), driver.put(task("ageing"));
  std::atomic<bool> stop = false;
  std::atomic<std::size_t> taken = 0;
  std::vector<std::thread> threads;
  for (const char* name : {"plain", "plain", "plain", "ageing", "ageing"}) {
    threads.emplace_back([&, name, store = std::shared_ptr<Store>(open())] {
      StoreDriver hands(*store);
      while (!stop) {
        hands.now = clock_.now();
        const auto leases = hands.take(name, 3);
        for (const Lease& lease : leases) hands.settle(given_back(lease));
        taken += leases.size();
      }
    });
  }
  const auto until = steady() + 4s;
  while (steady() < until) run_sql("select 1");
  stop = true;
  for (std::thread& each : threads) each.join();
  fmt::print("{} leases\n", taken.load());
  check_counts(*eye);
}

// Its first put has been heard of by the workers, and not by the one who put it.
TEST_F(PostgresContention, a_put_that_is_repeated_while_its_task_ends_adds_nothing) {
  make_database("repeated");
  const auto one = open();
  const auto two = open();
  StoreDriver putting(*one);
  StoreDriver working(*two);
  putting.now = working.now = clock_.now();
  putting.make_queue("q");
  NewTask task = test::task("q", {.unique = UniqueKey{.key = "key"}});
  putting.put(task);
  task.unique.reset();  // the short way to put
  const Lease lease = working.take_one("q");
  // Keeps the settlement from its end: it frees the key last.
  const auto opened = postgres::Connection::open({.url = postgres().url(database_)});
  ASSERT_TRUE(opened.has_value());
  const auto& block = *opened;
  block->begin({});
  ASSERT_TRUE(block->run_script("select from millrace.holders for update").has_value());
  const auto waiting = [this](int sessions) {
    const std::string count =
        "select count(*) from pg_stat_activity where datname = current_database() "
        "and wait_event_type = 'Lock'";
    while (run_sql(count) != fmt::format("{}\n", sessions)) {
    }
  };
  std::thread worker([&] { working.settle(done(lease)); });
  waiting(1);
  Put again;
  std::thread putter([&] { again = putting.put(task); });
  waiting(2);
  block->rollback();
  worker.join();
  putter.join();
  EXPECT_TRUE(again.existing);
  EXPECT_EQ(again.state, TaskState::completed);
  EXPECT_EQ(putting.list().size(), 1U);
  EXPECT_EQ(putting.take("q").size(), 0U);
  check_counts(*one);
}

// No connection tells of it: a pooler keeps those of its clients while the server is away.
TEST_F(PostgresContention, a_flush_through_a_pooler_knows_of_a_crash) {
  make_database("pooled");
  const PgBouncer pooler(postgres(), {{"server_login_retry", "0.1"}});
  const auto store = must(open_postgres({.url = pooler.url(database_)}, clock_));
  StoreDriver driver(*store);
  driver.now = clock_.now();
  driver.make_queue("q");
  const Put flushed = driver.put(task("q"));
  must(store->flush());
  // What another server flushes in the moment between makes this task durable, too; then once more.
  NewTask lost;
  for (int crash = 0; lost.id == TaskId{} || (crash < 10 && driver.exists(lost.id)); ++crash) {
    lost = task("q");
    driver.put(lost);
    postgres().kill_postmaster();
    postgres().start();
    // The pooler may hang up as well, where it tried too early.
    std::string why;
    for (const auto until = steady() + 20s; !why.contains("crashed and come back");) {
      ASSERT_LT(steady(), until) << why;
      const auto answer = store->flush();
      ASSERT_FALSE(answer.has_value());
      EXPECT_EQ(answer.error().code, ErrorCode::unavailable);
      why = answer.error().message;
      EXPECT_THAT(why, ::testing::Not(::testing::HasSubstr("out of step")));
    }
    EXPECT_TRUE(driver.exists(flushed.id));
  }
  EXPECT_FALSE(driver.exists(lost.id)) << "no crash lost anything";
  driver.put(lost);
  must(store->flush());
  EXPECT_TRUE(driver.exists(lost.id));
}

// Puts, takes and settles for a while; how many a second.
class Churn {
 public:
  Churn(Store& store, Clock& clock) : driver_(store), clock_(clock) {}

  double run(Duration time) {
    const auto from = clock_.steady();
    const auto before = done_;
    while (clock_.steady() - from < time) round();
    return static_cast<double>(done_ - before) /
           std::chrono::duration<double>(clock_.steady() - from).count();
  }
  void finish() {
    while (done_ < put_) round(false);
  }
  std::size_t done() const { return done_; }

 private:
  void round(bool puts = true) {
    driver_.now = clock_.now();
    std::vector<NewTask> tasks;
    for (int i = 0; puts && i < 200; ++i) tasks.push_back(task("q", {.payload = "{}"}));
    if (puts) put_ += driver_.put_all(tasks).size();
    std::vector<Settlement> settlements;
    for (const Lease& lease : held_) settlements.push_back(done_with(lease));
    const TakeRequest take{.worker = "w", .queues = {{"q", 200}}};
    auto answer = must(driver_.store().work(settlements, {}, {&take, 1}, driver_.now));
    for (const auto& settled : answer.settled) {
      if (must(settled).status == SettleStatus::applied) ++done_;
    }
    held_ = must(std::move(answer.taken.front()));
    must(driver_.store().flush());
  }
  Settlement done_with(const Lease& lease) {
    EXPECT_TRUE(worked_.insert(lease.id).second) << "it was given out before";
    return millrace::test::done(lease);
  }

  StoreDriver driver_;
  Clock& clock_;
  std::vector<Lease> held_;
  std::set<TaskId> worked_;
  std::size_t put_ = 0;
  std::size_t done_ = 0;
};

TEST_F(PostgresContention, a_transaction_left_open_does_not_stop_the_work) {
  make_database("idle");
  const auto store = open();
  StoreDriver driver(*store);
  driver.now = clock_.now();
  driver.make_queue("q");
  Churn churn(*store, clock_);
  churn.run(500ms);
  const double before = churn.run(2s);
  const auto idle =
      postgres::Connection::open({.url = postgres().url(database_), .application_name = "idle"});
  ASSERT_TRUE(idle.has_value());
  (*idle)->begin({.snapshot = true});
  ASSERT_TRUE((*idle)->run_script("select count(*) from millrace.tasks").has_value());
  ASSERT_EQ(run_sql("select count(*) from pg_stat_activity where state = 'idle in transaction' "
                    "and backend_xmin is not null and application_name = 'idle'"),
            "1\n");
  churn.run(8s);
  // What an old snapshot costs grows with time; what other programs on this machine cost comes and
  // goes. So one good second among many is enough.
  double after = 0;
  for (int i = 0; i < 20 && after < 0.4 * before; ++i) after = std::max(after, churn.run(1s));
  fmt::print("{:.0f} tasks per second, with an old snapshot {:.0f}\n", before, after);
  EXPECT_GE(after, 0.4 * before);
  churn.finish();
  const QueueCounts counts = driver.counts("q");
  EXPECT_EQ(counts.of(TaskState::completed), churn.done());
  EXPECT_EQ(counts.total(), churn.done());
  EXPECT_EQ(run_sql("select count(*) from millrace.finished"), fmt::format("{}\n", churn.done()));
}

}  // namespace
}  // namespace millrace::test
