// Keeps what happened in the store: one memo per minute, which is also added to that of its hour.
//
// Several servers over one store, and a server that was restarted, add to the same memos by
// compare-and-set. So there are never more than 1,500 memos of minutes and 721 of hours.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>

#include "broker/books.h"
#include "broker/history_memo.h"
#include "broker/service.h"
#include "core/values.h"
#include "store/fwd.h"

namespace millrace {

class HistoryWriter final : public Service {
 public:
  explicit HistoryWriter(Books& books) : books_(books) {}

  // One bounded step: counts become a memo, the memo is stored, or it is added to its hour.
  Result<TimePoint> run_once(Store& store, TimePoint now) override;

  // Everything that is known, including the minute that is not over.
  Result<void> write_all(Store& store, TimePoint now);

  // What is not in the store yet, of minutes or of hours, except the minute that is not over. On
  // the applying thread.
  void look_at_unwritten(const HistoryStep& step,
                         const std::function<void(TimePoint minute, const HistoryMemo&)>& look);

 private:
  struct Pending {
    TimePoint at{};
    HistoryMemo memo = {};
    bool minute_stored = false;
  };

  Result<void> gather(Store& store, TimePoint now, bool all);
  Pending& pending_of(TimePoint minute);
  // Writes one memo. False: other servers were faster each time.
  Result<bool> write(Store& store, const HistoryStep& step, TimePoint minute,
                     const HistoryMemo& memo, TimePoint now);
  Result<bool> write_next(Store& store, TimePoint now);
  TimePoint cannot_write(const Error& error, TimePoint now);

  Books& books_;
  TimePoint gathered_ = TimePoint::min();  // the minute that was current when it last gathered
  std::deque<Pending> pending_;            // oldest first
  bool failing_ = false;                   // a memo could not be stored, which was logged
  // What was being written when the store went away: if it was stored, it must not be added again.
  std::optional<Remember> unsure_ = std::nullopt;
};

}  // namespace millrace
