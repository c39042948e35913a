#include "broker/queue_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "core/mutex.h"
#include "core/quote.h"
#include "core/uuid.h"
#include "store/store.h"

namespace millrace {

std::string text_of(const QueueRef& queue) {
  if (const auto* name = std::get_if<std::string>(&queue)) return in_quotes(*name);
  if (const auto* number = std::get_if<QueueNumber>(&queue)) {
    return fmt::format("number {}", number->value);
  }
  return to_text(std::get<Uuid>(queue));
}

const std::shared_ptr<const Queue>* QueueBook::find_locked(const QueueRef& queue) const {
  auto found = by_name_.end();
  if (const auto* name = std::get_if<std::string>(&queue)) {
    found = by_name_.find(*name);
  } else if (const auto* number = std::get_if<QueueNumber>(&queue)) {
    const auto at = by_number_.find(*number);
    if (at != by_number_.end()) found = by_name_.find(at->second);
  } else {
    const auto at = by_id_.find(std::get<Uuid>(queue));
    if (at != by_id_.end()) found = by_name_.find(at->second);
  }
  return found == by_name_.end() ? nullptr : &found->second;
}

const Queue* QueueBook::Reading::find(const QueueRef& queue) const {
  book_.mutex_.assert_held_shared();
  const auto* found = book_.find_locked(queue);
  return found == nullptr || (*found)->removing ? nullptr : found->get();
}

const Queue* QueueBook::Reading::find(std::string_view name) const {
  book_.mutex_.assert_held_shared();
  const auto found = book_.by_name_.find(name);
  return found == book_.by_name_.end() || found->second->removing ? nullptr : found->second.get();
}

std::shared_ptr<const Queue> QueueBook::find(const QueueRef& queue) const {
  const SharedLock lock(mutex_);
  const auto* found = find_locked(queue);
  return found == nullptr ? nullptr : *found;
}

void QueueBook::add_locked(Queue queue) {
  forget_locked(queue.settings.name);
  const QueueSettings& settings = queue.settings;
  if (settings.number) by_number_.insert_or_assign(*settings.number, settings.name);
  by_id_.insert_or_assign(settings.id, settings.name);
  auto entry = std::make_shared<const Queue>(std::move(queue));
  if (is_internal(entry->settings.name)) ++internal_;
  by_name_.insert_or_assign(entry->settings.name, entry);
}

void QueueBook::forget_locked(std::string_view name) {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return;
  const QueueSettings& settings = found->second->settings;
  if (settings.number) by_number_.erase(*settings.number);
  by_id_.erase(settings.id);
  if (is_internal(name)) --internal_;
  by_name_.erase(found);
}

void QueueBook::set(Queue queue) {
  const Lock lock(mutex_);
  add_locked(std::move(queue));
}

void QueueBook::forget(const std::string& name) {
  const Lock lock(mutex_);
  forget_locked(name);
}

Result<void> QueueBook::reload(Store& store) {
  auto all = store.queues(std::nullopt);
  if (!all) return std::unexpected(std::move(all.error()));
  const Lock lock(mutex_);
  by_name_.clear();
  by_number_.clear();
  by_id_.clear();
  internal_ = 0;
  for (Queue& queue : *all) add_locked(std::move(queue));
  return {};
}

Result<std::shared_ptr<const Queue>> QueueBook::look_up(Store& store, const QueueRef& queue) {
  auto found = store.queues(queue);
  if (!found) {
    const auto* name = std::get_if<std::string>(&queue);
    if (name != nullptr && found.error().code == ErrorCode::not_found) forget(*name);
    return std::unexpected(std::move(found.error()));
  }
  auto name = found->front().settings.name;
  set(std::move(found->front()));
  return find(std::move(name));
}

std::vector<std::shared_ptr<const Queue>> QueueBook::all() const {
  std::vector<std::shared_ptr<const Queue>> queues;
  {
    const SharedLock lock(mutex_);
    queues.reserve(by_name_.size());
    for (const auto& [name, queue] : by_name_) queues.push_back(queue);
  }
  std::ranges::sort(queues, {},
                    [](const auto& queue) -> const std::string& { return queue->settings.name; });
  return queues;
}

std::size_t QueueBook::count() const {
  const SharedLock lock(mutex_);
  return by_name_.size() - internal_;
}

std::vector<std::string> QueueBook::removing() const {
  const SharedLock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, queue] : by_name_) {
    if (queue->removing) names.push_back(name);
  }
  return names;
}

}  // namespace millrace
