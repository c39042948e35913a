#include "tests/tidy/requirements.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "tests/tidy/cpp_text.h"
#include "tests/tidy/scripts.h"

namespace millrace::tidy {

namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::size_t number_digits = 3;

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// Reads ids out of a comment from left to right.
class IdReader {
 public:
  explicit IdReader(std::string_view text) : rest_(text) {}

  std::vector<std::string> read() {
    while (!rest_.empty()) {
      if (!before_is_identifier_ && take_source()) {
        if (const std::optional<int> number = take_number()) read_list(*number);
      } else {
        step();
      }
    }
    return std::move(ids_);
  }

 private:
  void step() {
    before_is_identifier_ = is_identifier_char(rest_.front());
    rest_.remove_prefix(1);
  }

  // "S1-"
  bool take_source() {
    if (rest_.size() < 3 || rest_[0] != 'S' || !is_digit(rest_[1]) || rest_[2] != '-') return false;
    source_ = rest_.substr(0, 2);
    rest_.remove_prefix(3);
    return true;
  }

  std::optional<int> take_number() {
    int number = 0;
    for (std::size_t i = 0; i < number_digits; ++i) {
      if (i >= rest_.size() || !is_digit(rest_[i])) return std::nullopt;
      number = number * 10 + (rest_[i] - '0');
    }
    if (rest_.size() > number_digits && is_identifier_char(rest_[number_digits])) {
      return std::nullopt;
    }
    rest_.remove_prefix(number_digits);
    return number;
  }

  // What may follow the first number: the end of a range, and further numbers of the same source.
  void read_list(int first) {
    std::optional<int> number = first;
    while (number) {
      const int last = take_range_end().value_or(*number);
      for (int id = *number; id <= last; ++id) ids_.push_back(fmt::format("{}-{:03}", source_, id));
      number = take_next_in_list();
    }
    before_is_identifier_ = true;
  }

  std::optional<int> take_range_end() {
    const std::string_view start = rest_;
    for (const std::string_view dots : {"…", "...", ".."}) {
      if (!rest_.starts_with(dots)) continue;
      rest_.remove_prefix(dots.size());
      if (rest_.starts_with(std::string(source_) + "-")) rest_.remove_prefix(3);
      if (const std::optional<int> number = take_number()) return number;
      break;
    }
    rest_ = start;
    return std::nullopt;
  }

  // ", 030" continues the list; ", 100 tasks" is prose.
  std::optional<int> take_next_in_list() {
    const std::string_view start = rest_;
    if (rest_.starts_with(',')) {
      rest_.remove_prefix(std::min(rest_.find_first_not_of(" ,"), rest_.size()));
      const std::optional<int> number = take_number();
      const bool prose = rest_.starts_with(' ') && rest_.find_first_not_of(' ') != npos;
      if (number && !prose) return number;
    }
    rest_ = start;
    return std::nullopt;
  }

  std::string_view rest_;
  std::string_view source_;
  bool before_is_identifier_ = false;
  std::vector<std::string> ids_;
};

bool opens_test(std::string_view code) {
  return std::ranges::any_of(std::array{"TEST(", "TEST_F(", "TEST_P(", "TYPED_TEST("},
                             [&](const char* macro) { return code.starts_with(macro); });
}

// "TEST(Cron, parses_steps) {" -> "Cron.parses_steps"
std::string test_name(std::string_view declaration) {
  const std::size_t open = declaration.find('(') + 1;
  const std::size_t comma = std::min(declaration.find(',', open), declaration.size());
  const std::size_t close = std::min(declaration.find(')', open), declaration.size());
  if (comma >= close) return std::string(trim(declaration.substr(open, close - open)));
  return fmt::format("{}.{}", trim(declaration.substr(open, comma - open)),
                     trim(declaration.substr(comma + 1, close - comma - 1)));
}

bool speaks_of_requirements(const File& file) {
  // Tidy's own tests would be full of ids that are examples.
  if (file.path.starts_with("tests/tidy/")) return false;
  return file.is_cpp() ? file.is_test() : is_test_script(file.path);
}

// Gives each mention its test while a file is read line by line.
class Collector {
 public:
  explicit Collector(const File& file) : path_(file.path) {}

  void begin_test(std::string name) { test_ = std::move(name); }
  void end_test() { test_.clear(); }

  void read(std::string_view code, std::string_view comment) {
    ++line_;
    for (std::string& id : ids_in(comment)) {
      mentions_.push_back({std::move(id), path_, line_, {}});
    }
    // A comment on a line of its own waits for the code that follows it.
    if (!trim(code).empty()) settle();
  }

  std::vector<Mention> finish() {
    settle();
    return std::move(mentions_);
  }

 private:
  void settle() {
    for (; waiting_ < mentions_.size(); ++waiting_) mentions_[waiting_].test = test_;
  }

