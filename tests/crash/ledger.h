// What the parent was told, over all lives of the child, and whether a reopened store agrees.
#pragma once

#include <millrace/ids.h>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/values.h"
#include "store/fwd.h"

namespace millrace::test {

class Ledger {
 public:
  void note(std::string_view line);

  // Everything acknowledged is there as it was told; ended tokens are refused, live ones are
  // accepted; counters equal a recount. `all`: also checks what has not changed in this life.
  void check(Store& store, bool all, TimePoint now);

  // The first thing that was wrong; empty: nothing.
  const std::string& complaint() const { return complaint_; }
  std::size_t tasks() const { return tasks_.size(); }
  std::size_t taken() const { return tokens_.size(); }
  std::size_t completed() const { return completed_; }

 private:
  struct Known {
    bool put = false;
    bool completed = false;       // acknowledged
    std::optional<Token> holder;  // acknowledged, and no settlement asked for
    std::set<std::string> maybe;  // settlements asked for and not answered, in this life or before
    std::set<Token> ended;        // tokens whose settlement was acknowledged
    bool touched = false;         // in this life
  };

  void check_task(Store& store, const TaskId& id, Known& known, TimePoint now);
  void check_tokens(Store& store, const TaskId& id, const Known& known, const Task& task,
                    TimePoint now);
  void recount(Store& store, TimePoint now);
  void complain(std::string text);

  std::map<TaskId, Known> tasks_;
  std::set<Token> tokens_;  // every token that was told
  std::size_t completed_ = 0;
  std::string complaint_;
};

}  // namespace millrace::test
