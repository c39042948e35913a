#include "store/embedded/holders.h"

#include "core/ensure.h"

namespace millrace::embedded {

const Holder* Holders::find(std::uint16_t queue, std::string_view key, TimePoint now) const {
  const auto found = holders_.find(Less::View(queue, key));
  if (found == holders_.end() || found->second.until <= now) return nullptr;
  return &found->second;
}

bool Holders::set(std::uint16_t queue, std::string_view key, const Holder& holder) {
  const bool gave_way = window(queue, key) != nullptr;
  if (gave_way) erase_window(queue, key);
  holders_.insert_or_assign(Key(queue, key), holder);
  if (holder.until != never) ends_.emplace(holder.until, Key(queue, key));
  return gave_way;
}

const Holder* Holders::window(std::uint16_t queue, std::string_view key) const {
  const auto found = holders_.find(Less::View(queue, key));
  if (found == holders_.end() || found->second.until == never) return nullptr;
  return &found->second;
}

void Holders::erase_window(std::uint16_t queue, std::string_view key) {
  if (const Holder* holder = window(queue, key)) erase(queue, key, holder->number);
}

void Holders::erase(std::uint16_t queue, std::string_view key, TaskNumber number) {
  const auto found = holders_.find(Less::View(queue, key));
  if (found == holders_.end() || found->second.number != number) return;
  const bool ends = ends_.erase({found->second.until, found->first}) != 0;
  ensure(ends == (found->second.until != never), "the end of a unique key is not where it belongs");
  holders_.erase(found);
}

void Holders::erase_queue(std::uint16_t queue) {
  const auto from = holders_.lower_bound(Less::View(queue, ""));
  auto to = from;
  while (to != holders_.end() && to->first.first == queue) ++to;
  holders_.erase(from, to);
  std::erase_if(ends_, [&](const auto& end) { return end.second.first == queue; });
}

std::optional<Holders::Key> Holders::pop_ended(TimePoint now) {
  if (ends_.empty() || ends_.begin()->first > now) return std::nullopt;
  Key key = ends_.begin()->second;
  ends_.erase(ends_.begin());
  ensure(holders_.erase(key) == 1, "a unique key ended that no task held");
  return key;
}

std::optional<TimePoint> Holders::first_end_after(TimePoint now) const {
  const auto end = ends_.lower_bound({now + Duration(1), Key()});
  return end == ends_.end() ? std::nullopt : std::optional(end->first);
}

}  // namespace millrace::embedded
