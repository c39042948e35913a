#include "config/handlers.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "config/config.h"

namespace millrace::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using namespace std::chrono_literals;

Config with(std::string text) {
  return read_config({.file = File{"millrace.toml", std::move(text)}});
}

std::string problem_with(std::string text) {
  const Config config = with(std::move(text));
  return config.problems.size() == 1 ? config.problems.front()
                                     : "problems: " + std::to_string(config.problems.size());
}

TEST(Handlers, are_commands_or_endpoints_of_queues) {
  const Config config = with(R"(
[handlers.thumbnails]
exec = ["python3", "thumbnail.py", "--size", "200"]
concurrency = 4
timeout = "30s"
grace = "2s"
memory = "512MiB"
directory = "/srv/work"

[handlers."shop.emails"]
http = "https://example.com/emails"
allow_private = true
)");
  EXPECT_THAT(config.problems, IsEmpty());
  EXPECT_THAT(config.handlers,
              ElementsAre(HandlerSettings{.queue = "thumbnails",
                                          .exec = {"python3", "thumbnail.py", "--size", "200"},
                                          .concurrency = 4,
                                          .timeout = 30s,
                                          .grace = 2s,
                                          .memory = Size{512U << 20U},
                                          .directory = "/srv/work",
                                          .where = "millrace.toml:3"},
                          HandlerSettings{.queue = "shop.emails",
                                          .http = "https://example.com/emails",
                                          .allow_private = "true",
                                          .where = "millrace.toml:11"}));
  EXPECT_THAT(as_table(config), HasSubstr("python3 thumbnail.py --size 200"));
}

TEST(Handlers, written_as_toml_are_read_as_they_were) {
  const Config first = with(R"([handlers."a.b"]
exec = ["sh", "-c", "echo \"hi\" \\ there"]
timeout = "90s"
memory = "2MiB"
directory = "/tmp"
[handlers.c]
http = "http://127.0.0.1:8080/x"
allow_private = "127.0.0.0/8"
concurrency = 7
)");
  std::string text;
  for (const HandlerSettings& each : first.handlers) text += as_toml(each);
  Config second = with(text);
  ASSERT_EQ(second.handlers.size(), first.handlers.size()) << text;
  for (std::size_t i = 0; i < first.handlers.size(); ++i) {
    second.handlers[i].where = first.handlers[i].where;
    EXPECT_EQ(second.handlers[i], first.handlers[i]);
  }
}

TEST(Handlers, that_make_no_sense_are_told_with_line_and_remedy) {
  EXPECT_EQ(problem_with("[handlers.a]\nexec = \"sh\"\n"),
            "millrace.toml:2: handlers.a.exec is \"sh\"; it must be a list of texts, the command "
            "first: exec = [\"python3\", \"work.py\"]");
  EXPECT_THAT(problem_with("[handlers.a]\nexec = []\n"), HasSubstr("is a list; it must be"));
  EXPECT_THAT(problem_with("[handlers.a]\nexec = [1]\n"), HasSubstr("is a list; it must be"));
  EXPECT_THAT(problem_with("[handlers.a]\nhttp = \"ftp://x\"\n"), HasSubstr("it must be a URL"));
  EXPECT_THAT(problem_with("[handlers.a]\nhttp = \"http://x\"\nconcurrency = 0\n"),
              HasSubstr("a whole number from 1 to 10000"));
  EXPECT_THAT(problem_with("[handlers.a]\nhttp = \"http://x\"\ntimeout = 30\n"),
              HasSubstr("a duration from 1ms to 24h, such as \"30s\""));
  EXPECT_THAT(problem_with("[handlers.a]\nexec = [\"x\"]\nmemory = \"1B\"\n"),
              HasSubstr("a size of at least 1MiB"));
  EXPECT_THAT(problem_with("[handlers.a]\nhttp = \"http://x\"\nallow_private = 1\n"),
              HasSubstr("true, false, or ranges"));
  EXPECT_THAT(problem_with("[handlers.a]\nexce = [\"x\"]\n"),
              HasSubstr("a handler has no \"exce\"; the nearest is exec"));
  EXPECT_THAT(problem_with("[handlers]\nexec = [\"x\"]\n"), HasSubstr("write [handlers.QUEUE]"));
  EXPECT_THAT(problem_with("[handlers.\"$webhooks\"]\nexec = [\"x\"]\n"), HasSubstr("$"));
}

