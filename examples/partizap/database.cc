#include "database.h"

#include <stdexcept>

namespace partizap {

using millrace::TimePoint;

void Database::set_available(bool available) {
  const std::scoped_lock lock(mutex_);
  available_ = available;
}

std::unique_lock<std::mutex> Database::lock() const {
  std::unique_lock locked(mutex_);
  if (!available_) throw std::runtime_error("the database does not answer");
  return locked;
}

void Database::set_image_status(const std::string& image, const std::string& status) {
  const auto locked = lock();
  images_[image] = status;
}

std::string Database::image_status(const std::string& image) const {
  const auto locked = lock();
  const auto found = images_.find(image);
  return found == images_.end() ? std::string() : found->second;
}

void Database::add_session(const std::string& session, TimePoint last_seen) {
  const auto locked = lock();
  sessions_[session] = last_seen;
}

std::uint64_t Database::remove_sessions(TimePoint older_than) {
  const auto locked = lock();
  return std::erase_if(sessions_, [&](const auto& row) { return row.second < older_than; });
}

void Database::add_code(const std::string& phone, TimePoint sent) {
  const auto locked = lock();
  codes_[phone] = sent;
}

std::uint64_t Database::remove_codes(TimePoint older_than) {
  const auto locked = lock();
  return std::erase_if(codes_, [&](const auto& row) { return row.second < older_than; });
}

std::uint64_t Database::sessions() const {
  const auto locked = lock();
  return sessions_.size();
}

std::uint64_t Database::codes() const {
  const auto locked = lock();
  return codes_.size();
}

void Database::add_event(Counter counter, const std::string& entity) {
  const auto locked = lock();
  ++events_[{counter, entity}];
}

void Database::update_counter(Counter counter, const std::string& entity) {
  const auto locked = lock();
  counters_[{counter, entity}] = events_[{counter, entity}];
}

std::uint64_t Database::counter(Counter counter, const std::string& entity) const {
  const auto locked = lock();
  const auto found = counters_.find({counter, entity});
  return found == counters_.end() ? 0 : found->second;
}

std::vector<Database::CounterRow> Database::counters() const {
  const auto locked = lock();
  return {counters_.begin(), counters_.end()};
}

void Database::sync(Table table, TimePoint now) {
  const auto locked = lock();
  synced_[table].push_back(now);
}

std::map<Table, std::vector<TimePoint>> Database::synced() const {
  const auto locked = lock();
  return synced_;
}

}  // namespace partizap
