#include "plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>

namespace planner {
namespace {

using millrace::ErrorCode;
using millrace::fail;
using millrace::Result;

constexpr std::size_t longest_name = 40;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

template <class... Values>
std::unexpected<millrace::Error> invalid(fmt::format_string<Values...> text, Values&&... values) {
  return fail(ErrorCode::invalid, fmt::format(text, std::forward<Values>(values)...));
}

Result<void> check_name(std::string_view what, std::string_view name) {
  if (is_name(name)) return {};
  return invalid("\"{}\" cannot be the name of a {}: 1 to {} small letters, digits and dashes are",
                 name, what, longest_name);
}

Result<std::set<std::string_view>> names_of_steps(const Plan& plan) {
  if (plan.steps.empty() || plan.steps.size() > most_steps) {
    return invalid("plan {} has {} steps; 1 to {} are allowed", plan.name, plan.steps.size(),
                   most_steps);
  }
  std::set<std::string_view> names;
  for (const Step& step : plan.steps) {
    if (const auto named = check_name("step", step.name); !named) {
      return std::unexpected(named.error());
    }
    if (!names.insert(step.name).second) {
      return invalid("plan {} has two steps called {}", plan.name, step.name);
    }
  }
  return names;
}

Result<void> check_needs(const Plan& plan, const std::set<std::string_view>& names) {
  for (const Step& step : plan.steps) {
    for (const std::string& needed : step.needs) {
      if (!names.contains(needed)) {
        return invalid("step {} needs {}, which is not a step of plan {}", step.name, needed,
                       plan.name);
      }
    }
  }
  return {};
}

Result<void> check_artifacts(const Plan& plan, const std::set<std::string_view>& names) {
  if (plan.artifacts.empty() || plan.artifacts.size() > most_artifacts) {
    return invalid("plan {} has {} artifacts; 1 to {} are allowed", plan.name,
                   plan.artifacts.size(), most_artifacts);
  }
  std::set<std::string_view> files;
  for (const Artifact& artifact : plan.artifacts) {
    if (!is_file(artifact.file)) {
      return invalid("\"{}\" cannot be the file of an artifact: a name with .md or .json is",
                     artifact.file);
    }
    if (artifact.file == "index.md") return invalid("index.md is the list of the other artifacts");
    if (!files.insert(artifact.file).second) {
      return invalid("plan {} has two artifacts {}", plan.name, artifact.file);
    }
    for (const std::string& step : artifact.steps) {
      if (!names.contains(step)) {
        return invalid("artifact {} contains {}, which is not a step of plan {}", artifact.file,
                       step, plan.name);
      }
    }
  }
  return {};
}

}  // namespace

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= longest_name &&
         std::ranges::all_of(text, is_name_character);
}

bool is_file(std::string_view text) {
  for (const std::string_view ending : {".md", ".json"}) {
    if (text.ends_with(ending)) return is_name(text.substr(0, text.size() - ending.size()));
  }
  return false;
}

std::string name_of(std::string_view text) {
  std::string name;
  for (char c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (is_name_character(c) && c != '-') {
      name += c;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
    if (name.size() == longest_name) break;
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name.empty() ? "plan" : name;
}

Result<Plan> make_plan(const PlanRequest& request) {
  if (request.topics.empty() || request.topics.size() >= most_artifacts) {
    return invalid("{} topics were given; 1 to {} are allowed", request.topics.size(),
                   most_artifacts - 1);
  }
  Plan plan{.name = name_of(request.goal), .goal = request.goal, .steps = {}, .artifacts = {}};
  Step summary{.name = "summary", .action = Action::count, .text = "words", .needs = {}};
  for (std::size_t i = 0; i < request.topics.size(); ++i) {
    const std::string& topic = request.topics[i];
    const std::string outline = fmt::format("outline-{}", i + 1);
    const std::string draft = fmt::format("draft-{}", i + 1);
    plan.steps.push_back({.name = outline,
                          .action = Action::write,
                          .text = fmt::format("What {} has to do with: {}", topic, request.goal),
                          .needs = {}});
    plan.steps.push_back(
        {.name = draft, .action = Action::join, .text = topic, .needs = {outline}});
    summary.needs.push_back(draft);
    plan.artifacts.push_back(
        {.file = fmt::format("topic-{}.md", i + 1), .title = topic, .steps = {draft}});
  }
  plan.steps.push_back(std::move(summary));
  plan.artifacts.push_back({.file = "summary.json", .title = request.goal, .steps = {"summary"}});
  return plan;
}

Result<std::vector<const Step*>> in_order(const Plan& plan) {
  if (const auto named = check_name("plan", plan.name); !named) {
    return std::unexpected(named.error());
  }
  const auto names = names_of_steps(plan);
  if (!names) return std::unexpected(names.error());
  if (const auto good = check_needs(plan, *names); !good) return std::unexpected(good.error());
  if (const auto good = check_artifacts(plan, *names); !good) return std::unexpected(good.error());

  std::vector<const Step*> order;
  std::set<std::string_view> done;
  while (order.size() < plan.steps.size()) {
    const auto ready = std::ranges::find_if(plan.steps, [&](const Step& step) {
      return !done.contains(step.name) &&
             std::ranges::all_of(step.needs, [&](const auto& name) { return done.contains(name); });
    });
    if (ready == plan.steps.end()) {
      std::string waiting;
      for (const Step& step : plan.steps) {
        if (!done.contains(step.name)) waiting += (waiting.empty() ? "" : ", ") + step.name;
      }
      return invalid("steps of plan {} wait for each other: {}", plan.name, waiting);
    }
    done.insert(ready->name);
    order.push_back(&*ready);
  }
  return order;
}

std::string run_action(const Step& step, const std::vector<std::string>& needed) {
  std::string text = step.text;
  switch (step.action) {
    case Action::write:
      return text;
    case Action::join:
      for (const std::string& result : needed) text += "\n\n" + result;
      return text;
    case Action::count: {
      std::ptrdiff_t words = 0;
      for (const std::string& result : needed) {
        std::istringstream in(result);
        words += std::distance(std::istream_iterator<std::string>(in), {});
      }
      return fmt::format("{} {}", words, step.text);
    }
  }
  return text;
}

std::string text_of(const ArtifactGeneration& artifact) {
  if (artifact.file.ends_with(".json")) {
    millrace::Object sections;
    for (const Section& section : artifact.sections) {
      sections.push_back({section.step, millrace::Value{section.text}});
    }
    const millrace::Object whole{{"title", millrace::Value{artifact.title}},
                                 {"sections", millrace::Value{std::move(sections)}}};
    return millrace::to_json(millrace::Value{whole}) + "\n";
  }
  std::string text = fmt::format("# {}\n", artifact.title);
  for (const Section& section : artifact.sections) {
    text += fmt::format("\n## {}\n\n{}\n", section.step, section.text);
  }
  return text;
}

}  // namespace planner
