// Who did what.
#include <utility>

#include "api/server/action_log.h"
#include "api/server/action_words.h"
#include "api/server/handlers.h"
#include "core/limits.h"

namespace millrace::api {

void list_actions(CallPtr call) {
  const std::string cursor = call->query.text("cursor").value_or("");
  const auto limit = call->query.number("limit", 1, limits::max_page).value_or(100);
  if (!call->query_is_good()) return;
  if (call->options.actions == nullptr) {
    return call->refuse(Error{ErrorCode::not_found, "this server keeps no actions"});
  }
  if (call->restricted()) {
    return call->refuse(Problem{.status = 403,
                                .code = "forbidden",
                                .detail = "this key is for some queues only, and actions are about "
                                          "all of them"});
  }
  LocalBroker& broker = *call->broker;
  ActionLog::list(broker, cursor, limit, [call = std::move(call)](Result<ActionPage> page) mutable {
    if (page) return call->answer(text_of(*page));
    const bool wrong = page.error().code == ErrorCode::invalid;
    call->refuse(wire::Refusal{.error = std::move(page.error()), .malformed = wrong});
  });
}

}  // namespace millrace::api
