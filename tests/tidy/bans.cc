#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "tests/tidy/cpp_text.h"
#include "tests/tidy/rules.h"

namespace millrace::tidy {

namespace {

constexpr auto npos = std::string_view::npos;

// The two places that may read a clock: the product's one, and the one the benches measure with.
constexpr std::array clock_readers{"src/core/clock.cc", "bench/measure.cc"};

// Locks that clang's analysis of threads does not know, and the file that may name them.
constexpr std::array plain_locks{
    "std::mutex",       "std::recursive_mutex", "std::shared_mutex",
    "std::timed_mutex", "std::lock_guard",      "std::scoped_lock",
    "std::unique_lock", "std::shared_lock",     "std::condition_variable"};
constexpr std::string_view plain_lock_user = "src/core/mutex.h";

char next_visible(std::string_view code, std::size_t from) {
  const std::size_t at = code.find_first_not_of(" \n\t", from);
  return at == npos ? '\0' : code[at];
}

void ban_clocks(const File& file, Complaints& complaints) {
  if (std::ranges::find(clock_readers, file.path) != clock_readers.end()) return;
  const auto complain = [&](std::size_t at, std::string_view what) {
    complaints.push_back({file.path, line_at(file.cpp.code, at),
                          fmt::format("{} reads the clock; take `now` as an argument, or ask the "
                                      "Clock that is passed in",
                                      what)});
  };
  for (std::size_t at = file.cpp.code.find("_clock::now"); at != npos;
       at = file.cpp.code.find("_clock::now", at + 1)) {
    complain(at, "now()");
  }
  for (const std::string_view call : {"gettimeofday", "clock_gettime"}) {
    for (std::size_t at = find_word(file.cpp.code, call); at != npos;
         at = find_word(file.cpp.code, call, at + 1)) {
      complain(at, call);
    }
  }
}

void ban_plain_locks(const File& file, Complaints& complaints) {
  const bool product = file.path.starts_with("src/") || file.path.starts_with("include/") ||
                       file.path.starts_with("apps/");
  if (!product || file.is_test()) return;
  if (file.path == plain_lock_user) return;
  for (const std::string_view lock : plain_locks) {
    for (std::size_t at = find_word(file.cpp.code, lock); at != npos;
         at = find_word(file.cpp.code, lock, at + 1)) {
      complaints.push_back({file.path, line_at(file.cpp.code, at),
                            fmt::format("{} says nothing to clang's analysis of threads; take what "
                                        "core/mutex.h has",
                                        lock)});
    }
  }
}

void ban_sleeping(const File& file, Complaints& complaints) {
  if (!file.is_test()) return;
  for (const std::string_view call : {"sleep", "usleep", "nanosleep", "sleep_for", "sleep_until"}) {
    for (std::size_t at = find_word(file.cpp.code, call); at != npos;
         at = find_word(file.cpp.code, call, at + 1)) {
      if (next_visible(file.cpp.code, at + call.size()) != '(') continue;
      complaints.push_back({file.path, line_at(file.cpp.code, at),
                            fmt::format("{} in a test; advance a ManualClock, or wait for an event "
                                        "with a time limit",
                                        call)});
    }
  }
}

void ban_notes(const File& file, Complaints& complaints) {
  const std::string_view comments = file.cpp.comments;
  for (const std::string_view note : {"FIXME", "XXX"}) {
    for (std::size_t at = find_word(comments, note); at != npos;
         at = find_word(comments, note, at + 1)) {
      complaints.push_back(
          {file.path, line_at(comments, at),
           fmt::format("{} left behind; mend it now, or write down what is missing "
                       "where users and maintainers look for it",
                       note)});
    }
  }
}

void ban_dumping_grounds(const File& file, Complaints& complaints) {
  static constexpr std::array names{"util", "utils", "common", "helper", "helpers", "misc"};
  for (const std::string_view part : split(folder_of(file.path), '/')) {
    if (std::ranges::find(names, part) == names.end()) continue;
    complaints.push_back(
        {file.path, 1,
         fmt::format("a folder named {} collects everything; put the file into the "
                     "room that uses it and name it after what it does",
                     part)});
  }
}

// Whether a closing brace ends a value (`Opts{1}.x`, `f({1})`) and not a block before a statement.
bool ends_value(std::string_view code, std::size_t brace) {
  return std::string_view("),.+-/%|<>=?").find(next_visible(code, brace + 1)) != npos;
}

bool is_control(std::string_view code, std::size_t open) {
  const std::string_view before = trim(code.substr(0, open));
  return std::ranges::any_of(std::array{"if", "while", "for", "switch", "constexpr"},
                             [&](std::string_view word) {
                               return before.ends_with(word) &&
                                      find_word(before, word, before.size() - word.size()) != npos;
                             });
}

// The brace before `at` in the same full expression, if there is one.
std::optional<std::size_t> brace_before(std::string_view code, std::size_t at) {
  for (std::size_t i = at; i-- > 0;) {
    if (code[i] == ';' || code[i] == '{') return std::nullopt;
    if (code[i] == '}') return ends_value(code, i) ? std::optional(i) : std::nullopt;
    if (code[i] == '(' && is_control(code, i)) return std::nullopt;
  }
  return std::nullopt;
}

// The brace after `at` in the same full expression, if there is one. The expression ends with the
// statement, or with the parentheses of the `if` or the loop that it is the condition of.
std::optional<std::size_t> brace_after(std::string_view code, std::size_t at) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < at; ++i) {
    if (code[i] == '(') open.push_back(i);
    if (code[i] == ')' && !open.empty()) open.pop_back();
  }
  for (std::size_t i = at; i < code.size(); ++i) {
    if (code[i] == '{') return i;
    if (code[i] == ';') return std::nullopt;
    if (code[i] == '(') open.push_back(i);
    if (code[i] == ')' && !open.empty()) {
      if (is_control(code, open.back())) return std::nullopt;
      open.pop_back();
    }
  }
  return std::nullopt;
}

void ban_temporaries_in_co_await(const File& file, Complaints& complaints) {
  for (std::size_t at = find_word(file.cpp.code, "co_await"); at != npos;
       at = find_word(file.cpp.code, "co_await", at + 1)) {
    if (!brace_before(file.cpp.code, at) && !brace_after(file.cpp.code, at)) continue;
    complaints.push_back({file.path, line_at(file.cpp.code, at),
                          "a brace (aggregate or lambda) in a co_await expression, which g++ 12 "
                          "destroys twice; give it a name in a statement of its own and std::move "
                          "that"});
  }
}

}  // namespace

void check_bans(const Tree& tree, Complaints& complaints) {
  for (const File& file : tree.files) {
    ban_dumping_grounds(file, complaints);
    if (!file.is_cpp()) continue;
    ban_clocks(file, complaints);
    ban_plain_locks(file, complaints);
    ban_sleeping(file, complaints);
    ban_notes(file, complaints);
    ban_temporaries_in_co_await(file, complaints);
  }
}

}  // namespace millrace::tidy
