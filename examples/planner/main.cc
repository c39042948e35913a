// Executes plans: planner journal:./data --goal "A shed" --topic Roof --topic Walls --once
#include <fmt/format.h>
#include <millrace/app.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "planner.h"
#include "table.h"

namespace {

using namespace planner;
using millrace::TaskState;

constexpr std::string_view usage =
    "usage: planner [STORE] [options]\n\n"
    "  STORE            where the tasks are: journal:./planner-data (the default), memory:,\n"
    "                   or any other that Millrace knows, such as http://server:7070\n\n"
    "  --goal TEXT      make a plan for this and execute it, with\n"
    "  --topic TEXT     what it is about; once for each topic\n"
    "  --plan FILE      execute the plan in this file of JSON; README.md shows one\n"
    "  --priority N     of what is put here: 0 to 9, 9 first; 5 unless given\n"
    "  --retry-dead     first give another try to everything that has failed for good\n"
    "  --out DIRECTORY  where artifacts go: DIRECTORY/PLAN/RUN/…; ./artifacts unless given\n"
    "  --once           end when what was put here has ended, with 1 if some of it failed;\n"
    "                   for a store that no other program works on\n"
    "  --task ID        show this task as the table queue_tasks has it, and end\n"
    "  --help           show this\n\n"
    "Works until Ctrl-C. Kill it in the middle and start it again: it continues where it was.\n";

struct Arguments {
  std::string store = "journal:./planner-data";
  std::string out = "./artifacts";
  std::string goal;
  std::vector<std::string> topics;
  std::string plan;
  std::string task;
  std::uint8_t priority = millrace::default_priority;
  bool retry_dead = false;
  bool once = false;
  bool help = false;
};

struct Misused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::uint8_t read_priority(std::string_view text) {
  unsigned priority = 10;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), priority);
  if (read.ec == std::errc() && read.ptr == text.data() + text.size() && priority <= 9) {
    return static_cast<std::uint8_t>(priority);
  }
  throw Misused(fmt::format("--priority is 0 to 9, not \"{}\"", text));
}

Arguments read_arguments(std::span<char*> words) {
  Arguments read;
  bool store_given = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const auto value = [&]() -> std::string {
      if (i + 1 == words.size()) throw Misused(fmt::format("{} needs a value", word));
      return words[++i];
    };
    if (word == "--help") {
      read.help = true;
    } else if (word == "--once") {
      read.once = true;
    } else if (word == "--retry-dead") {
      read.retry_dead = true;
    } else if (word == "--goal") {
      read.goal = value();
    } else if (word == "--topic") {
      read.topics.push_back(value());
    } else if (word == "--plan") {
      read.plan = value();
    } else if (word == "--task") {
      read.task = value();
    } else if (word == "--out") {
      read.out = value();
    } else if (word == "--priority") {
      read.priority = read_priority(value());
    } else if (word.starts_with("-") || store_given) {
      throw Misused(fmt::format("\"{}\" is not known here", word));
    } else {
      read.store = word;
      store_given = true;
    }
  }
  if (read.goal.empty() != read.topics.empty()) throw Misused("--goal and --topic go together");
  if (read.once && read.goal.empty() && read.plan.empty()) {
    throw Misused("--once needs something to do: --goal or --plan");
  }
  return read;
}

Plan plan_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file.is_open() || file.bad()) throw Misused(fmt::format("{} cannot be read", path));
  auto plan = millrace::decode<Plan>(text);
  if (!plan) throw Misused(fmt::format("{}: {}", path, plan.error().message));
  return std::move(*plan);
}

// Says what happens, and knows when all that was put here has ended.
class Watch {
 public:
  Watch(millrace::App& app, bool once) : app_(app), once_(once) {}

  void expect(const millrace::Put& put) {
    const std::scoped_lock lock(mutex_);
    runs_.insert(millrace::to_text(put.id));
  }
  void told(const millrace::TaskEvent& event) {
    const std::scoped_lock lock(mutex_);
    const std::string why = event.error() == nullptr ? "" : ": " + event.error()->message;
    fmt::print("{} {}: {}{}\n", event.task.type, millrace::to_text(event.task.id),
               word_for(event.state), why);
    std::fflush(stdout);
    const bool failed = event.state == TaskState::failed || event.state == TaskState::dead;
    const bool last = failed || event.task.type == "artifact_collection";
    if (!last || event.state == TaskState::retrying) return;
    if (runs_.erase(millrace::to_text(run_of(event.task))) == 0) return;
    if (failed) code_ = 1;
    if (once_ && runs_.empty()) app_.shutdown();
  }
  int code() const { return code_; }

 private:
  static std::string_view word_for(TaskState state) {
    switch (state) {
      case TaskState::completed:
        return "completed";
      case TaskState::retrying:
        return "will be tried again";
      case TaskState::failed:
      case TaskState::dead:
        return "failed for good";
      default:
        return "waits";
    }
  }

  millrace::App& app_;
  bool once_;
  std::mutex mutex_;
  std::set<std::string> runs_;  // that have not ended
  int code_ = 0;
};

void retry_dead(millrace::Client& client) {
  for (const char* queue : {planning_queue, plans_queue, artifacts_queue}) {
    const auto retried = client.retry_dead({.queue = queue});
    if (!retried && retried.error().code == millrace::ErrorCode::not_found) continue;
    if (!retried) throw millrace::Failure(retried.error());
    if (*retried > 0) fmt::print("{}: {} tasks are tried again\n", queue, *retried);
  }
}

int show(const std::string& store, const std::string& text) {
  const auto id = millrace::decode<millrace::TaskId>(millrace::encode(text));
  if (!id) throw Misused(fmt::format("\"{}\" is not the id of a task", text));
  millrace::Client client(store);
  const auto task = client.find(*id);
  if (!task) throw millrace::Failure(task.error());
  fmt::print("{}\n", millrace::encode(row_of(*task)));
  return 0;
}

int run(const Arguments& arguments) {
  if (!arguments.task.empty()) return show(arguments.store, arguments.task);
  Plan plan;
  if (!arguments.plan.empty()) plan = plan_in(arguments.plan);
  Services services{.output = arguments.out};
  millrace::App app(arguments.store, app_options());
  const Planner planner(app, services);
  Watch watch(app, arguments.once);
  services.told = [&watch](const millrace::TaskEvent& event) { watch.told(event); };
  if (arguments.retry_dead) retry_dead(app.client());
  const millrace::PutOptions options{.priority = arguments.priority};
  if (!arguments.goal.empty()) {
    watch.expect(planner.plan({arguments.goal, arguments.topics}, options));
  }
  if (!arguments.plan.empty()) watch.expect(planner.execute(plan, options));
  const int code = app.run();
  return code != 0 ? code : watch.code();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Arguments arguments =
        read_arguments(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
    if (arguments.help) {
      fmt::print("{}", usage);
      return 0;
    }
    return run(arguments);
  } catch (const Misused& misused) {
    fmt::print(stderr, "planner: {}\nplanner --help shows what may be given\n", misused.what());
    return 2;
  } catch (const millrace::Failure& failure) {
    fmt::print(stderr, "planner: {}\n", failure.error.message);
    return 1;
  }
}
