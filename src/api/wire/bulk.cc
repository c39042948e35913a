#include "api/wire/bulk.h"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>
#include <variant>

#include "api/wire/put.h"
#include "api/wire/text_reader.h"
#include "api/wire/text_writer.h"
#include "core/base64.h"
#include "core/error_group.h"
#include "core/limits.h"
#include "core/quote.h"
#include "core/task_text.h"
#include "core/transition.h"

namespace millrace::wire {

// ---- Fields ----

// A filter and a request as callers write them: priorities may be names.
struct FilterWords {
  BulkFilter filter = {};
  std::optional<GivenPriority> priority = std::nullopt;
};
// A mistake, such as a variable that is not set, must not widen the filter.
void fields(A<FilterWords> auto& of, auto& visit) {
  visit("queue", not_null(of.filter.queue)), visit("state", not_null(of.filter.states));
  visit("type", not_null(of.filter.type)), visit("client_id", not_null(of.filter.client_id));
  visit("group", not_null(of.filter.group)), visit("tag", not_null(of.filter.tag));
  visit("priority", not_null(of.priority)), visit("created_from", not_null(of.filter.created_from));
  visit("created_until", not_null(of.filter.created_until)),
      visit("text", not_null(of.filter.text));
  visit("error_code", not_null(of.filter.error_code)),
      visit("error_group", not_null(of.filter.error_group));
}
struct BulkWords {
  BulkRequest request = {};
  FilterWords filter = {};
  std::optional<GivenPriority> priority = std::nullopt;
};
void fields(A<BulkWords> auto& of, auto& visit) {
  visit("id", of.request.id), visit("action", required(of.request.action));
  visit("filter", required(of.filter)), visit("priority", of.priority);
  visit("to", of.request.to), visit("reason", of.request.reason);
  visit("dry_run", not_null(of.request.dry_run));  // a mistake must not become the real thing
}

// As they are stored and shown.
void fields(A<BulkFilter> auto& of, auto& visit) {
  visit("queue", of.queue), visit("state", of.states), visit("type", of.type);
  visit("client_id", of.client_id), visit("group", of.group), visit("tag", of.tag);
  visit("priority", of.priority), visit("created_from", of.created_from);
  visit("created_until", of.created_until), visit("text", of.text);
  visit("error_code", of.error_code), visit("error_group", of.error_group);
}
void fields_asked(auto& of, auto& visit) {
  visit("action", required(of.action)), visit("filter", always(of.filter));
  visit("priority", of.priority), visit("to", of.to), visit("reason", of.reason);
}
void fields(A<BulkRequest> auto& of, auto& visit) {
  visit("id", of.id);
  fields_asked(of, visit);
  visit("dry_run", of.dry_run);
}
void fields_counted(auto& of, auto& visit) {
  visit("looked_at", always(of.looked_at)), visit("matched", always(of.matched));
  visit("done", always(of.done)), visit("refused", always(of.refused));
  visit("refusal", of.refusal);
}
// The stored progress, with `pending` as bytes.
struct ProgressWords {
  BulkProgress progress = {};
  std::string pending = {};
};
void fields(A<ProgressWords> auto& of, auto& visit) {
  visit("about", always(of.progress.about));
  fields_counted(of.progress, visit);
  visit("before", of.progress.before), visit("pending", of.pending);
}
struct ResultWords {
  BulkProgress progress = {};
};
void fields(A<ResultWords> auto& of, auto& visit) {
  fields_counted(of.progress, visit);
}
void fields(A<BulkOperation> auto& of, auto& visit) {
  visit("id", required(of.id));
  fields_asked(of.request, visit);
  visit("dry_run", always(of.request.dry_run)), visit("state", required(of.state));
  visit("cancel_requested", of.cancel_requested), visit("about", always(of.progress.about));
  fields_counted(of.progress, visit);
  visit("created_at", required(of.created_at)), visit("started_at", of.started_at);
  visit("finished_at", of.finished_at), visit("error", of.error);
}
struct BulkPageAnswer {
  std::vector<BulkOperation> operations = {};
  std::optional<std::string> next = std::nullopt;
};
void fields(A<BulkPageAnswer> auto& of, auto& visit) {
  visit("operations", required(of.operations)), visit("next", of.next);
}

namespace {

// ---- Requests ----

void check_states(const BulkRequest& request, const Path& at, Input& in) {
  const auto& states = request.filter.states;
  const Path list{.above = &at, .key = "state"};
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (applies(request.action, states[i])) continue;
    std::string allowed;
    for (std::size_t state = 0; state < state_count; ++state) {
      if (!applies(request.action, TaskState(state))) continue;
      if (!allowed.empty()) allowed += ", ";
      allowed += name_of(TaskState(state));
    }
    return in.refuse(Path{.above = &list, .index = i},
                     fmt::format("{} does nothing to tasks that are {}; allowed are {}",
                                 name_of(request.action), name_of(states[i]), allowed));
  }
}

void check_filter(const BulkRequest& request, Input& in) {
  const Path at{.key = "filter"};
  const BulkFilter& filter = request.filter;
  if (filter == BulkFilter{}) {
    return in.refuse(at,
                     "filter is empty; give at least one of queue, state, "
                     "type, client_id, group, tag, priority, created_from, created_until, text, "
                     "error_code, error_group");
  }
  check_states(request, at, in);
  const auto* queue = filter.queue ? std::get_if<std::string>(&*filter.queue) : nullptr;
  if (queue != nullptr && !may_touch(request.action, *queue)) {
    in.refuse(Path{.above = &at, .key = "queue"},
              fmt::format("queue {} is internal; of internal queues, tasks of $webhooks and "
                          "$alerts may be retried and removed",
                          in_quotes(*queue)));
  }
  if (filter.text && (filter.text->empty() || filter.text->size() > max_searched_text)) {
    in.refuse(Path{.above = &at, .key = "text"},
              fmt::format("text has {} bytes; allowed are 1 to {}", filter.text->size(),
                          max_searched_text));
  }
  if (filter.error_group && !is_error_group_name(*filter.error_group)) {
    in.refuse(Path{.above = &at, .key = "error_group"}, no_error_group(*filter.error_group));
  }
  if (filter.created_from && filter.created_until &&
      *filter.created_from >= *filter.created_until) {
    in.refuse(Path{.above = &at, .key = "created_until"},
              "created_until is not after created_from; no task could match");
  }
}

}  // namespace

