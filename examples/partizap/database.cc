#include "database.h"

namespace partizap {

using millrace::TimePoint;

void Database::set_image_status(const std::string& image, const std::string& status) {
  const std::scoped_lock lock(mutex_);
  images_[image] = status;
}

std::string Database::image_status(const std::string& image) const {
  const std::scoped_lock lock(mutex_);
  const auto found = images_.find(image);
  return found == images_.end() ? std::string() : found->second;
}

void Database::add_session(const std::string& session, TimePoint last_seen) {
  const std::scoped_lock lock(mutex_);
  sessions_[session] = last_seen;
}

std::uint64_t Database::remove_sessions(TimePoint older_than) {
  const std::scoped_lock lock(mutex_);
  return std::erase_if(sessions_, [&](const auto& row) { return row.second < older_than; });
}

void Database::add_code(const std::string& phone, TimePoint sent) {
  const std::scoped_lock lock(mutex_);
  codes_[phone] = sent;
}

std::uint64_t Database::remove_codes(TimePoint older_than) {
  const std::scoped_lock lock(mutex_);
  return std::erase_if(codes_, [&](const auto& row) { return row.second < older_than; });
}

std::uint64_t Database::sessions() const {
  const std::scoped_lock lock(mutex_);
  return sessions_.size();
}

std::uint64_t Database::codes() const {
  const std::scoped_lock lock(mutex_);
  return codes_.size();
}

void Database::add_event(Counter counter, const std::string& entity) {
  const std::scoped_lock lock(mutex_);
  ++events_[{counter, entity}];
}

void Database::update_counter(Counter counter, const std::string& entity) {
  const std::scoped_lock lock(mutex_);
  counters_[{counter, entity}] = events_[{counter, entity}];
}

std::uint64_t Database::counter(Counter counter, const std::string& entity) const {
  const std::scoped_lock lock(mutex_);
  const auto found = counters_.find({counter, entity});
  return found == counters_.end() ? 0 : found->second;
}

std::vector<Database::CounterRow> Database::counters() const {
  const std::scoped_lock lock(mutex_);
  return {counters_.begin(), counters_.end()};
}

void Database::sync(Table table, TimePoint now) {
  const std::scoped_lock lock(mutex_);
  synced_[table].push_back(now);
}

std::map<Table, std::vector<TimePoint>> Database::synced() const {
  const std::scoped_lock lock(mutex_);
  return synced_;
}

}  // namespace partizap
