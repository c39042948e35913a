// Small shared values under compare-and-set, some with an end.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/values.h"

namespace millrace::embedded {

// An error if the request makes no sense.
Result<void> check_recall(const Recall& request);

class Memos {
 public:
  Result<Memo> remember(const Remember& request, TimePoint now);

  // Adds to `found` until the limit is reached, so many memos were looked at or so many bytes
  // found. Returns the last key it looked at; nullopt: there are no more.
  struct Most {
    std::size_t memos = 0;
    std::size_t bytes = 0;
  };
  std::optional<std::string> recall(const Recall& request, TimePoint now, const Most& most,
                                    std::vector<Memo>& found) const;

  // Forgets the memo that ended first, if it ended by `now`, and returns its key.
  std::optional<std::string> pop_ended(TimePoint now);
  std::optional<TimePoint> first_end_after(TimePoint now) const;

  // For records: all memos as they are, ended or not.
  const std::map<std::string, Memo, std::less<>>& all() const { return memos_; }
  void restore(Memo memo);
  void erase(std::string_view key);
  std::uint64_t versions_given() const { return version_; }
  void resume(std::uint64_t version) { version_ = version; }

 private:
  const Memo* find(std::string_view key, TimePoint now) const;

  std::map<std::string, Memo, std::less<>> memos_;
  std::set<std::pair<TimePoint, std::string>> ends_;
  // One counter for all keys: a version never comes back, not even after a memo was forgotten. So a
  // caller that slept through that cannot succeed with its compare-and-set.
  std::uint64_t version_ = 0;
};

}  // namespace millrace::embedded
