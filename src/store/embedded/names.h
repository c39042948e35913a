// Strings that many slots share (worker names), each kept once and only while a slot uses it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::embedded {

class Names {
 public:
  // A handle on the name, counted; 0 stands for "".
  std::uint32_t hold(std::string_view name) {
    if (name.empty()) return 0;
    auto found = handles_.find(name);
    if (found == handles_.end()) found = handles_.emplace(name, fresh_handle()).first;
    Entry& entry = entries_[found->second];
    entry.text = &found->first;
    ++entry.users;
    return found->second;
  }
  void hold_again(std::uint32_t handle) {
    if (handle != 0) ++entries_[handle].users;
  }
  void release(std::uint32_t handle) {
    if (handle == 0 || --entries_[handle].users != 0) return;
    handles_.erase(handles_.find(*entries_[handle].text));
    entries_[handle].text = nullptr;
    free_.push_back(handle);
  }
  std::string_view text(std::uint32_t handle) const {
    return handle == 0 ? std::string_view() : std::string_view(*entries_[handle].text);
  }
  std::size_t size() const { return handles_.size(); }

 private:
  struct Entry {
    const std::string* text = nullptr;
    std::uint64_t users = 0;
  };

  std::uint32_t fresh_handle() {
    if (free_.empty()) {
      entries_.emplace_back();
      return static_cast<std::uint32_t>(entries_.size() - 1);
    }
    const auto handle = free_.back();
    free_.pop_back();
    return handle;
  }

  std::map<std::string, std::uint32_t, std::less<>> handles_;
  std::vector<Entry> entries_ = std::vector<Entry>(1);
  std::vector<std::uint32_t> free_;
};

}  // namespace millrace::embedded