  std::string path_;
  std::string test_;
  std::size_t line_ = 0;
  std::size_t waiting_ = 0;  // mentions from here on wait for the test below them
  std::vector<Mention> mentions_;
};

std::vector<Mention> mentions_in_cpp(const File& file) {
  Collector collector(file);
  const std::vector<std::string_view> code = lines_of(file.cpp.code);
  const std::vector<std::string_view> comments = lines_of(file.cpp.comments);
  for (std::size_t i = 0; i < code.size(); ++i) {
    const std::string visible(trim(code[i]));
    if (opens_test(visible)) {
      const bool whole = visible.find(')') != npos || i + 1 == code.size();
      collector.begin_test(test_name(whole ? visible : visible + std::string(code[i + 1])));
    }
    collector.read(code[i], comments[i]);
    if (code[i].starts_with('}')) collector.end_test();
  }
  return collector.finish();
}

std::vector<Mention> mentions_in_script(const File& file) {
  Collector collector(file);
  ScriptReader reader(file.path);
  for (const std::string_view line : lines_of(file.text)) {
    const auto [code, comment] = reader.read(line);
    // Indented code belongs to the test it stands in.
    const bool outside = !code.empty() && code.front() != ' ' && code.front() != '\t';
    const bool closes = outside && (code.front() == '}' || code.front() == ')');
    if (auto name = script_test_name(code)) {
      collector.begin_test(std::move(*name));
    } else if (outside && !closes) {
      collector.end_test();
    }
    collector.read(code, comment);
    if (closes) collector.end_test();
  }
  return collector.finish();
}

std::map<std::string, std::vector<Mention>> mentions_by_id(const Tree& tree) {
  std::map<std::string, std::vector<Mention>> by_id;
  for (const File& file : tree.files) {
    if (!speaks_of_requirements(file)) continue;
    for (Mention& mention : mentions_in(file)) by_id[mention.id].push_back(std::move(mention));
  }
  return by_id;
}

// Who names it: the id once, then a line for each test.
std::string named_rows(std::string_view id, const std::vector<Mention>& mentions) {
  std::string rows;
  for (const Mention& mention : mentions) {
    fmt::format_to(std::back_inserter(rows), "{:6}  {}:{} {}\n", id, mention.path, mention.line,
                   mention.test.empty() ? "(the whole file)" : mention.test);
    id = "";
  }
  return rows;
}

}  // namespace

std::vector<Requirement> requirements_of(const Tree& tree) {
  std::vector<Requirement> result;
  const File* file = tree.find(requirements_path);
  if (file == nullptr) return result;
  for (const std::string_view line : lines_of(file->text)) {
    const std::size_t tab = line.find('\t');
    if (line.starts_with('#') || tab == npos) continue;
    result.push_back({std::string(line.substr(0, tab)), std::string(trim(line.substr(tab)))});
  }
  return result;
}

std::vector<std::string> ids_in(std::string_view comment) {
  return IdReader(comment).read();
}

std::vector<Mention> mentions_in(const File& file) {
  return file.is_cpp() ? mentions_in_cpp(file) : mentions_in_script(file);
}

std::vector<Plan> plans_of(const Tree& tree) {
  std::vector<Plan> result;
  const File* file = tree.find(plans_path);
  if (file == nullptr) return result;
  const std::vector<std::string_view> lines = lines_of(file->text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t tab = lines[i].find('\t');
    if (lines[i].starts_with('#') || tab == npos) continue;
    for (std::string& id : ids_in(lines[i].substr(0, tab))) {
      result.push_back({std::move(id), std::string(trim(lines[i].substr(tab))), i + 1});
    }
  }
  return result;
}

void check_requirements(const Tree& tree, Complaints& complaints) {
  std::set<std::string> known;
  for (const Requirement& requirement : requirements_of(tree)) known.insert(requirement.id);
  const auto by_id = mentions_by_id(tree);
  for (const auto& [id, mentions] : by_id) {
    if (known.contains(id)) continue;
    for (const Mention& mention : mentions) {
      complaints.push_back(
          {mention.path, mention.line,
           fmt::format("{} is not in {}; correct the id, or add its row", id, requirements_path)});
    }
  }
  for (const Plan& plan : plans_of(tree)) {
    const std::string where(plans_path);
    if (!known.contains(plan.id)) {
      complaints.push_back(
          {where, plan.line,
           fmt::format("{} is not in {}; correct the id", plan.id, requirements_path)});
    } else if (const auto named = by_id.find(plan.id); named != by_id.end()) {
      const Mention& by = named->second.front();
      complaints.push_back({where, plan.line,
                            fmt::format("{} is named at {}:{}; if it is built, take it out of the "
                                        "plan, otherwise take its name off the test",
                                        plan.id, by.path, by.line)});
    }
  }
}

std::string requirements_report(const Tree& tree) {
  const auto by_id = mentions_by_id(tree);
  std::map<std::string, std::string> plans;
  for (Plan& plan : plans_of(tree)) plans[plan.id] = std::move(plan.waits_for);
  const std::vector<Requirement> requirements = requirements_of(tree);
  std::string report;
  std::string planned;
  std::string without;
  std::size_t named_count = 0;
  std::size_t planned_count = 0;
  for (const auto& [id, statement] : requirements) {
    if (const auto named = by_id.find(id); named != by_id.end()) {
      ++named_count;
      report += named_rows(id, named->second);
    } else if (const auto plan = plans.find(id); plan != plans.end()) {
      ++planned_count;
      planned += fmt::format("{}  {} [{}]\n", id, statement, plan->second);
    } else {
      without += fmt::format("{}  {}\n", id, statement);
    }
  }
  return fmt::format(
      "{}\nPlanned, with what it waits for:\n{}\nWithout a test:\n{}\n"
      "{} requirements: {} named by tests, {} planned, {} without\n",
      report, planned, without, requirements.size(), named_count, planned_count,
      requirements.size() - named_count - planned_count);
}

}  // namespace millrace::tidy
