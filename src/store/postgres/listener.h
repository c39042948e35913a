// Tells other processes what this one has done to the store, and hears what they tell.
//
// Transactions that commit with a NOTIFY wait for each other. So a NOTIFY is never part of a
// transaction that puts tasks, nor of one that waits for the disk: a thread with a connection of
// its own sends what has come together at intervals.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "core/clock.h"
#include "core/mutex.h"
#include "core/values.h"
#include "postgres/backoff.h"
#include "postgres/connection.h"

namespace millrace::store_postgres {

class Listener {
 public:
  Listener(postgres::ConnectOptions options, Clock& clock);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

  // As Store::on_hint().
  void on_hint(std::function<void(const Hint&)> tell);

  // The other processes are told soon.
  void tell_work(std::string_view queue);
  void tell_queues();
  void tell_schedules();

 private:
  void run();
  bool connect();
  // False: the connection is lost, or leads to a server that no longer takes writes.
  bool speak();
  bool hear();
  void pause();
  void give(const Hint& hint);
  void wake() REQUIRES(mutex_);

  const postgres::ConnectOptions options_;
  const std::string channel_;
  const std::string self_;  // the sender's name; a process ignores what it sent itself
  Clock& clock_;
  postgres::Backoff backoff_;                         // the thread's
  std::chrono::nanoseconds spoke_{0};                 // the thread's
  std::unique_ptr<postgres::Connection> connection_;  // the thread's; replaced under mutex_

  Mutex telling_{LockRank::hints};  // held while tell_ is called
  std::function<void(const Hint&)> tell_ GUARDED_BY(telling_);

  Mutex mutex_{LockRank::leaf};
  Condition changed_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::set<std::string, std::less<>> work_ GUARDED_BY(mutex_);
  bool queues_ GUARDED_BY(mutex_) = false;
  bool schedules_ GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

}  // namespace millrace::store_postgres
