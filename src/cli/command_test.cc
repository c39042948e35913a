// The tree of commands: every one of them is explained, and what is explained is true.
#include "cli/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

#include "cli/commands.h"
#include "cli/completion.h"
#include "core/clock.h"
#include "store/store.h"
#include "tests/support/bare_host.h"

namespace millrace::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

void walk(const Command& command, std::vector<const Command*> path,
          const std::function<void(const std::vector<const Command*>&)>& visit) {
  path.push_back(&command);
  visit(path);
  for (const auto& each : command.below()) walk(*each, path, visit);
}

// The words of the millrace in a line of shell, up to where it ends.
std::vector<std::string> words_in(std::string line) {
  std::vector<std::string> words;
  const std::size_t begin = line.find("millrace ");
  if (begin == std::string::npos) return words;
  line.erase(0, begin + 9);
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    const char c = i < line.size() ? line[i] : ' ';
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c, in_word = true;
    } else if (c == '\\') {
      ++i;  // the end of a line
    } else if (c == ' ' || c == '\n') {
      if (in_word) words.push_back(std::move(word)), word.clear(), in_word = false;
    } else if (std::string_view("|><;)").contains(c)) {
      if (in_word) words.push_back(std::move(word));
      return words;
    } else {
      word += c, in_word = true;
    }
  }
  return words;
}

TEST(CommandTree, every_command_is_explained_with_examples_that_parse) {
  const auto root = all_commands();
  std::size_t commands = 0;
  walk(*root, {}, [&](const std::vector<const Command*>& path) {
    const Command& command = *path.back();
    const std::string name = name_of(path);
    ++commands;
    EXPECT_THAT(command.about(), Not(IsEmpty())) << name;
    EXPECT_THAT(command.examples(), Not(IsEmpty())) << name << " has no example";
    EXPECT_TRUE(command.doing() || !command.below().empty()) << name << " does nothing";
    bool shown = false;
    for (const Example& each : command.examples()) {
      const auto words = words_in(each.line);
      EXPECT_EQ(misuse_of(*all_commands(), words, "1"), "") << each.line;
      shown = shown || each.line.contains(name);
    }
    EXPECT_TRUE(shown) << name << " is in none of its examples";
    for (const Argument& each : command.arguments()) {
      EXPECT_THAT(each.about, Not(IsEmpty())) << name << ' ' << each.names;
    }
  });
  EXPECT_GT(commands, 40U);
}

TEST(CommandTree, every_command_has_help_and_help_has_its_examples) {
  ManualClock clock(TimePoint{});
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  test::BareHost host;
  Surroundings with{.in = in, .out = out, .err = err, .clock = clock, .host = host, .version = "1"};
  walk(*all_commands(), {}, [&](const std::vector<const Command*>& path) {
    std::vector<std::string> words;
    for (const Command* each : path) words.push_back(each->name());
    words.front() = "help";
    out.str("");
    EXPECT_EQ(run(words, with), Exit::ok) << name_of(path);
    EXPECT_THAT(out.str(), HasSubstr(path.back()->examples().front().line));
    EXPECT_THAT(out.str(), HasSubstr("Usage: " + name_of(path)));
  });
  EXPECT_THAT(err.str(), IsEmpty());
}

TEST(CommandTree, a_value_that_may_be_left_out_does_not_eat_what_follows) {
  for (const auto& [words, wait, payload] :
       std::vector<std::tuple<std::vector<std::string>, std::string, std::string>>{
           {{"do", "--wait", "{}"}, "forever", "{}"},
           {{"do", "--wait", "30s", "{}"}, "30s", "{}"},
           {{"do", "{}", "--wait"}, "forever", "{}"},
           {{"do", "--wait=5m"}, "5m", ""},
           {{"do", "--", "--wait"}, "", "--wait"}}) {
    std::string got_wait;
    std::string got_payload;
    Command root("millrace", "x");
    root.add("do", "y")
        .maybe_word("PAYLOAD", got_payload, "z")
        .value("--wait", got_wait, "[DURATION]", "z")
        .maybe_empty()
        .does([](Surroundings&, Console&) { return Exit::ok; });
    EXPECT_EQ(misuse_of(root, words, "1"), "");
    EXPECT_EQ(got_wait, wait);
    EXPECT_EQ(got_payload, payload);
  }
}

TEST(CommandTree, a_command_line_behind_dashes_is_taken_as_it_is) {
  std::vector<std::string> queues;
  std::vector<std::string> command;
  std::string name;
  Command root("millrace", "x");
  root.add("work", "y")
      .words("QUEUE", queues, "z")
      .words_after_dashes("COMMAND", command, "z")
      .value("--name", name, "TEXT", "z")
      .does([](Surroundings&, Console&) { return Exit::ok; });
  EXPECT_EQ(misuse_of(root,
                      std::vector<std::string>{"work", "a", "--name", "n", "b", "--", "sh", "-c",
                                               "--name", "--"},
                      "1"),
            "");
  EXPECT_THAT(queues, ElementsAre("a", "b"));
  EXPECT_THAT(command, ElementsAre("sh", "-c", "--name", "--"));
  EXPECT_EQ(name, "n");
}

TEST(CommandTree, names_that_begin_with_a_dash_go_behind_dashes) {
  const auto told = [](std::vector<std::string> words) {
    return misuse_of(*all_commands(), words, "1");
  };
  EXPECT_EQ(told({"put", "--type", "t", "--", "-x", "{}"}), "");
  EXPECT_EQ(told({"queues", "show", "--", "--help"}), "");
  EXPECT_EQ(
      told({"put", "-x", "{}"}),
      "there is no flag \"-x\"; a name that begins with - goes behind the flags and --, as in\n"
      "  millrace put -- -x");
  EXPECT_THAT(told({"queue", "-a b"}), HasSubstr("millrace queue -- '-a b'"));
  EXPECT_THAT(told({"work", "-x", "--", "true"}), HasSubstr("by its UUID"));
  EXPECT_EQ(told({"queues", "-x"}), "there is no flag \"-x\"");
  EXPECT_THAT(told({"queues", "show", "--jsno"}), HasSubstr("the nearest is --json"));
}

