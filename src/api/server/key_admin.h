// Managing API keys, as the routes see it: shapes, and functions that somebody else provides.
#pragma once

#include <millrace/queue.h>
#include <millrace/result.h>
#include <millrace/time.h>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/server/access_check.h"
#include "broker/caller.h"

namespace millrace::api {

struct NewKey {
  std::string name = {};
  std::vector<Scope> scopes = {};
  std::vector<std::string> queues = {};  // patterns; empty: every queue
  std::optional<TimePoint> expires = std::nullopt;
  std::optional<Rate> rate = std::nullopt;  // requests
};

struct KeyView {
  std::string id = {};
  std::string name = {};
  std::vector<Scope> scopes = {};
  std::vector<std::string> queues = {};
  TimePoint created_at{};
  std::optional<TimePoint> expires = std::nullopt;
  std::optional<Rate> rate = std::nullopt;
};

struct CreatedKey {
  KeyView key = {};
  std::string secret = {};  // shown this once
};

// `by` is the id of the key that asks, for the log of actions. Each completion is called once, from
// any thread.
struct KeyAdmin {
  std::function<void(Completion<std::vector<KeyView>> done)> list = {};
  std::function<void(std::string by, NewKey key, Completion<CreatedKey> done)> create = {};
  // `conflict`: it is the last one that can manage keys, and `force` is not set.
  std::function<void(std::string by, std::string id, bool force, Completion<void> done)> revoke =
      {};
};

}  // namespace millrace::api
