// The tables that jobs change: a few maps that stand for the shop's database.
#pragma once

#include <millrace/time.h>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "jobs.h"

namespace partizap {

// May be used from any thread.
class Database {
 public:
  // Databases go away. While it is, every call throws.
  void set_available(bool available);

  void set_image_status(const std::string& image, const std::string& status);
  std::string image_status(const std::string& image) const;  // empty: not known

  void add_session(const std::string& session, millrace::TimePoint last_seen);
  std::uint64_t remove_sessions(millrace::TimePoint older_than);
  void add_code(const std::string& phone, millrace::TimePoint sent);
  std::uint64_t remove_codes(millrace::TimePoint older_than);
  std::uint64_t sessions() const;
  std::uint64_t codes() const;

  // One event more; the counter is the sum of its events, so counting again does no harm.
  void add_event(Counter counter, const std::string& entity);
  void update_counter(Counter counter, const std::string& entity);
  std::uint64_t counter(Counter counter, const std::string& entity) const;
  using CounterRow = std::pair<std::pair<Counter, std::string>, std::uint64_t>;
  std::vector<CounterRow> counters() const;

  void sync(Table table, millrace::TimePoint now);
  std::map<Table, std::vector<millrace::TimePoint>> synced() const;

 private:
  using Counters = std::map<std::pair<Counter, std::string>, std::uint64_t>;

  std::unique_lock<std::mutex> lock() const;

  mutable std::mutex mutex_;
  bool available_ = true;
  std::map<std::string, std::string> images_;
  std::map<std::string, millrace::TimePoint> sessions_;
  std::map<std::string, millrace::TimePoint> codes_;
  Counters events_;
  Counters counters_;
  std::map<Table, std::vector<millrace::TimePoint>> synced_;
};

}  // namespace partizap
