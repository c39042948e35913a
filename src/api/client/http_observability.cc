// The verbs of observability: history, metrics, events.
#include <fmt/format.h>
#include <memory>
#include <utility>

#include "api/client/http_broker.h"
#include "api/client/target.h"
#include "core/time_text.h"
#include "core/uuid.h"

namespace millrace {
namespace {

// Parameters one after another: ?a=1&b=2
class Parameters {
 public:
  explicit Parameters(std::string_view path) : text_(path) {}

  void add(std::string_view name, const std::string& value) {
    text_ += first_ ? '?' : '&';
    first_ = false;
    text_ += name;
    text_ += '=';
    text_ += client::percent_encoded(value);
  }
  void add(std::string_view name, const std::optional<std::string>& value) {
    if (value) add(name, *value);
  }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
  bool first_ = true;
};

}  // namespace

void HttpBroker::history(Ask ask, HistoryRequest request, Completion<History> done) {
  Parameters target("/v1/history");
  target.add("queue", request.queue);
  target.add("type", request.type);
  target.add("step", std::string(request.step >= std::chrono::hours(1) ? "1h" : "1m"));
  if (request.from != TimePoint{}) target.add("from", format_time(request.from));
  if (request.until != never) target.add("until", format_time(request.until));
  call<History>(ask, {.target = std::move(target).text()}, wire::history_from, std::move(done));
}

void HttpBroker::metrics(Ask ask, Completion<std::string> done) {
  send(ask, {.target = "/metrics", .as_it_is = true},
       [this, done = std::move(done)](Result<Reply> reply) mutable {
         const bool good = reply && reply->status == 200 &&
                           reply->header("content-type").starts_with("text/plain");
         if (good) return done(std::move(reply->body));
         auto judgement = judged(std::move(reply));
         if (!judgement) return done(std::unexpected(std::move(judgement.error())));
         done(fail(ErrorCode::invalid, "the answer is not a metrics page"));
       });
}

void HttpBroker::dead_groups(Ask ask, std::optional<std::string> queue,
                             std::optional<std::string> type, std::uint32_t limit,
                             Completion<FoundGroups> done) {
  Parameters target("/v1/dead/groups");
  target.add("queue", queue);
  target.add("type", type);
  target.add("limit", std::to_string(limit));
  call<FoundGroups>(ask, {.target = std::move(target).text()}, wire::groups_from, std::move(done));
}

void HttpBroker::events(Ask ask, const EventFilter& filter, std::string after,
                        std::function<Result<void>(const wire::StreamedEvent&)> tell,
                        Completion<std::string> done) {
  Parameters target("/v1/events");
  target.add("queue", filter.queue);
  target.add("type", filter.type);
  target.add("client_id", filter.client_id);
  for (unsigned i = 0; filter.kinds != all_event_kinds && i < event_kind_count; ++i) {
    const auto kind = static_cast<EventKind>(i);
    if ((filter.kinds & bit_of(kind)) != 0) target.add("event", std::string(name_of(kind)));
  }
  if (filter.id) target.add("id", to_text(filter.id->value));
  if (!after.empty()) target.add("after", after);
  auto reader = std::make_shared<wire::EventReader>();
  Request request{.target = std::move(target).text(), .waits = true};
  request.on_piece = [reader, tell = std::move(tell)](std::string_view piece) -> Result<void> {
    reader->feed(piece);
    for (;;) {
      auto news = reader->next();
      if (!news) return std::unexpected(std::move(news.error()));
      if (!*news) return {};
      if (auto told = tell(**news); !told) return told;
    }
  };
  send(ask, std::move(request),
       [reader, after = std::move(after), done = std::move(done)](Result<Reply> reply) mutable {
         if (!reply) return done(std::unexpected(std::move(reply.error())));
         done(reader->last_id().empty() ? std::move(after) : reader->last_id());
       });
}

}  // namespace millrace
