// A store on a server of its own, in miniature: any number of brokers come in, each through its own
// connection, and see the same tasks. It can be away, come back, crash and lose answers.
//
//   SharedServer server;
//   auto one = server.connect();
//   auto two = server.connect();
//   server.crash();   // loses what was not flushed
//   server.come_back();
#pragma once

#include <millrace/time.h>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>

#include "core/values.h"
#include "store/fwd.h"
#include "tests/support/model_store.h"

namespace millrace::test {

class SharedServer {
 public:
  struct Options {
    bool pushes = true;            // tells brokers what others do
    TimePoint time = TimePoint{};  // what its clock shows; it stands still
  };

  explicit SharedServer(const Options& options) : options_(options) {}
  SharedServer() : SharedServer(Options{}) {}

  // For one broker; the server must outlive it.
  std::unique_ptr<Store> connect();

  // Answers nothing until it comes back.
  void go_away();
  // As go_away(), and what was applied and not flushed is lost.
  void crash();
  void come_back();
  // After `after` good calls, the next `count` calls are applied and their answers lost.
  void lose_answers(std::uint64_t count, std::uint64_t after = 0);
  void set_time(TimePoint time);

  std::uint64_t calls();  // so far, of all connections, good or bad
  // The store itself, past all connections. REQUIRES: no broker calls meanwhile.
  ModelStore& direct() { return state_; }

 private:
  class Connection;

  bool tell(const Hint& hint, const Connection* by);

  Options options_;
  std::mutex mutex_;  // guards what follows
  ModelStore state_;
  ModelStore durable_;
  bool away_ = false;
  std::uint64_t crashes_ = 0;
  std::uint64_t lost_answers_ = 0;
  std::uint64_t good_answers_ = 0;  // before them
  std::uint64_t calls_ = 0;

  std::mutex tell_mutex_;  // held while a broker is told
  std::set<Connection*> connections_;
};

}  // namespace millrace::test
