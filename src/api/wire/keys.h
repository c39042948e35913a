// API keys in the client: requests, and what a server shows of keys.
#pragma once

#include <millrace/queue.h>
#include <millrace/result.h>
#include <millrace/time.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::wire {

struct KeyInfo {
  std::string id = {};
  std::string name = {};
  std::vector<std::string> scopes = {};
  std::vector<std::string> queues = {};  // patterns; empty: every queue
  TimePoint created_at{};
  std::optional<TimePoint> expires = std::nullopt;
  std::optional<Rate> rate = std::nullopt;
  std::string secret = {};  // the key itself, shown once, when it is created
};

// {"name":…,"scopes":[…],"queues":[…],"expires":…,"rate":…}: a request for a new one.
std::string key_text(const KeyInfo& wanted);
// As a server shows one, and all: {"keys":[…]}
std::string view_of(const KeyInfo& key);
std::string view_of(const std::vector<KeyInfo>& keys);

// `unavailable`: the answer cannot be read.
Result<KeyInfo> key_from(std::string_view text);
Result<std::vector<KeyInfo>> keys_from(std::string_view text);

}  // namespace millrace::wire
