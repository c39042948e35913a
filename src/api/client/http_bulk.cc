// Operations on many tasks.
#include <fmt/format.h>
#include <algorithm>
#include <utility>

#include "api/client/http_broker.h"
#include "api/wire/requests.h"
#include "api/wire/work.h"
#include "core/mutex.h"
#include "core/time_text.h"
#include "core/transition.h"
#include "core/uuid.h"

namespace millrace {
namespace {

constexpr unsigned start_repeats = 2;

std::string target(const TaskId& id, std::string_view more) {
  return fmt::format("/v1/bulk/{}{}", to_text(id.value), more);
}

}  // namespace

// With an id, so that it may be repeated if the answer is lost.
void HttpBroker::start_bulk(Ask ask, BulkRequest request, Completion<BulkOperation> done) {
  if (request.id.value.is_nil()) {
    const TimePoint moment = clock_.now();
    const Lock lock(mutex_);
    request.id = {ids_.next(moment)};
  }
  call<BulkOperation>(ask,
                      {.method = "POST",
                       .target = "/v1/bulk",
                       .body = wire::bulk_text(request),
                       .repeats = start_repeats},
                      wire::operation_from, std::move(done));
}

// A server waits for at most a minute, so a longer wait is split.
void HttpBroker::bulk_operation(Ask ask, TaskId id, Duration wait, Completion<BulkOperation> done) {
  const Duration piece = std::clamp(wait, Duration{}, wire::max_wait);
  Request request{.target = target(id, {})};
  if (piece > Duration{}) {
    request.target += "?wait=" + format_duration(piece);
    request.wait = piece;
    request.waits = true;
  }
  call<BulkOperation>(ask, std::move(request), wire::operation_from,
                      [this, ask, id, left = wait - piece,
                       done = std::move(done)](Result<BulkOperation> found) mutable {
                        if (!found || is_final(found->state) || left <= Duration{}) {
                          return done(std::move(found));
                        }
                        bulk_operation(ask, id, left, std::move(done));
                      });
}

void HttpBroker::bulk_operations(Ask ask, std::optional<TaskNumber> before, std::uint32_t limit,
                                 Completion<wire::BulkPage> done) {
  std::string list = fmt::format("/v1/bulk?limit={}", limit);
  if (before) list += fmt::format("&cursor={}", before->value);
  call<wire::BulkPage>(ask, {.target = std::move(list)}, wire::bulk_page_from, std::move(done));
}

void HttpBroker::cancel_bulk(Ask ask, TaskId id, std::string reason,
                             Completion<BulkOperation> done) {
  call<BulkOperation>(
      ask, {.method = "POST", .target = target(id, "/cancel"), .body = wire::cancel_text(reason)},
      wire::operation_from, std::move(done));
}

}  // namespace millrace
