// API keys that live in the store: what access_check.h and key_admin.h ask for.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "access/key_book.h"
#include "api/server/access_check.h"
#include "api/server/key_admin.h"
#include "broker/local_broker.h"
#include "core/log.h"

namespace millrace::api {

// The words of the room access in ours, and back.
access::Scope to_access(Scope scope);
Access access_of(access::Verdict verdict, bool session = false);
KeyView view_of(const access::Key& key);

// Asks the book about every request. Both must outlive the function.
AccessCheck check_keys(access::KeyBook& book, std::function<TimePoint()> now);
// The same about a request that has been let in: costs nothing of the key's rate.
AccessCheck check_keys_again(const access::KeyBook& book, std::function<TimePoint()> now);

// Makes, lists and revokes keys through the broker, and brings the book up to date before it
// answers. All must outlive whoever calls. The first key of a server must be able to make others,
// or nobody could.
KeyAdmin manage_keys(access::KeyBook& book, std::function<LocalBroker*()> broker, Log log);

// Reads all keys anew: other processes may have changed them. `done` may be empty.
void reload_keys(access::KeyBook& book, LocalBroker& broker, const Log& log,
                 Completion<void> done = nullptr);

}  // namespace millrace::api
