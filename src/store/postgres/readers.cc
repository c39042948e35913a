#include "store/postgres/readers.h"

#include <algorithm>
#include <utility>

namespace millrace::store_postgres {

StoreWithReaders::StoreWithReaders(std::unique_ptr<PostgresStore> writer, PostgresOptions options,
                                   Clock& clock)
    : ForwardingStore(*writer),
      writer_(std::move(writer)),
      options_(std::move(options)),
      clock_(clock) {}

Result<std::unique_ptr<PostgresStore>> StoreWithReaders::borrow() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return !readers_.empty() || borrowed_ < options_.readers; });
  ++borrowed_;
  if (!readers_.empty()) {
    auto reader = std::move(readers_.back());
    readers_.pop_back();
    return reader;
  }
  lock.unlock();
  auto reader = std::make_unique<PostgresStore>(options_, clock_, "read");
  auto opened = reader->open_reader();
  if (opened) return reader;
  give_back(nullptr);
  return std::unexpected(std::move(opened.error()));
}

void StoreWithReaders::give_back(std::unique_ptr<PostgresStore> reader) {
  {
    const std::scoped_lock lock(mutex_);
    --borrowed_;
    if (reader) readers_.push_back(std::move(reader));
  }
  idle_.notify_one();
}

template <class Call>
auto StoreWithReaders::read(const Call& call) -> decltype(call(std::declval<PostgresStore&>())) {
  auto reader = borrow();
  if (!reader) return std::unexpected(std::move(reader.error()));
  auto answer = call(**reader);
  give_back(std::move(*reader));
  return answer;
}

Result<std::vector<Result<Task>>> StoreWithReaders::find(std::span<const TaskRef> tasks,
                                                         Parts parts) {
  return read([&](PostgresStore& reader) { return reader.find(tasks, parts); });
}

Result<TaskPage> StoreWithReaders::list(const ListRequest& request) {
  return read([&](PostgresStore& reader) { return reader.list(request); });
}

Result<std::vector<QueueCounts>> StoreWithReaders::counts(const std::optional<QueueRef>& queue,
                                                          TimePoint now) {
  return read([&](PostgresStore& reader) { return reader.counts(queue, now); });
}

Result<std::vector<Queue>> StoreWithReaders::queues(const std::optional<QueueRef>& queue) {
  return read([&](PostgresStore& reader) { return reader.queues(queue); });
}

Result<std::vector<Schedule>> StoreWithReaders::schedules(const std::optional<std::string>& name) {
  return read([&](PostgresStore& reader) { return reader.schedules(name); });
}

Result<std::vector<Memo>> StoreWithReaders::recall(const Recall& request, TimePoint now) {
  return read([&](PostgresStore& reader) { return reader.recall(request, now); });
}

Result<std::vector<std::string>> StoreWithReaders::ready(TimePoint now) {
  return read([&](PostgresStore& reader) { return reader.ready(now); });
}

Result<std::optional<TimePoint>> StoreWithReaders::time() {
  return read([](PostgresStore& reader) { return reader.time(); });
}

Traits StoreWithReaders::traits() const {
  Traits traits = writer_->traits();
  traits.readers = std::max<std::size_t>(options_.readers, 1);
  return traits;
}

}  // namespace millrace::store_postgres
