#include "cli/handler_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <filesystem>
#include <fstream>

#include "tests/support/temporary_directory.h"

namespace millrace::cli {
namespace {

using config::HandlerSettings;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

constexpr const char* secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

class HandlerCheck : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name) << text;
    return directory_ / name;
  }
  static std::string told(HandlerSettings handler) {
    handler.queue = "emails", handler.where = "millrace.toml:3";
    const auto problems = problems_at_start({handler});
    return problems.empty() ? "" : problems.front();
  }

  test::TemporaryDirectory directory_;
};

TEST_F(HandlerCheck, a_missing_directory_or_program_is_told_with_file_and_line) {
  EXPECT_EQ(told({.exec = {"sh", "-c", "true"}}), "");
  EXPECT_EQ(told({.exec = {"sh"}, .directory = directory_ / "none"}),
            "millrace.toml:3: handlers.emails: there is no directory \"" + (directory_ / "none") +
                "\" to run commands in");
  EXPECT_THAT(told({.exec = {"no-such-program-here"}}),
              HasSubstr("millrace.toml:3: handlers.emails: there is no program"));
  const std::string script = file("work", "#!/bin/sh\n");
  EXPECT_THAT(told({.exec = {directory_.path()}}), HasSubstr("that can be run")) << "a directory";
  EXPECT_THAT(told({.exec = {script}}), HasSubstr("that can be run")) << "it is not executable";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  EXPECT_EQ(told({.exec = {script}}), "");
  EXPECT_EQ(told({.exec = {"./work"}, .directory = directory_.path()}), "");
}

TEST_F(HandlerCheck, one_sentence_for_each_bad_handler) {
  const HandlerSettings good{.queue = "a", .exec = {"sh"}};
  const HandlerSettings bad{.queue = "b", .exec = {"no-such-program-here"}};
  const HandlerSettings worse{.queue = "c", .http = "http://x", .allow_private = "nonsense"};
  EXPECT_THAT(problems_at_start({good, bad, worse}),
              ElementsAre(HasSubstr("handlers.b"), HasSubstr("handlers.c: allow_private")));
}

TEST_F(HandlerCheck, headers_and_secrets_come_from_files) {
  const HandlerSettings handler{
      .http = "https://x",
      .secret_file = file("secret", std::string(secret) + "\n" + secret + "\n"),
      .headers = {{"X-Team", "mail"}, {"Authorization", "@" + file("token", "Bearer abc\n")}}};
  const auto files = read_files(handler);
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_THAT(files->headers,
              ElementsAre(Pair("X-Team", "mail"), Pair("Authorization", "Bearer abc")));
  EXPECT_EQ(files->secrets.size(), 2U) << "the old one signs while receivers change";
  EXPECT_EQ(told(handler), "");
}

TEST_F(HandlerCheck, files_that_hold_nothing_of_use_are_told_without_what_they_hold) {
  EXPECT_THAT(told({.http = "https://x", .secret_file = directory_ / "none"}),
              HasSubstr("secret_file: "));
  EXPECT_THAT(told({.http = "https://x", .secret_file = file("bad", "hunter2\n")}),
              AllOf(HasSubstr("secret_file: "), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(told({.http = "https://x", .headers = {{"A", "@" + file("b", "x\x01hunter2\n")}}}),
              AllOf(HasSubstr("headers.A: "), Not(HasSubstr("hunter2"))));
}

}  // namespace
}  // namespace millrace::cli