void check_words(const BulkRequest& request, Input& in) {
  const auto only_of = [&](std::string_view key, BulkAction action, bool given, bool needed) {
    if (given && request.action != action) {
      in.refuse(Path{.key = key},
                fmt::format("{} is given, but the action is {}; it is only allowed with {}", key,
                            name_of(request.action), name_of(action)));
    }
    if (needed && !given && request.action == action) in.miss(Path{.key = key});
  };
  only_of("priority", BulkAction::priority, request.priority.has_value(), true);
  only_of("to", BulkAction::move, request.to.has_value(), true);
  only_of("reason", BulkAction::cancel, !request.reason.empty(), false);
  const auto* to = request.to ? std::get_if<std::string>(&*request.to) : nullptr;
  if (to != nullptr && to->starts_with('$')) {
    in.refuse(Path{.key = "to"},
              fmt::format("queue {} is internal; allowed is any other", in_quotes(*to)));
  } else if (request.to && request.to == request.filter.queue) {
    in.refuse(Path{.key = "to"}, "to is the queue that the filter names; name another queue");
  }
  if (request.reason.size() > limits::max_error_text) {
    in.refuse(Path{.key = "reason"}, fmt::format("reason has {} bytes; allowed are {}",
                                                 request.reason.size(), limits::max_error_text));
  }
}

namespace {

// ---- Progress ----

// The id, the version, and the moment of the end, or the least number for a task that has not
// ended.
constexpr std::size_t seen_bytes =
    sizeof(Uuid::bytes) + sizeof(std::uint32_t) + sizeof(std::int64_t);

void append_number(std::string& bytes, std::uint64_t number, unsigned count) {
  for (unsigned i = 0; i < count; ++i) bytes += static_cast<char>((number >> (8 * i)) & 0xFFU);
}

std::uint64_t number_from(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    number |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return number;
}

std::string bytes_of(const std::vector<BulkSeen>& pending) {
  std::string bytes;
  bytes.reserve(pending.size() * seen_bytes);
  for (const BulkSeen& seen : pending) {
    for (const auto byte : seen.id.value.bytes) bytes += static_cast<char>(byte);
    append_number(bytes, seen.version.value, 4);
    const TimePoint end = seen.finished_at.value_or(TimePoint::min());
    append_number(bytes, static_cast<std::uint64_t>(end.time_since_epoch().count()), 8);
  }
  return bytes;
}

Result<std::vector<BulkSeen>> pending_from(std::string_view bytes) {
  if (bytes.size() % seen_bytes != 0) {
    return fail(ErrorCode::corrupt,
                fmt::format("pending has {} bytes; a task takes {}", bytes.size(), seen_bytes));
  }
  std::vector<BulkSeen> pending;
  for (; !bytes.empty(); bytes.remove_prefix(seen_bytes)) {
    BulkSeen& seen = pending.emplace_back();
    auto& id = seen.id.value.bytes;
    std::memcpy(id.data(), bytes.data(), id.size());
    seen.version.value = static_cast<std::uint32_t>(number_from(bytes.substr(id.size(), 4)));
    const auto end = static_cast<std::int64_t>(number_from(bytes.substr(id.size() + 4, 8)));
    const TimePoint ended{Duration(end)};
    if (ended != TimePoint::min()) seen.finished_at = ended;
  }
  return pending;
}

// Reads what this server has stored itself.
template <class T>
Result<T> read_stored(std::string_view text, std::string_view what) {
  auto read = read_text<T>(text, {}, Source::answer);
  if (read) return std::move(*read);
  return fail(ErrorCode::corrupt,
              fmt::format("{} cannot be read: {}", what, read.error().error.message));
}

}  // namespace