TEST(CommandTree, missing_dashes_are_shown_where_they_belong) {
  const auto told = [](std::vector<std::string> words) {
    return misuse_of(*all_commands(), words, "1");
  };
  EXPECT_THAT(told({"work", "emails", "sh", "-c", "true; false"}),
              HasSubstr("millrace work emails -- sh -c 'true; false'"));
  EXPECT_THAT(told({"work", "-j", "4", "emails", "--until-empty", "./send"}),
              HasSubstr("millrace work -j 4 emails --until-empty -- ./send"));
  EXPECT_THAT(told({"work", "emails"}), HasSubstr("millrace work emails -- COMMAND"));
  EXPECT_THAT(told({"work", "emails", "--"}), HasSubstr("millrace work emails -- COMMAND"));
  EXPECT_THAT(told({"work", "emails", "--unti-empty", "--", "true"}), HasSubstr("--until-empty"));
  EXPECT_THAT(told({"work"}), HasSubstr("QUEUE"));
}

// ---- Completion --------------------------------------------------------------------------------

std::vector<std::string> completed(const std::vector<std::string>& words) {
  const auto root = all_commands();
  std::vector<std::string> found;
  for (const Candidate& each : candidates(*root, words, [](std::string_view what) {
         return std::vector<std::string>{"a-" + std::string(what), "b"};
       })) {
    found.push_back(each.word);
  }
  return found;
}

TEST(Completion, offers_commands_flags_choices_and_names) {
  EXPECT_THAT(completed({"que"}), ElementsAre("queues", "queue"));
  EXPECT_THAT(completed({"queues", "pau"}), ElementsAre("pause"));
  EXPECT_THAT(completed({"queues", "--js"}), ElementsAre("--json"));
  EXPECT_THAT(completed({"put", "--uni"}),
              ElementsAre("--unique", "--unique-scope", "--unique-for"));
  EXPECT_THAT(completed({"tasks", "--state", "d"}), ElementsAre("delayed", "dead"));
  EXPECT_THAT(completed({"tasks", "--state", "failed,d"}),
              ElementsAre("failed,delayed", "failed,dead"));
  EXPECT_THAT(completed({"tasks", "--state=fa"}), ElementsAre("--state=failed"));
  EXPECT_THAT(completed({"put", "--priority", ""}), ElementsAre("high", "medium", "low"));
  EXPECT_THAT(completed({"put", "--priority", "high", ""}), ElementsAre("a-QUEUE", "b"));
  EXPECT_THAT(completed({"put", "a"}), ElementsAre("a-QUEUE"));
  EXPECT_THAT(completed({"tasks", "--queue", ""}), ElementsAre("a-QUEUE", "b"));
  EXPECT_THAT(completed({"schedules", "show", ""}), ElementsAre("a-SCHEDULE", "b"));
  EXPECT_THAT(completed({"workers", "a"}), ElementsAre("a-WORKER"));
  EXPECT_THAT(completed({"completion", ""}), ElementsAre("bash", "zsh", "fish"));
  EXPECT_THAT(completed({"--he"}), ElementsAre("--help"));
  EXPECT_THAT(completed({"task", "17", "cancel", "--rea"}), ElementsAre("--reason"));
}

TEST(Completion, offers_no_names_that_a_shell_would_run) {
  const auto root = all_commands();
  const std::vector<std::string> hostile = {
      "x$(reboot)", "x;reboot", "x`reboot`", "x y", "x\ty", "x\ny", "x'",    "x\"", "x*", "x\\",
      "-x",         "~x",       "#x",        "x&",  "x|y",  "x>y",  "x\x1b", "",    "x!!"};
  for (const std::string& each : hostile) {
    for (const auto& words : std::vector<std::vector<std::string>>{
             {"workers", ""}, {"put", ""}, {"tasks", "--queue="}}) {
      const auto found = candidates(*root, words, [&](std::string_view) {
        return std::vector<std::string>{each, "ok.1:a@b/c-d_e"};
      });
      ASSERT_EQ(found.size(), 1U) << each;
      EXPECT_THAT(found[0].word, ::testing::EndsWith("ok.1:a@b/c-d_e"));
    }
  }
}

TEST(Completion, offers_nothing_where_the_shell_knows_better) {
  EXPECT_THAT(completed({"put", "emails", ""}), IsEmpty()) << "a payload, or a file";
  EXPECT_THAT(completed({"import", "--into", ""}), IsEmpty());
  EXPECT_THAT(completed({"work", "emails", "--", "--he"}), IsEmpty());
  EXPECT_THAT(completed({"no-such", "thing", ""}), IsEmpty());
  EXPECT_THAT(completed({}), IsEmpty());
  EXPECT_THAT(completed({""}), Not(Contains("complete"))) << "it is hidden";
}

TEST(Completion, scripts_for_three_shells) {
  EXPECT_THAT(completion_script("bash"), HasSubstr("complete -o default -F _millrace millrace"));
  EXPECT_THAT(completion_script("zsh"), StartsWith("#compdef millrace\n"));
  EXPECT_THAT(completion_script("fish"), HasSubstr("complete -c millrace"));
  EXPECT_EQ(completion_script("tcsh"), "");
}

}  // namespace
}  // namespace millrace::cli
