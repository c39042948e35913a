// Adds up an answer about the types of a queue.
#pragma once

#include <millrace/time.h>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "broker/history_memo.h"
#include "broker/history_sum.h"
#include "broker/type_tally.h"
#include "broker/types_past.h"

namespace millrace {

class TypeSum {
 public:
  // Adds the rows that `asked` wants.
  void add(const HistorySum& asked, TimePoint moment, const HistoryMemo& memo);
  void add(const HistorySum& asked, TimePoint moment, const MinuteRow& row);

  TypesPast past(TimePoint from) const;

 private:
  void add(TimePoint moment, const std::string& type, const HistoryRow& row);

  std::map<std::string, HistoryRow, std::less<>> types_;
  std::optional<TimePoint> first_;
};

}  // namespace millrace