std::string no_error_group(std::string_view given) {
  return fmt::format(
      "error_group {} is not a group of dead letters; give a key from GET /v1/dead/groups",
      in_quotes(given));
}

Read<BulkRequest> read_bulk(std::string_view text) {
  Input in(text);
  BulkWords words;
  read(in, words, Path{});
  if (in.good()) {
    const Path filter{.key = "filter"};
    words.request.filter = std::move(words.filter.filter);
    take_priority(words.filter.priority, std::nullopt, words.request.filter.priority,
                  Path{.above = &filter, .key = "priority"}, in);
    take_priority(words.priority, std::nullopt, words.request.priority, Path{.key = "priority"},
                  in);
  }
  if (in.good()) check_filter(words.request, in);
  if (in.good()) check_words(words.request, in);
  in.finish();
  if (!in.good()) return std::unexpected(std::move(in.refusal()));
  return std::move(words.request);
}

std::string bulk_text(const BulkRequest& request) {
  return text_of(request);
}

Result<BulkRequest> bulk_from(std::string_view payload) {
  return read_stored<BulkRequest>(payload, "the operation");
}

std::string progress_text(const BulkProgress& progress) {
  ProgressWords words{.progress = progress};
  words.progress.pending.clear();
  words.pending = base64_encode(bytes_of(progress.pending));
  return text_of(words);
}

Result<BulkProgress> progress_from(std::string_view text) {
  auto words = read_stored<ProgressWords>(text, "the stored progress of the operation");
  if (!words) return std::unexpected(std::move(words.error()));
  const auto bytes = base64_decode(words->pending);
  if (!bytes) return fail(ErrorCode::corrupt, "pending: " + bytes.error().message);
  auto pending = pending_from(*bytes);
  if (!pending) return std::unexpected(std::move(pending.error()));
  words->progress.pending = std::move(*pending);
  return std::move(words->progress);
}

std::string result_text(const BulkProgress& progress) {
  return text_of(ResultWords{.progress = progress});
}

// ---- Views ----

Result<BulkOperation> operation_of(const Task& task, std::string_view memo) {
  auto request = bulk_from(task.payload);
  if (!request) return std::unexpected(std::move(request.error()));
  BulkOperation operation{.id = task.id,
                          .request = std::move(*request),
                          .state = task.state,
                          .cancel_requested = task.cancel_requested,
                          .created_at = task.created_at,
                          .started_at = task.started_at,
                          .finished_at = task.finished_at,
                          .error = task.error};
  if (task.state == TaskState::completed) {
    auto result = read_stored<ResultWords>(task.result, "the result of the operation");
    if (!result) return std::unexpected(std::move(result.error()));
    operation.progress = std::move(result->progress);
    operation.progress.about = operation.progress.looked_at;
  } else if (!memo.empty()) {
    auto progress = progress_from(memo);
    if (!progress) return std::unexpected(std::move(progress.error()));
    operation.progress = std::move(*progress);
  }
  return operation;
}

std::string view_of(const BulkOperation& operation) {
  return text_of(operation);
}

Result<BulkOperation> operation_from(std::string_view text) {
  return read_answer<BulkOperation>(text);
}

std::string page_of(const BulkPage& page) {
  std::string out;
  TextWriter writer(out);
  append(writer.key("operations"), page.operations);
  if (page.next) append(writer.key("next"), fmt::format("{}", page.next->value));
  writer.close();
  return out;
}

Result<BulkPage> bulk_page_from(std::string_view text) {
  auto answer = read_answer<BulkPageAnswer>(text);
  if (!answer) return std::unexpected(std::move(answer.error()));
  BulkPage page{.operations = std::move(answer->operations)};
  if (!answer->next) return page;
  const std::string& next = *answer->next;
  TaskNumber number;
  const auto [end, error] = std::from_chars(next.data(), next.data() + next.size(), number.value);
  if (error != std::errc{} || end != next.data() + next.size()) {
    return fail(ErrorCode::unavailable, "the answer cannot be read: next is not a number");
  }
  page.next = number;
  return page;
}

}  // namespace millrace::wire
