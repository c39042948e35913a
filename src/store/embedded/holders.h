// Who holds which unique key.
#pragma once

#include <millrace/ids.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace millrace::embedded {

struct Holder {
  TaskId id;
  TaskNumber number;
  // A key of scope `window` is held until `until`, even when the task is gone; any other until it
  // is freed.
  TimePoint until = never;

  friend bool operator==(const Holder&, const Holder&) = default;
};

class Holders {
 public:
  using Key = std::pair<std::uint16_t, std::string>;  // queue index, key

  // The holder at `now`, if any.
  const Holder* find(std::uint16_t queue, std::string_view key, TimePoint now) const;

  // Takes the key over. True: it replaced a window of another task that had ended.
  bool set(std::uint16_t queue, std::string_view key, const Holder& holder);

  // Frees the key if `number` holds it.
  void erase(std::uint16_t queue, std::string_view key, TaskNumber number);
  void erase_queue(std::uint16_t queue);

  // The holder of a window, ended or not; nullptr if the key is held otherwise or not at all.
  const Holder* window(std::uint16_t queue, std::string_view key) const;
  void erase_window(std::uint16_t queue, std::string_view key);

  // Forgets the window that ended first, if it ended by `now`, and returns its key.
  std::optional<Key> pop_ended(TimePoint now);
  std::optional<TimePoint> first_end_after(TimePoint now) const;

  const auto& all() const { return holders_; }

 private:
  struct Less {
    using is_transparent = void;
    using View = std::pair<std::uint16_t, std::string_view>;
    static View view(const Key& key) { return {key.first, key.second}; }
    static View view(const View& key) { return key; }
    bool operator()(const auto& a, const auto& b) const { return view(a) < view(b); }
  };

  std::map<Key, Holder, Less> holders_;
  std::set<std::pair<TimePoint, Key>> ends_;  // of windows only
};

}  // namespace millrace::embedded
