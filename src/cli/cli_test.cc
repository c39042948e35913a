#include "cli/cli.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "access/key.h"
#include "api/wire/archive.h"
#include "store/store.h"
#include "tests/support/bare_host.h"
#include "tests/support/driver.h"
#include "tests/support/model_store.h"
#include "tests/support/temporary_directory.h"

namespace millrace::cli {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class CliTest : public ::testing::Test {
 protected:
  Exit run(std::vector<std::string> arguments) {
    out_.str("");
    err_.str("");
    return cli::run(arguments, with_);
  }

  class TestHost : public test::BareHost {
   public:
    Result<std::unique_ptr<Store>> open_store(const StoreUrl&, Access, const Progress&,
                                              const OpeningWarning&) override {
      if (no_store) return std::unexpected(*no_store);
      if (other) return std::move(other);
      return std::make_unique<test::ModelStore>(store);
    }
    Result<Verified> verify(const StoreUrl&, const Progress&) override { return verified; }
    bool out_gone() override { return gone; }

    test::ModelStore store;         // commands get a copy
    std::optional<Error> no_store;  // instead of it
    std::unique_ptr<Store> other;   // instead of it, once
    Result<Verified> verified = Verified{};
    bool gone = false;
  };

  TestHost host_;
  test::ModelStore& store_ = host_.store;
  std::optional<Error>& no_store_ = host_.no_store;
  Result<Verified>& verified_ = host_.verified;
  ManualClock clock_{test::t0};
  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream err_;
  Surroundings with_{
      .in = in_, .out = out_, .err = err_, .clock = clock_, .host = host_, .version = "1.2.3"};
};

TEST_F(CliTest, help_teaches_with_examples_and_succeeds) {
  EXPECT_EQ(run({"--help"}), Exit::ok);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("millrace export ./data --output backup.jsonl"),
                                HasSubstr("Exit codes"), HasSubstr("verify")));
  for (const char* command : {"export", "import", "verify"}) {
    EXPECT_EQ(run({command, "--help"}), Exit::ok);
    EXPECT_THAT(out_.str(), AllOf(HasSubstr("Example"), EndsWith("\n"))) << command;
  }
  EXPECT_THAT(err_.str(), IsEmpty());
}

TEST_F(CliTest, says_its_version) {
  EXPECT_EQ(run({"--version"}), Exit::ok);
  EXPECT_EQ(out_.str(), "millrace 1.2.3\n");
}

TEST_F(CliTest, what_is_not_understood_is_usage) {
  const std::vector<std::vector<std::string>> bad = {{},
                                                     {"exprot"},
                                                     {"export"},
                                                     {"export", "a", "b"},
                                                     {"import", "a"},
                                                     {"import"},
                                                     {"export", "--colour"},
                                                     {"verify"},
                                                     {"export", "jurnal:x"},
                                                     {"import", "-", "--into", "journal:"},
                                                     {"verify", "memory:"}};
  for (const auto& arguments : bad) {
    EXPECT_EQ(run(arguments), Exit::usage) << ::testing::PrintToString(arguments);
    EXPECT_THAT(err_.str(), testing::Not(IsEmpty()));
    EXPECT_THAT(out_.str(), IsEmpty());
  }
}

TEST_F(CliTest, help_is_a_command_too) {
  EXPECT_EQ(run({"help", "export"}), Exit::ok);
  EXPECT_THAT(out_.str(), HasSubstr("millrace export"));
}

TEST_F(CliTest, a_mistyped_command_is_told_the_nearest_one) {
  run({"exprot", "./data"});
  EXPECT_THAT(err_.str(), HasSubstr("there is no command \"exprot\"; the nearest is export"));
  run({"que"});
  EXPECT_THAT(err_.str(), HasSubstr("the nearest is queue"));
  run({"list"});
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("there is no command \"list\"\n"), Not(HasSubstr("the nearest is"))));
  run({"tasks", "list"});
  EXPECT_THAT(err_.str(), HasSubstr("there is no command \"list\"; `millrace tasks` lists them"));
  run({"dead", "--log-level", "x"});
  EXPECT_THAT(err_.str(), HasSubstr("there is no flag \"--log-level\"\n"));
  run({"put", "q", "--type", "a", "--type", "b"});
  EXPECT_THAT(err_.str(), HasSubstr("error: --type is given more than once\n"));
  run({"import"});
  EXPECT_THAT(err_.str(), HasSubstr("Try: millrace import --help"));
}

