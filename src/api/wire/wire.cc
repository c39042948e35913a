#include "api/wire/wire.h"

#include "api/wire/reader.h"
#include "api/wire/writer.h"

namespace millrace::wire {

boost::json::object to_json(const NewTask& task) {
  return written(task);
}
boost::json::object to_json(const Task& task) {
  return written(task);
}
boost::json::object to_json(const QueueSettings& settings) {
  return written(settings);
}
boost::json::object to_json(const Queue& queue) {
  return written(queue);
}
boost::json::object to_json(const Schedule& schedule) {
  return written(schedule);
}
boost::json::object to_json(const Memo& memo) {
  return written(memo);
}

template <class T>
Result<T> from_json(const boost::json::value& json, std::string_view what, UnknownKeys unknown) {
  Reading reading(unknown);
  T value;
  read(json, value, Path{.key = what}, reading);
  if (!reading.good()) return std::unexpected(std::move(reading.error()));
  return value;
}

template Result<NewTask> from_json(const boost::json::value&, std::string_view, UnknownKeys);
template Result<Task> from_json(const boost::json::value&, std::string_view, UnknownKeys);
template Result<QueueSettings> from_json(const boost::json::value&, std::string_view, UnknownKeys);
template Result<Queue> from_json(const boost::json::value&, std::string_view, UnknownKeys);
template Result<Schedule> from_json(const boost::json::value&, std::string_view, UnknownKeys);
template Result<Memo> from_json(const boost::json::value&, std::string_view, UnknownKeys);

}  // namespace millrace::wire
