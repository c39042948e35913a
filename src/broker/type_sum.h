// What happened to the types of a queue, over all the time that is asked for.
#pragma once

#include <millrace/time.h>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "broker/history.h"
#include "broker/history_memo.h"
#include "broker/history_sum.h"
#include "broker/type_tally.h"

namespace millrace {

// Of one type, or of all.
struct TypePast {
  std::string type = {};
  HistoryPoint sum = {};   // its moment is where the time begins; nothing waits or runs in it
  std::uint64_t dead = 0;  // of those that failed
};
struct TypesPast {
  static constexpr std::size_t most = 100;

  TypePast all = {};
  std::vector<TypePast> types = {};  // the busiest first; those beyond the most are one, `other`
};

class TypeSum {
 public:
  // Of what `asked` wants.
  void add(const HistorySum& asked, TimePoint moment, const HistoryMemo& memo);
  void add(const HistorySum& asked, TimePoint moment, const MinuteRow& row);

  TypesPast past(TimePoint from) const;

 private:
  std::map<std::string, HistoryRow, std::less<>> types_;
};

}  // namespace millrace