TEST_F(CliTest, exports_to_standard_output_and_imports_from_standard_input) {
  test::StoreDriver driver(store_);
  driver.make_queue("q");
  driver.put(test::task("q"));
  EXPECT_EQ(run({"export", "somewhere"}), Exit::ok);
  EXPECT_EQ(err_.str(), "exported 1 queue, no schedules, no memos and 1 task\n");
  in_.str(out_.str());
  EXPECT_EQ(run({"import", "-", "--into", "elsewhere"}), Exit::ok);
  EXPECT_EQ(err_.str(),
            "added no queues, no schedules, no memos and no tasks\n"
            "left as they were: 1 queue, no schedules, no memos and 1 task\n");
}

TEST_F(CliTest, a_bad_import_says_what_was_done_and_fails) {
  in_.str("{\"millrace_export\":{\"format\":1}}\nnonsense\n");
  EXPECT_EQ(run({"import", "-", "--into", "elsewhere"}), Exit::failed);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("added no queues"), HasSubstr("error: line 2: not JSON"),
                                Not(HasSubstr("again to continue"))));
  for (const std::string& bad : {std::string(""), std::string("garbage")}) {
    in_.clear();
    in_.str(bad);
    EXPECT_EQ(run({"import", "-", "--into", "elsewhere"}), Exit::failed);
    EXPECT_THAT(err_.str(), Not(HasSubstr("again to continue"))) << bad;
  }
  in_.clear();
  in_.str("\x1f\x8b\x08");
  EXPECT_EQ(run({"import", "-", "--into", "elsewhere"}), Exit::failed);
  EXPECT_THAT(err_.str(), HasSubstr("zcat FILE | millrace import - --into elsewhere"));
}

TEST_F(CliTest, an_import_that_began_says_that_it_may_go_on_and_which_keys_came_along) {
  access::KeyRequest about{.name = "ci"};
  about.scopes.add(access::Scope::admin);
  const auto made = access::make_key(about, test::t0);
  ASSERT_TRUE(made) << made.error().message;
  const Remember key = access::to_memo(made->key);
  std::string lines = "{\"millrace_export\":{\"format\":1}}\n";
  wire::append_line(lines, "memo", Memo{.key = key.key, .value = *key.value, .version = 1});
  in_.str(lines + "nonsense\n");
  EXPECT_EQ(run({"import", "-", "--into", "elsewhere"}), Exit::failed);
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("1 API key came with the import; from now on requests need a key"),
                    HasSubstr("again to continue")));
}

TEST_F(CliTest, what_cannot_be_printed_is_a_failure) {
  out_.setstate(std::ios::badbit);
  EXPECT_EQ(run({"--help"}), Exit::failed);
  EXPECT_THAT(err_.str(), HasSubstr("error: cannot write to standard output"));
  host_.gone = true;
  EXPECT_EQ(static_cast<int>(run({"--help"})), 141);
  EXPECT_THAT(err_.str(), IsEmpty());
}

TEST_F(CliTest, a_store_in_use_is_answered_with_the_command_for_its_server) {
  no_store_ = Error{ErrorCode::conflict, "in use"};
  EXPECT_EQ(run({"export", "a"}), Exit::failed);
  EXPECT_THAT(err_.str(), HasSubstr("millrace export http://127.0.0.1:7070\n"));
  EXPECT_EQ(run({"import", "-", "--into", "a"}), Exit::failed);
  EXPECT_THAT(err_.str(), HasSubstr("millrace import FILE --into http://127.0.0.1:7070\n"));
}

