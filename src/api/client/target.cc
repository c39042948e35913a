#include "api/client/target.h"

#include <fmt/format.h>
#include <variant>

#include "core/ascii.h"
#include "core/time_text.h"
#include "core/transition.h"
#include "core/uuid.h"

namespace millrace::client {
namespace {

std::string text_of(const QueueRef& queue) {
  if (const auto* name = std::get_if<std::string>(&queue)) return *name;
  if (const auto* number = std::get_if<QueueNumber>(&queue)) return fmt::to_string(number->value);
  return to_text(std::get<Uuid>(queue));
}

class Query {
 public:
  explicit Query(std::string path) : text_(std::move(path)) {}

  void add(std::string_view name, std::string_view value) {
    text_ += first_ ? '?' : '&';
    first_ = false;
    text_.append(name).append("=").append(percent_encoded(value));
  }
  void add_if(std::string_view name, const std::optional<std::string>& value) {
    if (value) add(name, std::string_view(*value));
  }
  void add_if(std::string_view name, const std::optional<TimePoint>& value) {
    if (value) add(name, format_time(*value));
  }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
  bool first_ = true;
};

}  // namespace

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view hex = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const bool plain = ascii::is_letter_or_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += hex[byte >> 4U];
      out += hex[byte & 15U];
    }
  }
  return out;
}

std::string task_target(const TaskRef& task, std::string_view more) {
  const auto* id = std::get_if<TaskId>(&task);
  return fmt::format(
      "/v1/tasks/{}{}",
      id != nullptr ? to_text(id->value) : fmt::to_string(std::get<TaskNumber>(task).value), more);
}

std::string queue_target(const QueueRef& queue, std::string_view more) {
  return fmt::format("/v1/queues/{}{}", percent_encoded(text_of(queue)), more);
}

std::string group_target(const QueueRef& queue, std::string_view name) {
  return queue_target(queue, "/groups/" + percent_encoded(name));
}

std::string groups_target(const GroupsRequest& request) {
  Query query(queue_target(request.queue, "/groups"));
  query.add_if("name", request.name);
  if (!request.after.empty()) query.add("after", request.after);
  query.add("limit", fmt::to_string(request.limit));
  return std::move(query).text();
}

std::string schedule_target(std::string_view name, std::string_view more) {
  return fmt::format("/v1/schedules/{}{}", percent_encoded(name), more);
}

std::string worker_target(std::string_view name, std::string_view more) {
  return fmt::format("/v1/workers/{}{}", percent_encoded(name), more);
}

std::string list_target(const ListRequest& request) {
  Query query("/v1/tasks");
  if (request.queue) query.add("queue", text_of(*request.queue));
  std::string states;
  for (const TaskState state : request.states) {
    if (!states.empty()) states += ',';
    states += name_of(state);
  }
  if (!states.empty()) query.add("state", states);
  query.add_if("type", request.type), query.add_if("client_id", request.client_id);
  query.add_if("group", request.group), query.add_if("tag", request.tag);
  if (request.priority) query.add("priority", fmt::to_string(unsigned{*request.priority}));
  if (request.waits_for) query.add("waits_for", to_text(request.waits_for->value));
  query.add_if("created_from", request.created_from);
  query.add_if("created_until", request.created_until);
  if (request.before) query.add("cursor", fmt::to_string(request.before->value));
  query.add("limit", fmt::to_string(request.limit));
  if (request.detail == Detail::full) query.add("full", "true");
  return std::move(query).text();
}

}  // namespace millrace::client