TEST(Handlers, headers_are_a_table_and_none_of_our_own) {
  const Config config = with(
      "[handlers.a]\nhttp = \"https://x\"\nsecret_file = \"/s\"\n"
      "[handlers.a.headers]\nAuthorization = \"@/t\"\nX-Team = \"mail\"\n");
  ASSERT_THAT(config.problems, IsEmpty());
  ASSERT_EQ(config.handlers.size(), 1U);
  EXPECT_EQ(config.handlers[0].secret_file, "/s");
  EXPECT_EQ(config.handlers[0].headers.size(), 2U);
  const std::string text = as_toml(config.handlers[0]);
  EXPECT_THAT(text, HasSubstr("\"Authorization\" = \"@/t\""));
  EXPECT_THAT(text, Not(HasSubstr("mail"))) << "it may be a secret";
  for (const char* name : {"Content-Type", "X-Task-ID", "webhook-signature", "Host", "\"a b\""}) {
    EXPECT_THAT(problem_with(fmt::format(
                    "[handlers.a]\nhttp = \"http://x\"\nheaders = {{ {} = \"1\" }}\n", name)),
                HasSubstr("is not a header that may be set here"));
  }
  EXPECT_THAT(problem_with("[handlers.a]\nhttp = \"http://x\"\nheaders = { A = 1 }\n"),
              HasSubstr("printable ASCII"));
  EXPECT_THAT(problem_with("[handlers.a]\nhttp = \"http://x\"\nheaders = \"A: 1\"\n"),
              AllOf(HasSubstr("a table"), Not(HasSubstr("A: 1"))));
  EXPECT_THAT(problem_with("[handlers.a]\nexec = [\"x\"]\nsecret_file = \"/s\"\n"),
              HasSubstr("secret_file and headers are for http only"));
}

TEST(Handlers, need_one_way_to_work_and_not_two) {
  EXPECT_EQ(problem_with("[handlers.a]\nconcurrency = 2\n"),
            "millrace.toml:2: handlers.a must have either exec or http");
  EXPECT_THAT(problem_with("[handlers.a]\nexec = [\"x\"]\nhttp = \"http://x\"\n"),
              HasSubstr("either exec or http"));
  EXPECT_THAT(problem_with("[handlers.a]\nhttp = \"http://x\"\nmemory = \"1GiB\"\n"),
              HasSubstr("memory and directory are for exec only"));
}

TEST(Roles, a_worker_knows_whom_it_works_for) {
  EXPECT_THAT(problem_with("role = \"worker\"\n"), HasSubstr("--server http://127.0.0.1:7070"));
  EXPECT_THAT(problem_with("role = \"worker\"\nserver = \"localhost:7070\"\n"),
              HasSubstr("it must be a URL"));
  EXPECT_THAT(with("role = \"worker\"\nserver = \"http://a:1\"\n").problems, IsEmpty());
  EXPECT_THAT(problem_with("role = \"boss\"\n"), HasSubstr("all, api, worker or scheduler"));
}

// S0-139
TEST(Roles, the_number_of_processes_has_its_old_name_too) {
  const Config config = read_config({.environment = {{"NUM_WORKERS", "3"}}});
  EXPECT_EQ(config.settings.processes, 3U);
  const Config bad = read_config({.environment = {{"NUM_WORKERS", "many"}}});
  ASSERT_EQ(bad.problems.size(), 1U);
  EXPECT_THAT(bad.problems.front(), HasSubstr("NUM_WORKERS: processes is \"many\""));
}

}  // namespace
}  // namespace millrace::config