// Saves itself when it is told the time, or rather does not.
class ForgetfulStore : public test::ModelStore {
 public:
  Result<Advanced> advance(TimePoint now, std::size_t limit) override {
    told_ = true;
    return ModelStore::advance(now, limit);
  }
  Result<void> flush() override {
    if (told_) return fail(ErrorCode::limited, "the disk is full");
    return {};
  }
  Traits traits() const override {
    return {.name = "forgetful", .durability = Durability::interval, .loss_window = Duration(1)};
  }

 private:
  bool told_ = false;
};

TEST_F(CliTest, an_import_that_is_not_saved_has_not_worked) {
  host_.other = std::make_unique<ForgetfulStore>();
  in_.str("{\"millrace_export\":{\"format\":1}}\n{\"end\":{}}\n");
  EXPECT_EQ(run({"import", "-", "--into", "somewhere"}), Exit::failed);
  EXPECT_THAT(err_.str(), HasSubstr("error: the disk is full\nWhat was added is lost"));
}

TEST_F(CliTest, a_store_that_cannot_be_opened_is_a_failure_and_a_damaged_one_is_damage) {
  no_store_ = Error{ErrorCode::not_found, "nothing there"};
  EXPECT_EQ(run({"export", "a"}), Exit::failed);
  EXPECT_EQ(err_.str(), "error: nothing there\n");
  no_store_ = Error{ErrorCode::corrupt, "segment 1 at offset 5"};
  EXPECT_EQ(run({"export", "a"}), Exit::corrupt);
  EXPECT_EQ(run({"import", "-", "--into", "a"}), Exit::corrupt);
}

TEST_F(CliTest, a_file_that_is_not_there_is_a_failure) {
  EXPECT_EQ(run({"import", "/nowhere/at/all", "--into", "a"}), Exit::failed);
  EXPECT_THAT(err_.str(), HasSubstr("cannot read /nowhere/at/all"));
  EXPECT_EQ(run({"import", "/tmp", "--into", "a"}), Exit::failed);
  EXPECT_EQ(run({"export", "a", "--output", "/nowhere/at/all"}), Exit::failed);
  EXPECT_THAT(err_.str(), HasSubstr("/nowhere/at/all"));
}

TEST_F(CliTest, an_output_file_is_whole_or_not_there_and_replaced_only_if_told_so) {
  const test::TemporaryDirectory folder;
  const std::string file = folder / "out.jsonl";
  EXPECT_EQ(run({"export", "a", "-o", file}), Exit::ok);
  EXPECT_EQ(run({"export", "a", "-o", file}), Exit::failed);
  EXPECT_THAT(err_.str(), HasSubstr("--force replaces it"));
  EXPECT_EQ(run({"export", "a", "-o", file, "--force"}), Exit::ok);
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  EXPECT_THAT(line, HasSubstr("millrace_export"));
  const auto there = std::filesystem::directory_iterator(folder.path());
  EXPECT_EQ(std::distance(begin(there), end(there)), 1) << "nothing is left beside it";
}

TEST_F(CliTest, verify_prints_what_it_found) {
  verified_ = Verified{.counts = {{"tasks", 1234}}, .remarks = {"by the way"}};
  EXPECT_EQ(run({"verify", "data"}), Exit::ok);
  EXPECT_EQ(out_.str(), "tasks                  1,234\n");
  EXPECT_EQ(err_.str(), "by the way\nno damage found\n");
  verified_ = Verified{.damage = {"queue q counts 2 tasks and has 3"}};
  EXPECT_EQ(run({"verify", "data"}), Exit::corrupt);
  EXPECT_THAT(err_.str(), HasSubstr("error: queue q counts"));
  verified_ = std::unexpected(Error{ErrorCode::corrupt, "1.seg at offset 7"});
  EXPECT_EQ(run({"verify", "data"}), Exit::corrupt);
  verified_ = std::unexpected(Error{ErrorCode::conflict, "in use"});
  EXPECT_EQ(run({"verify", "data"}), Exit::failed);
}

}  // namespace
}  // namespace millrace::cli
