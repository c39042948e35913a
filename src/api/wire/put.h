// The body of a put. It has more fields than a task, because priorities and retries may be given in
// more than one way.
#pragma once

#include <millrace/ids.h>
#include <millrace/task.h>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/wire/text_reader.h"
#include "core/priority.h"
#include "core/values.h"

namespace millrace::wire {

// A number or a name; what it means depends on the scale.
struct GivenPriority {
  std::optional<std::int64_t> number = std::nullopt;
  std::string name = {};
};
void read(Input& in, GivenPriority& to, const Path& at);
// 0 to 9. Without a scale, numbers are that already and names are high, medium, low.
Result<std::uint8_t> priority_of(const GivenPriority& given, std::optional<PriorityScale> scale);

// Sets `to` if a priority is given; refuses one that is none.
void take_priority(const std::optional<GivenPriority>& given, std::optional<PriorityScale> scale,
                   std::optional<std::uint8_t>& to, const Path& at, Input& in);

// A task to wait for: its id or, in a put that is all or none, the ref of a task of that put.
struct TaskName {
  std::string text = {};
};
void read(Input& in, TaskName& to, const Path& at);

struct AfterWords {
  std::vector<TaskName> tasks = {};
  AfterWhen when = AfterWhen::completed;
  Otherwise otherwise = Otherwise::cancel;
};
void fields(A<AfterWords> auto& of, auto& visit) {
  visit("tasks", required(of.tasks)), visit("when", of.when), visit("otherwise", of.otherwise);
}
// An object, or the list alone.
void read(Input& in, AfterWords& to, const Path& at);

struct PutWords {
  NewTask task = {};
  std::optional<QueueRef> queue = std::nullopt;
  std::optional<GivenPriority> priority = std::nullopt;
  std::optional<PriorityScale> scale = std::nullopt;
  std::optional<std::uint32_t> max_retries = std::nullopt;
  std::optional<std::uint32_t> attempts = std::nullopt;  // one more than retries
  std::optional<AfterWords> after = std::nullopt;
  std::optional<std::string> ref = std::nullopt;
};

// The extra fields come before the fields of the task that they replace.
void fields(A<PutWords> auto& of, auto& visit) {
  visit("id", of.task.id), visit("queue", of.queue), visit("priority", of.priority);
  visit("priority_scale", of.scale), visit("max_retries", of.max_retries);
  visit("attempts", of.attempts), visit("after", of.after), visit("ref", of.ref);
  fields_given(of.task, visit);
  visit("held", of.task.held), visit("start", of.task.start), visit("delay_ms", of.task.delay);
}

template <>
inline constexpr std::size_t longest_list<PutWords> = limits::max_follow_ups;

// Turns the body into a task; otherwise `in` has the error. A task that names no queue goes to
// `queue`.
NewTask meant(PutWords&& words, const QueueRef* queue, Input& in, const Path& at);

// Reads one task at the cursor.
NewTask read_task(Input& in, const QueueRef* queue, const Path& at);
// One task and nothing else.
Read<NewTask> read_task(std::string_view text, const QueueRef* queue);

// One task or a list of them, of which an invalid item is refused on its own; or
// {"atomic":true,"tasks":[…]}, which is refused whole.
struct PutBody {
  bool list = false;
  bool atomic = false;
  std::vector<std::string> refs = {};  // of an atomic put, by task; empty: none
  std::vector<NewTask> tasks = {};     // the good ones
  std::vector<std::pair<std::size_t, Refusal>> refused = {};  // the others, and their places

  std::size_t size() const { return tasks.size() + refused.size(); }
};
// `new_id` makes ids for tasks of an atomic put, because others may wait for them.
Read<PutBody> read_put(std::string_view text, const QueueRef* queue,
                       const std::function<TaskId()>& new_id = nullptr);

// {"tasks":[{"id":…,"number":…,"state":…,"existing":…,"ref":…}]}
std::string put_all_answer(const std::vector<Put>& puts, const std::vector<std::string>& refs);

// {"id":…,"number":…,"state":…,"existing":…}, and "replaced":true if it is.
void append(std::string& out, const Put& put);

// {"code":…,"message":…,"field":…,"retry_after_ms":…}
// The code of an error in an answer.
std::string_view code_of(const Error& error);
void append_error(std::string& out, const Error& error);

}  // namespace millrace::wire
