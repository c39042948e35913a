// The reference in docs/cli.md is made from the tree of commands; MILLRACE_WRITE_DOCS=1 makes it
// anew.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "cli/commands.h"

namespace millrace::cli {
namespace {

constexpr const char* page_path = "docs/cli.md";
constexpr std::string_view begin_mark = "<!-- The rest is made from the commands themselves. -->\n";

// Settings of the server and the flags of every client are told elsewhere.
bool told_once(const Argument& argument) {
  return argument.group.starts_with("Settings: ") || argument.group == "Server" ||
         argument.names == "--json";
}
bool is_setting(const Command& command, const Argument& argument) {
  const bool serves = command.name() == "serve" || command.name() == "config";
  return serves && (argument.group.starts_with("Settings") || argument.names == "--config");
}

std::string shown(const Argument& argument) {
  std::string text = argument.names;
  if (argument.kind == ArgumentKind::word) {
    if (argument.many) text += "...";
    if (argument.after_dashes) return "-- " + text;
    return argument.required ? text : "[" + text + "]";
  }
  std::ranges::replace(text, ',', ' ');
  return argument.type.empty() ? text : text + " " + argument.type;
}

std::string usage_of(const std::string& name, const Command& command) {
  std::string text = name;
  for (const Argument& each : command.arguments()) {
    if (each.kind == ArgumentKind::word) text += " " + shown(each);
  }
  for (const Argument& each : command.arguments()) {
    if (each.kind != ArgumentKind::word && each.required) text += " " + shown(each);
  }
  return text;
}

// A cell of a table in Markdown.
std::string cell(std::string text) {
  for (std::size_t at = text.find('|'); at != text.npos; at = text.find('|', at + 2)) {
    text.insert(at, "\\");
  }
  return text;
}

std::string flags_of(const Command& command) {
  std::string rows;
  for (const Argument& each : command.arguments()) {
    const bool queue_setting = command.name() == "create" || command.name() == "change";
    if (is_setting(command, each) || (told_once(each) && !queue_setting) ||
        each.group == "Server" || each.names == "--json") {
      continue;
    }
    if (each.kind == ArgumentKind::word) continue;
    rows += fmt::format("| `{}` | {} |\n", cell(shown(each)), cell(each.about));
  }
  return rows.empty() ? "" : "\n| flag | |\n|---|---|\n" + rows;
}

void append(std::string& out, const std::string& name, const Command& command, int depth) {
  out += fmt::format("\n{} {}\n\n{}.\n\n```text\n{}\n```\n",
                     std::string(static_cast<std::size_t>(3 + depth), '#'), name, command.about(),
                     usage_of(name, command));
  if (!command.explanation().empty()) out += "\n" + command.explanation() + "\n";
  out += flags_of(command);
  if (!command.examples().empty()) {
    out += "\n```sh\n";
    for (const Example& each : command.examples()) {
      out += each.line + (each.about.empty() ? "" : "   # " + each.about) + "\n";
    }
    out += "```\n";
  }
  for (const auto& each : command.below()) append(out, name + " " + each->name(), *each, 1);
}

std::string reference() {
  std::string out;
  const auto root = all_commands();
  for (const auto& each : root->below()) {
    if (!each->hidden()) append(out, "millrace " + each->name(), *each, 0);
  }
  return out;
}

TEST(Reference, docs_cli_md_tells_of_every_command_and_flag) {
  std::ifstream in(page_path);
  ASSERT_TRUE(in) << "cannot read " << page_path;
  const std::string page((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const std::size_t at = page.find(begin_mark);
  ASSERT_NE(at, page.npos);
  const std::string fresh = page.substr(0, at + begin_mark.size()) + reference();
  if (std::getenv("MILLRACE_WRITE_DOCS") != nullptr) std::ofstream(page_path) << fresh;
  EXPECT_TRUE(std::getenv("MILLRACE_WRITE_DOCS") != nullptr || page == fresh)
      << "commands have changed: run cli_test with MILLRACE_WRITE_DOCS=1 to make the page anew";
}

}  // namespace
}  // namespace millrace::cli
