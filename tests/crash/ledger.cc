#include "tests/crash/ledger.h"

#include <fmt/format.h>
#include <vector>

#include "core/transition.h"
#include "core/uuid.h"
#include "store/store.h"
#include "tests/crash/facts.h"

namespace millrace::test {

namespace {

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words(1);
  for (const char c : line) {
    if (c == ' ') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

std::string name_of(const TaskId& id) {
  return to_text(id.value);
}

}  // namespace

void Ledger::complain(std::string text) {
  if (complaint_.empty()) complaint_ = std::move(text);
}

void Ledger::note(std::string_view line) {
  const auto words = words_of(line);
  if (words[0] == "wrong") return complain(std::string(line));
  if (words.size() < 2) return;
  const auto id = task_id_from_text(words[1]);
  if (!id) return complain(fmt::format("the child said \"{}\"", line));
  auto& known = tasks_[*id];
  known.touched = true;
  if (words[0] == "put") {
    known.put = true;
    return;
  }
  const auto token = token_from_text(words[2]).value_or(Token{});
  if (words[0] == "taken") {
    if (!tokens_.insert(token).second) complain(fmt::format("{}: a token came twice", line));
    if (known.holder) complain(fmt::format("{}: it was given out already", line));
    if (known.completed) complain(fmt::format("{}: it was completed", line));
    known.holder = token;
  } else if (words[0] == "settling") {
    if (known.holder == token) known.holder.reset();
    known.maybe.insert(words[3]);
  } else if (words[0] == "settled") {
    known.maybe.erase(words[3]);
    known.ended.insert(token);
    if (words[3] == "done") {
      known.completed = true;
      ++completed_;
    }
  }
}

void Ledger::check(Store& store, bool all, TimePoint now) {
  for (auto& [id, known] : tasks_) {
    if (!all && !known.touched) continue;
    check_task(store, id, known, now);
    known.touched = false;
    if (!complaint_.empty()) return;
  }
  recount(store, now);
}

void Ledger::check_task(Store& store, const TaskId& id, Known& known, TimePoint now) {
  const auto task = find_task(store, id);
  if (!task) {
    if (known.put || known.holder || known.completed) {
      complain(
          fmt::format("{} was acknowledged and is lost: {}", name_of(id), task.error().message));
    }
    return;
  }
  if (task->payload != payload_of(id)) complain(name_of(id) + " has another payload");
  const bool finished = task->state == TaskState::completed;
  if (known.completed && !finished) complain(name_of(id) + " was completed and is not");
  if (finished && task->result != result_of(id)) complain(name_of(id) + " has another result");
  if (finished && !known.completed && !known.maybe.contains("done")) {
    complain(name_of(id) + " is completed without a settlement");
  }
  check_tokens(store, id, known, *task, now);
}

void Ledger::check_tokens(Store& store, const TaskId& id, const Known& known, const Task& task,
                          TimePoint now) {
  std::vector<Extension> extensions;
  for (const auto& token : known.ended) extensions.push_back({.id = id, .token = token});
  if (known.holder) extensions.push_back({.id = id, .token = *known.holder});
  if (extensions.empty()) return;
  if (known.holder && task.state != TaskState::processing) {
    complain(fmt::format("{} was taken and not settled, and it is {}", name_of(id),
                         millrace::name_of(task.state)));
  }
  const auto result = store.work({}, extensions, {}, now);
  if (!result) return complain(result.error().message);
  for (std::size_t i = 0; i < known.ended.size(); ++i) {
    if (result->extended[i]) complain(name_of(id) + " takes a token that has ended");
  }
  if (known.holder && !result->extended.back()) {
    complain(fmt::format("{} refuses the token of its holder: {}", name_of(id),
                         result->extended.back().error().message));
  }
}

void Ledger::recount(Store& store, TimePoint now) {
  std::map<std::string, decltype(QueueCounts::by)> found;
  ListRequest request{.limit = 1000};
  while (true) {
    const auto page = store.list(request);
    if (!page) return complain(page.error().message);
    for (const auto& task : page->tasks) {
      ++found[task.queue][static_cast<std::size_t>(task.state)][task.priority];
    }
    if (!page->next) break;
    request.before = page->next;
  }
  const auto counts = store.counts(std::nullopt, now);
  if (!counts) return complain(counts.error().message);
  for (const auto& each : *counts) {
    if (each.by != found[each.queue])
      complain("the counters of " + each.queue + " differ from a recount");
  }
}

}  // namespace millrace::test
