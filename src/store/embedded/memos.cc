#include "store/embedded/memos.h"

#include <fmt/format.h>

#include "core/limits.h"

namespace millrace::embedded {
namespace {

Result<void> check(const Remember& request) {
  if (request.key.empty() || request.key.size() > limits::max_memo_key) {
    return fail(request.key.empty() ? ErrorCode::invalid : ErrorCode::too_large,
                fmt::format("memo key has {} bytes; 1 to {} are allowed", request.key.size(),
                            limits::max_memo_key));
  }
  if (request.value && request.value->size() > limits::max_memo_value) {
    return fail(ErrorCode::too_large, fmt::format("memo value has {} bytes; at most {} are allowed",
                                                  request.value->size(), limits::max_memo_value));
  }
  if (request.lifetime &&
      (*request.lifetime <= Duration::zero() || *request.lifetime > limits::max_delay)) {
    return fail(ErrorCode::invalid,
                fmt::format("memo lifetime is {} ms; it must be positive and at most ten years",
                            request.lifetime->count()));
  }
  return {};
}

}  // namespace

Result<Memo> Memos::remember(const Remember& request, TimePoint now) {
  if (auto good = check(request); !good) return std::unexpected(good.error());
  const Memo* old = find(request.key, now);
  const std::uint64_t current = old == nullptr ? 0 : old->version;
  if (request.expected && *request.expected != current) {
    return fail(ErrorCode::conflict, fmt::format("memo \"{}\" has version {}, not {}", request.key,
                                                 current, *request.expected));
  }
  if (!request.value) {
    erase(request.key);
    return Memo{.key = request.key};
  }
  if (old == nullptr && memos_.size() >= limits::max_memos) {
    return fail(ErrorCode::limited,
                fmt::format("there are {} memos, the most a store keeps", limits::max_memos));
  }
  Memo memo{.key = request.key, .value = *request.value, .version = ++version_};
  if (request.lifetime) memo.expires = later(now, *request.lifetime);
  restore(memo);
  return memo;
}

Result<void> check_recall(const Recall& request) {
  if (request.limit >= 1 && request.limit <= limits::max_page) return {};
  return fail(ErrorCode::invalid,
              fmt::format("limit is {}; 1 to {} are allowed", request.limit, limits::max_page));
}

std::optional<std::string> Memos::recall(const Recall& request, TimePoint now, const Most& most,
                                         std::vector<Memo>& found) const {
  auto at = request.after < request.prefix ? memos_.lower_bound(request.prefix)
                                           : memos_.upper_bound(request.after);
  const std::size_t full = found.size() + request.limit;
  std::size_t looked_at = 0;
  std::size_t bytes = 0;
  for (; at != memos_.end() && at->first.starts_with(request.prefix); ++at) {
    const auto& [key, memo] = *at;
    ++looked_at;
    if (!memo.expires || *memo.expires > now) {
      found.push_back(memo);
      bytes += key.size() + memo.value.size();
    }
    if (found.size() == full || looked_at == most.memos || bytes >= most.bytes) return key;
  }
  return std::nullopt;
}

std::optional<std::string> Memos::pop_ended(TimePoint now) {
  if (ends_.empty() || ends_.begin()->first > now) return std::nullopt;
  std::string key = ends_.begin()->second;
  erase(key);
  return key;
}

std::optional<TimePoint> Memos::first_end_after(TimePoint now) const {
  const auto end = ends_.lower_bound({now + Duration(1), std::string()});
  return end == ends_.end() ? std::nullopt : std::optional(end->first);
}

void Memos::restore(Memo memo) {
  erase(memo.key);
  if (memo.expires) ends_.emplace(*memo.expires, memo.key);
  memos_.emplace(memo.key, std::move(memo));
}

void Memos::erase(std::string_view key) {
  const auto found = memos_.find(key);
  if (found == memos_.end()) return;
  if (found->second.expires) ends_.erase({*found->second.expires, found->first});
  memos_.erase(found);
}

const Memo* Memos::find(std::string_view key, TimePoint now) const {
  const auto found = memos_.find(key);
  if (found == memos_.end()) return nullptr;
  if (found->second.expires && *found->second.expires <= now) return nullptr;
  return &found->second;
}

}  // namespace millrace::embedded
