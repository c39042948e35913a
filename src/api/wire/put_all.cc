#include "api/wire/put_all.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <utility>

#include "core/check.h"
#include "core/graph.h"
#include "core/limits.h"
#include "core/quote.h"
#include "core/uuid.h"

namespace millrace::wire {
namespace {

class PutAllReader {
 public:
  PutAllReader(std::string_view text, const QueueRef* queue, const std::function<TaskId()>& new_id)
      : in_(text), queue_(queue), new_id_(new_id) {}

  Read<PutBody> run() {
    read_object();
    if (in_.good()) name_tasks();
    if (in_.good()) resolve();
    if (in_.good()) check_cycle();
    in_.finish();
    if (!in_.good()) return std::unexpected(std::move(in_.refusal()));
    return std::move(body_);
  }

 private:
  struct Names {
    std::string ref = {};
    std::optional<AfterWords> after = std::nullopt;
  };

  void read_object() {
    static const std::array<std::string, 2> known = {"atomic", "tasks"};
    body_.list = body_.atomic = true;
    bool atomic = false;
    bool tasks = false;
    std::string scratch;
    bool first = true;
    if (!in_.open('{', Path{})) return;
    while (const auto key = in_.key(scratch, first)) {
      const Path here{.key = *key};
      if (*key == "atomic") {
        read(in_, atomic, here);
      } else if (*key == "tasks") {
        if (tasks) return in_.twice(here);
        tasks = true;
        read_tasks();
      } else {
        return in_.not_known(here, known);
      }
      if (!in_.good()) return;
    }
    if (!in_.good()) return;
    if (!tasks) return in_.miss(Path{.key = "tasks"});
    if (!atomic) {
      in_.refuse(
          Path{.key = "atomic"},
          "atomic is not true; send {\"atomic\":true,\"tasks\":[…]}, or the list alone to put "
          "each task for itself");
    }
  }

  void read_tasks() {
    if (!in_.open('[', root_)) return;
    bool first = true;
    for (std::size_t i = 0; in_.item(first); ++i) {
      if (i == limits::max_put_all) return in_.too_long(root_, limits::max_put_all);
      const Path at{.above = &root_, .index = i};
      PutWords words;
      wire::read(in_, words, at);
      if (!in_.good()) return;
      Names& names = names_.emplace_back(std::move(words.ref).value_or(""), std::move(words.after));
      if (words.ref && names.ref.empty()) {
        return in_.refuse(Path{.above = &at, .key = "ref"}, "ref is empty; leave it out");
      }
      words.ref.reset();
      words.after.reset();
      body_.tasks.push_back(meant(std::move(words), queue_, in_, at));
    }
  }

  // Every task gets its id here, because others may wait for it.
  void name_tasks() {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      NewTask& task = body_.tasks[i];
      if (task.id == TaskId{}) task.id = new_id_();
      std::string& ref = names_[i].ref;
      body_.refs.push_back(ref);
      if (ref.empty()) continue;
      const Path at{.above = &root_, .index = i};
      const Path here{.above = &at, .key = "ref"};
      if (ref.size() > limits::max_name || task_id_from_text(ref)) {
        return in_.refuse(
            here, fmt::format("ref {} {}; allowed are 1 to {} bytes", in_quotes(ref),
                              task_id_from_text(ref) ? "would be taken for an id" : "is too long",
                              limits::max_name));
      }
      const auto [other, added] = places_.emplace(ref, i);
      if (!added) {
        return in_.refuse(
            here, fmt::format("ref {} is that of tasks[{}] too", in_quotes(ref), other->second));
      }
    }
  }

  void resolve() {
    for (std::size_t i = 0; i < names_.size() && in_.good(); ++i) {
      if (!names_[i].after) continue;
      After& after = body_.tasks[i].after.emplace();
      after.when = names_[i].after->when;
      after.otherwise = names_[i].after->otherwise;
      for (std::size_t k = 0; k < names_[i].after->tasks.size(); ++k) {
        const std::string& text = names_[i].after->tasks[k].text;
        if (const auto at = places_.find(text); at != places_.end()) {
          after.tasks.push_back(body_.tasks[at->second].id);
        } else if (const auto id = task_id_from_text(text)) {
          after.tasks.push_back(*id);
        } else {
          const Path task{.above = &root_, .index = i};
          const Path above{.above = &task, .key = "after"};
          const Path list{.above = &above, .key = "tasks"};
          return in_.refuse(
              Path{.above = &list, .index = k},
              fmt::format("{} is neither a ref of this put nor an id", in_quotes(text)));
        }
      }
    }
  }

  // The broker would find a cycle too, but knows no refs.
  void check_cycle() {
    std::map<TaskId, std::size_t> by_id;
    for (std::size_t i = 0; i < body_.tasks.size(); ++i) by_id.emplace(body_.tasks[i].id, i);
    std::vector<std::vector<std::size_t>> waits_for(body_.tasks.size());
    for (std::size_t i = 0; i < body_.tasks.size(); ++i) {
      if (!body_.tasks[i].after) continue;
      for (const TaskId& id : body_.tasks[i].after->tasks) {
        if (const auto at = by_id.find(id); at != by_id.end()) waits_for[i].push_back(at->second);
      }
    }
    const auto cycle = find_cycle(waits_for);
    if (cycle.empty()) return;
    std::vector<std::string> names;
    for (const std::size_t place : cycle) {
      const std::string& ref = body_.refs[place];
      names.push_back(ref.empty() ? fmt::format("tasks[{}]", place) : ref);
    }
    const Path at{.above = &root_, .index = cycle.front()};
    Error error = cycle_refused(cycle, names).error();
    in_.refuse(Path{.above = &at, .key = "after"}, std::move(error.message));
  }

  Input in_;
  const QueueRef* queue_;
  const std::function<TaskId()>& new_id_;
  const Path root_{.key = "tasks"};
  PutBody body_;
  std::vector<Names> names_;
  std::map<std::string, std::size_t, std::less<>> places_;  // of refs
};

}  // namespace

bool is_atomic(std::string_view text) {
  // Most bodies are a list, or have none of these words anywhere.
  if (text.find("\"tasks\"") == text.npos && text.find("\"atomic\"") == text.npos) return false;
  Input in(text);
  if (in.peek() != '{' || !in.open('{', Path{})) return false;
  std::string scratch;
  bool first = true;
  while (const auto key = in.key(scratch, first)) {
    if (*key == "tasks" || *key == "atomic") return true;
    if (!in.raw()) return false;
  }
  return false;
}

Read<PutBody> read_put_all(std::string_view text, const QueueRef* queue,
                           const std::function<TaskId()>& new_id) {
  return PutAllReader(text, queue, new_id).run();
}

}  // namespace millrace::wire
