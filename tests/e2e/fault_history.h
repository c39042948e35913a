// What clients of several servers were told while things broke, and whether the store agrees.
#pragma once

#include <millrace/ids.h>
#include <millrace/task.h>
#include <millrace/time.h>

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/values.h"
#include "store/fwd.h"

namespace millrace::test {

std::string fault_payload(const TaskId& id);
std::string fault_result(const TaskId& id, Token token);

// A lease as its holder heard of it.
struct ToldLease {
  TaskId id = {};
  Token token = {};
  TimePoint asked{};
  TimePoint got{};
  TimePoint until{};
};

// How far each server has come.
struct FaultFigures {
  std::map<std::size_t, std::size_t> put = {};   // by server
  std::map<std::size_t, std::size_t> done = {};  // by server
  std::size_t all_put = 0;
  std::size_t all_done = 0;
};

// Safe to use from several threads. All moments are of one machine.
class FaultHistory {
 public:
  // ---- What clients hear -----------------------------------------------------------------------
  void put(const TaskId& id, std::size_t server);
  void taken(const ToldLease& lease);
  // About to be asked for, perhaps again; may or may not come to pass.
  void settling(const TaskId& id, Token token, bool done, TimePoint now);
  void settled(const TaskId& id, Token token, bool done, TimePoint now, std::size_t server);
  // `lease_lost`, as an answer to the first settlement that was sent for this lease at `asked`.
  void refused(const TaskId& id, Token token, TimePoint asked);
  void wrong(std::string what);

  // ---- What the test asks ----------------------------------------------------------------------
  FaultFigures figures() const;
  // Whether it came to that in time; false at once when something was wrong.
  bool comes_to(Duration limit, const std::function<bool(const FaultFigures&)>& that) const;

  // Compares with the store, once no worker works on the tasks of `queue` any more. Returns what is
  // wrong, one line each: everything acknowledged must be there; what was put must be completed,
  // once, by the worker that was told so; no two leases of a task may have been alive at the same
  // time; counters must equal a recount.
  std::string check(Store& store, const std::string& queue, TimePoint now) const;

 private:
  struct Known {
    ToldLease lease = {};
    std::optional<TimePoint> ending = std::nullopt;  // when its end was first asked for
    bool may_be_done = false;
    std::optional<TimePoint> done = std::nullopt;  // acknowledged
  };
  struct Tale {
    bool put = false;
    std::vector<Known> leases = {};
  };

  Known* find(const TaskId& id, Token token);
  void complain(std::string what);
  static void check_leases(const TaskId& id, const Tale& tale, std::vector<std::string>& out);
  static void check_task(const TaskId& id, const Tale& tale, const Task& task,
                         std::vector<std::string>& out);

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::map<TaskId, Tale> tasks_;
  std::set<Token> tokens_;
  FaultFigures figures_;
  std::vector<std::string> complaints_;
};

}  // namespace millrace::test
