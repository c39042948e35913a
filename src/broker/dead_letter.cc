#include "broker/dead_letter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base64.h"
#include "core/limits.h"
#include "core/transition.h"
#include "core/utf8.h"
#include "core/uuid.h"
#include "payload/raw.h"
#include "payload/text.h"

namespace millrace {
namespace {

// What webhooks and alerts may still add to the follow-ups, and what a dead letter says beside the
// payload.
constexpr std::size_t for_others = 256 * limits::kib;

// An object that is not closed yet.
class OpenObject {
 public:
  explicit OpenObject(std::string& out) : out_(out) { out_ += '{'; }

  std::string& key(std::string_view name) {
    if (!std::exchange(first_, false)) out_ += ',';
    json::append_text(out_, name);
    out_ += ':';
    return out_;
  }
  void text(std::string_view name, std::string_view text) {
    if (!text.empty()) json::append_text(key(name), text);
  }
  void count(std::string_view name, std::uint32_t count) {
    json::append_number(key(name), std::uint64_t{count});
  }
  void time(std::string_view name, TimePoint moment) { json::append_time(key(name), moment); }
  void close() { out_ += '}'; }

 private:
  std::string& out_;
  bool first_ = true;
};

// In the forms in which the API gives payloads.
void append_payload(OpenObject& object, const DeadTask& task) {
  if (task.payload.empty()) return;
  if (json::is_json_type(task.content_type) && json::is_json(task.payload)) {
    object.key("payload") += task.payload;
  } else if (is_utf8(task.payload)) {
    object.text("payload_text", task.payload);
  } else {
    object.text("payload_base64", base64_encode(task.payload));
  }
}

void append_error(std::string& out, const TaskError& error) {
  OpenObject object(out);
  object.text("code", error.code), object.text("message", error.message);
  object.text("details", error.details), object.text("stack", error.stack);
  object.time("failed_at", error.failed_at);
  object.close();
}

void append_counters(std::string& out, const Counters& counters) {
  OpenObject object(out);
  object.count("deliveries", counters.deliveries), object.count("attempts", counters.attempts);
  object.count("retries", counters.retries), object.count("lost", counters.lost);
  object.close();
}

std::string payload_of(const Settlement& settlement, const DeadTask& task, bool with_payload,
                       TimePoint now) {
  std::string out;
  OpenObject object(out);
  object.text("task", to_text(task.id.value));
  object.text("queue", task.queue), object.text("type", task.type);
  object.text("state", name_of(state_after(TaskState::processing, settlement.event)));
  if (with_payload) append_payload(object, task);
  if (!with_payload) object.key("payload_left_out") += "true";
  object.text("content_type", task.content_type);
  if (settlement.error) append_error(object.key("error"), *settlement.error);
  append_counters(object.key("counters"), settlement.counters);
  object.time("created_at", task.created_at), object.time("finished_at", now);
  object.close();
  return out;
}

std::size_t room_beside(const std::vector<NewTask>& tasks, std::size_t more) {
  std::size_t used = for_others + more;
  for (const NewTask& task : tasks) used += task.payload.size() + task.metadata.size();
  return limits::max_follow_up_bytes - std::min(used, limits::max_follow_up_bytes);
}

}  // namespace

bool makes_dead_letter(Event event, const QueueSettings& queue) {
  return !queue.dead_letter_queue.empty() && (event == Event::fail || event == Event::exhaust);
}

void add_dead_letter(Settlement& settlement, const DeadTask& task, const QueueSettings& queue,
                     Ids& ids, TimePoint now) {
  const std::size_t room =
      std::min(room_beside(settlement.follow_ups, task.metadata.size()), limits::mib);
  std::string payload;
  if (!task.left_out && task.payload.size() <= room) {
    payload = payload_of(settlement, task, true, now);
  }
  // Written as JSON it may be larger than it was.
  if (payload.empty() || payload.size() > room) payload = payload_of(settlement, task, false, now);
  settlement.follow_ups.push_back({.id = {ids.next(now)},
                                   .queue = queue.dead_letter_queue,
                                   .type = std::string(dead_letter_type),
                                   .payload = std::move(payload),
                                   .priority = task.priority,
                                   .client_id = std::string(task.client_id),
                                   .request_id = std::string(task.request_id),
                                   .group = std::string(task.group),
                                   .metadata = std::string(task.metadata),
                                   .tags = {task.tags.begin(), task.tags.end()},
                                   .parent = task.id});
}

}  // namespace millrace
