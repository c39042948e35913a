// The commands over HTTP, run as people run them, against a real server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <future>

#include "tests/e2e/console.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* an_id = "01890a5d-ac96-774b-bcce-b302099a8057";

// ---- put ---------------------------------------------------------------------------------------

TEST_F(ConsoleTest, put_prints_the_id_alone_and_task_shows_everything) {
  const Ran put = run({"put",    "emails",    R"({"to":"ann"})",
                       "--type", "welcome",   "--priority",
                       "high",   "--tag",     "a",
                       "--tag",  "b",         "--group",
                       "g",      "--client",  "shop",
                       "--meta", "x=1",       "--timeout",
                       "30s",    "--retries", "7"});
  EXPECT_EQ(put.exit, 0) << put.err;
  EXPECT_THAT(put.out, MatchesRegex("[0-9a-f-]{36}\n"));
  EXPECT_THAT(put.err, IsEmpty());
  const std::string id = put.out.substr(0, 36);
  const std::string shown = out_of({"task", id});
  EXPECT_THAT(shown, AllOf(HasSubstr(id), HasSubstr("emails"), HasSubstr("welcome"),
                           HasSubstr("queued"), HasSubstr("shop"), HasSubstr("a, b"),
                           HasSubstr(R"({"x":"1"})"), HasSubstr(R"({"to":"ann"})")));
  EXPECT_THAT(shown, HasSubstr("why")) << "it waits, and is told why";
  EXPECT_THAT(shown, Not(HasSubstr("\x1b"))) << "not a terminal";
  EXPECT_EQ(out_of({"task", "show", "1"}), shown) << "by its number";
  EXPECT_THAT(out_of({"task", id, "--json"}),
              AllOf(StartsWith("{\"id\":\"" + id), HasSubstr(R"("priority":8)"),
                    HasSubstr(R"("payload":{"to":"ann"})")));
  EXPECT_THAT(out_of({"task", "explain", id}), HasSubstr("worker"));
}

TEST_F(ConsoleTest, payloads_come_from_files_input_text_and_base64) {
  const auto payload = [&](const std::string& id) { return out_of({"task", id, "--json"}); };
  const std::string json = file("p.json", "[1, 2]\n");
  EXPECT_THAT(payload(out_of({"put", "q", "@" + json})), HasSubstr(R"("payload":[1, 2])"));
  const Ran piped = run({"put", "q", "-"}, json);
  EXPECT_THAT(payload(piped.out.substr(0, 36)), HasSubstr(R"("payload":[1, 2])"));
  EXPECT_THAT(payload(out_of({"put", "q", "hello there", "--text"})),
              AllOf(HasSubstr("hello there"), HasSubstr("text/plain")));
  EXPECT_THAT(payload(out_of({"put", "q", "AP8=", "--base64"})),
              AllOf(HasSubstr("AP8="), HasSubstr("application/octet-stream")));
  EXPECT_THAT(out_of({"task", out_of({"put", "q", "AP8=", "--base64"})}),
              HasSubstr("2 bytes that are not text"));
}

TEST_F(ConsoleTest, the_same_id_and_the_same_key_are_put_once) {
  EXPECT_EQ(out_of({"put", "q", "{}", "--id", an_id}), an_id);
  const Ran again = run({"put", "q", "{}", "--id", an_id});
  EXPECT_EQ(again.exit, 0);
  EXPECT_EQ(again.out, std::string(an_id) + "\n");
  EXPECT_THAT(again.err, HasSubstr("exists already (queued)"));
  const std::string first = out_of({"put", "q", "{}", "--unique", "k"});
  EXPECT_EQ(out_of({"put", "q", "{}", "--unique", "k"}), first);
}

TEST_F(ConsoleTest, put_may_wait_for_the_result) {
  const auto waited = [&](const std::vector<std::string>& arguments,
                          const std::vector<std::string>& command) {
    auto put = std::async(std::launch::async, [&] { return run(arguments); });
    while (put.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      work("calc", command);
    }
    return put.get();
  };
  const Ran good = waited({"put", "calc", "--wait", "60s", "[1,2]"}, {"cat"});
  EXPECT_EQ(good.exit, 0) << good.err;
  EXPECT_EQ(good.out, "[1,2]\n");
  EXPECT_THAT(good.err, MatchesRegex("[0-9a-f-]{36}\n"));
  const Ran bad = waited({"put", "calc", "[1,2]", "--wait"}, {"sh", "-c", "echo no >&2; exit 65"});
  EXPECT_EQ(bad.exit, 1);
  EXPECT_THAT(bad.out, IsEmpty());
  EXPECT_THAT(bad.err, AllOf(HasSubstr("error: the task ended failed"), HasSubstr("task show")));
  const Ran late = run({"put", "calc", "[1,2]", "--wait", "50ms"});
  EXPECT_EQ(late.exit, 1);
  EXPECT_THAT(late.err, AllOf(HasSubstr("is queued after 50ms"), HasSubstr("task wait")));
}

TEST_F(ConsoleTest, lines_are_put_in_batches_and_bad_ones_are_told_by_number) {
  std::string lines;
  for (int i = 1; i <= 5000; ++i) lines += std::to_string(i) + "\n";
  const Ran good = run({"put", "bulk", "--lines", "--type", "t"}, file("lines", lines));
  EXPECT_EQ(good.exit, 0) << good.err;
  EXPECT_EQ(good.err, "put 5,000 tasks\n");
  EXPECT_THAT(good.out, IsEmpty());
  const Ran bad =
      run({"put", "bulk", "--lines", "--print-ids"}, file("bad", "1\n\n{\"a\":}\n\"two\"\r\nx"));
  EXPECT_EQ(bad.exit, 1);
  EXPECT_THAT(bad.err, AllOf(HasSubstr("error: line 3: the payload is not JSON"),
                             HasSubstr("error: line 5:"), HasSubstr("put 2 tasks, 2 refused")));
  EXPECT_THAT(bad.out, MatchesRegex("[0-9a-f-]{36}\n[0-9a-f-]{36}\n"));
  EXPECT_THAT(out_of({"queues"}), HasSubstr("5,002"));
  const Ran tasks = run({"put", "bulk", "--task-lines"},
                        file("tasks", R"({"payload":1,"priority":9,"queue":"other"})"
                                      "\n{\"payload\":2}\n{\"prority\":2}\n{\"priority\":77}\n"));
  EXPECT_EQ(tasks.exit, 1);
  EXPECT_THAT(tasks.err,
              AllOf(HasSubstr("line 3:"), HasSubstr("line 4:"), HasSubstr("put 2 tasks")));
  EXPECT_THAT(out_of({"tasks", "--queue", "other", "--json"}), HasSubstr(R"("priority":9)"));
  const Ran many = run({"put", "q", "--lines"}, file(
                                                    "many", std::string(60, 'x') + "\n" + [] {
                                                      std::string all;
                                                      for (int i = 0; i < 40; ++i) all += "x\n";
                                                      return all;
                                                    }()));
  EXPECT_THAT(many.err, AllOf(HasSubstr("line 20:"), Not(HasSubstr("line 21:")),
                              HasSubstr("and 21 lines more")));
}

TEST_F(ConsoleTest, what_the_server_refuses_stops_the_lines_where_it_happened) {
  server_.signal(SIGKILL);
  const Ran ran = run({"put", "q", "--lines"}, file("l", "1\n2\n"));
  EXPECT_EQ(ran.exit, 6);
  EXPECT_THAT(ran.err, HasSubstr("from line 1 on: "));
}

// ---- task, tasks -------------------------------------------------------------------------------

TEST_F(ConsoleTest, tasks_are_found_by_filter_and_changed_by_id) {
  const std::string held = out_of({"put", "q", "{}", "--hold", "--tag", "x"});
  const std::string later = out_of({"put", "q", "{}", "--delay", "1h", "--type", "slow"});
  EXPECT_THAT(out_of({"tasks"}), AllOf(HasSubstr(held), HasSubstr(later)));
  EXPECT_THAT(out_of({"tasks", "--state", "created"}),
              AllOf(HasSubstr(held), Not(HasSubstr(later))));
  EXPECT_THAT(out_of({"tasks", "--type", "slow", "--queue", "q"}),
              AllOf(HasSubstr("starts in "), Not(HasSubstr(held))));
  EXPECT_THAT(run({"tasks", "--since", "1h", "--until", "10m"}).err, HasSubstr("no tasks"));
  EXPECT_THAT(run({"tasks", "-n", "1"}).err, HasSubstr("--before "));
  EXPECT_THAT(out_of({"tasks", "--all", "--json"}), StartsWith(R"({"tasks":[{"id":)"));
  EXPECT_EQ(out_of({"task", "release", held}), held + "  queued");
  EXPECT_EQ(out_of({"task", "change", later, "--priority", "9", "--delay", "0s"}),
            later + "  queued");
  EXPECT_EQ(out_of({"task", "cancel", held, later, "--reason", "no need"}),
            held + "  cancelled\n" + later + "  cancelled");
  EXPECT_THAT(out_of({"task", later}), HasSubstr("no need"));
  EXPECT_EQ(out_of({"task", "retry", later, "--json"}),
            "{\"id\":\"" + later + "\",\"state\":\"queued\"}");
  EXPECT_THAT(run({"task", "remove", later}).err, HasSubstr("--yes"));
  EXPECT_EQ(out_of({"task", "remove", later, "--yes"}), later + "  removed");
  EXPECT_EQ(run({"task", "show", later}).exit, 5);
}

TEST_F(ConsoleTest, a_release_brings_the_content_of_a_file_or_of_the_input) {
  const auto put = [&] { return out_of({"put", "answers", "{}", "--hold"}); };
  const auto answer = [&](const std::string& id) { return out_of({"task", id, "--json"}); };
  const std::string one = put();
  EXPECT_EQ(run({"task", "release", one, "--data", "@" + file("a", "{\"ok\":1}\n")}).exit, 0);
  EXPECT_THAT(answer(one), HasSubstr(R"("answer":{"ok":1})"));
  const std::string two = put();
  EXPECT_EQ(run({"task", "release", two, "--data", "@-"}, file("b", "[2]")).exit, 0);
  EXPECT_THAT(answer(two), HasSubstr(R"("answer":[2])"));
  const std::string three = put();
  const Ran refused = run({"task", "release", three, "--data", "null"});
  EXPECT_EQ(refused.exit, 2);
  EXPECT_THAT(refused.err, HasSubstr("--data is null"));
  EXPECT_EQ(run({"task", "release", three, "--expect-version", "9"}).exit, 1);
  EXPECT_THAT(answer(three), HasSubstr(R"("state":"created")"));
  EXPECT_EQ(run({"task", "release", three, "--expect-version", "1"}).exit, 0);
}

TEST_F(ConsoleTest, a_task_waits_for_others_and_shows_them) {
  const std::string first = out_of({"put", "steps", "\"one\""});
  const std::string second = out_of({"put", "later", "{}"});
  const std::string child =
      out_of({"put", "last", "{}", "--after", first + "," + second, "--otherwise", "hold"});
  EXPECT_THAT(out_of({"tasks", "--queue", "last"}), HasSubstr("waits for 2 tasks"));
  EXPECT_THAT(out_of({"task", "explain", child}),
              AllOf(StartsWith("It waits for 2 of 2 tasks: "), HasSubstr(first + " (queued)")));
  EXPECT_THAT(out_of({"task", child}), HasSubstr("2 tasks, 2 still to end"));
  work("steps", {"cat"});
  out_of({"task", "wait", first});
  EXPECT_THAT(out_of({"task", "parents", child}),
              AllOf(HasSubstr(first), HasSubstr("completed"), HasSubstr("\"one\""),
                    HasSubstr(second), HasSubstr("yes")));
  EXPECT_THAT(out_of({"task", "parents", child, "--json"}), HasSubstr(R"("waits_for":1)"));
  EXPECT_THAT(run({"task", "parents", first}).err, HasSubstr("waits for no other task"));
  EXPECT_EQ(out_of({"task", "release", child}), child + "  queued");
  const Ran refused = run({"put", "q", "{}", "--after", "019a0000-0000-7000-8000-000000000000"});
  EXPECT_THAT(refused.err, Not(HasSubstr("millrace queues"))) << "it is no queue that is missing";
  EXPECT_EQ(refused.exit, 5);
  EXPECT_THAT(refused.err, HasSubstr("to wait for"));
}

TEST_F(ConsoleTest, a_task_that_ran_has_a_result_a_log_and_a_history) {
  const std::string id = out_of({"put", "echo", "\"hi\""});
  EXPECT_EQ(run({"task", "result", id}).exit, 1) << "it has none yet";
  work("echo", {"sh", "-c", "echo first >&2; echo second >&2; cat"});
  EXPECT_EQ(run({"task", "result", id}).out, "\"hi\"") << "byte by byte";
  EXPECT_THAT(out_of({"task", "log", id}), AllOf(HasSubstr("  first\n"), EndsWith("  second")));
  EXPECT_EQ(out_of({"task", "wait", id}), "\"hi\"");
  EXPECT_THAT(out_of({"task", id}), AllOf(HasSubstr("completed"), HasSubstr("Log"),
                                          HasSubstr("tester"), HasSubstr("Result")));
  EXPECT_THAT(out_of({"workers"}), AllOf(HasSubstr("tester"), HasSubstr("echo")));
  EXPECT_THAT(out_of({"workers", "tester"}), HasSubstr("settled"));
  EXPECT_THAT(out_of({"workers", "tester", "--json"}), HasSubstr(R"("name":"tester")"));
  EXPECT_THAT(out_of({"stats"}), HasSubstr("echo"));
  EXPECT_THAT(out_of({"stats", "echo", "--json"}), HasSubstr(R"("completed":1)"));
}

// ---- queues ------------------------------------------------------------------------------------

TEST_F(ConsoleTest, queues_are_made_changed_stopped_and_removed) {
  EXPECT_THAT(run({"queues"}).err, HasSubstr("no queues yet"));
  const Ran made =
      run({"queues", "create",           "emails", "--max-concurrent", "10",      "--rate",
           "100/1m", "--put-rate",       "5/1s",   "--lease",          "30s",     "--retries",
           "5",      "--keep-completed", "24h",    "--keep-dead",      "forever", "--description",
           "mail",   "--ageing",         "10m",    "--retry-base",     "2s",      "--backoff",
           "fixed",  "--jitter",         "none",   "--max-depth",      "1000",    "--weight",
           "3",      "--batch-size",     "7",      "--number",         "42",      "--timeout",
           "1m",     "--retry-factor",   "1.5",    "--retry-cap",      "1h",      "--dead-letters",
           "true",   "--max-lost",       "2",      "--priority",       "high",    "--active",
           "true"});
  EXPECT_EQ(made.exit, 0) << made.err;
  const std::string json = out_of({"queues", "show", "emails", "--json"});
  for (const char* each :
       {R"("max_concurrent":10)", R"("process_rate":{"max":100,"per_ms":60000})",
        R"("lease_ms":30000)", R"("max_retries":5)", R"("keep_completed":{"for_ms":86400000})",
        R"("number":42)", R"("put_rate":{"max":5,"per_ms":1000})", R"("priority":8)",
        R"("factor":1.5)", R"("description":"mail")", R"("timeout_ms":60000)",
        R"("jitter":"none")"}) {
    EXPECT_THAT(json, HasSubstr(each));
  }
  EXPECT_THAT(out_of({"queues", "show", "42"}), AllOf(HasSubstr("100 in 1m"), HasSubstr("mail")));
  EXPECT_EQ(run({"queues", "change", "emails", "--rate", "none", "--lease", "1m"}).exit, 0);
  EXPECT_THAT(out_of({"queues", "show", "emails", "--json"}),
              AllOf(Not(HasSubstr("process_rate")), HasSubstr(R"("lease_ms":60000)"),
                    HasSubstr(R"("max_concurrent":10)")));
  EXPECT_EQ(run({"queues", "pause", "emails", "--for", "10m"}).exit, 0);
  EXPECT_THAT(out_of({"queues"}), HasSubstr("paused for "));
  EXPECT_EQ(run({"queues", "pause", "emails"}).exit, 0);
  EXPECT_THAT(out_of({"queues"}), EndsWith(" paused"));
  EXPECT_EQ(run({"queues", "resume", "emails"}).exit, 0);
  EXPECT_THAT(out_of({"queues"}), EndsWith(" active"));
  out_of({"put", "emails", "{}"});
  EXPECT_EQ(run({"queues", "drain", "emails"}).exit, 0);
  EXPECT_THAT(out_of({"queues"}), EndsWith(" draining"));
  const Ran full = run({"queues", "remove", "emails"});
  EXPECT_EQ(full.exit, 1);
  EXPECT_THAT(full.err, HasSubstr("--force"));
  const Ran unasked = run({"queues", "clear", "emails"});
  EXPECT_EQ(unasked.exit, 2) << "there is no terminal to ask at";
  EXPECT_THAT(unasked.err, AllOf(HasSubstr("this removes 1 task permanently"), HasSubstr("--yes")));
  EXPECT_EQ(run({"queues", "clear", "emails", "--yes"}).err, "removed 1 task\n");
  EXPECT_EQ(run({"queues", "remove", "emails"}).exit, 2) << "there is no terminal to ask at";
  EXPECT_EQ(run({"queues", "remove", "emails", "--yes"}).exit, 0);
  EXPECT_EQ(run({"queues", "show", "emails"}).exit, 5);
}

// ---- dead letters ------------------------------------------------------------------------------

TEST_F(ConsoleTest, groups_are_listed_limited_paused_and_reset) {
  run({"queues", "create", "emails", "--group-order", "fair", "--group-max-concurrent", "2",
       "--group-rate", "100/1m"});
  EXPECT_THAT(out_of({"queues", "show", "emails"}), HasSubstr("fair, at most 2 run, 100 in 1m"));
  EXPECT_THAT(run({"groups", "emails"}).err, HasSubstr("No group of emails has tasks"));
  for (int i = 0; i < 3; ++i) out_of({"put", "emails", "{}", "--group", "acme", "--cost", "7"});
  const std::string id = out_of({"put", "emails", "{}", "--group", "a b/c"});
  EXPECT_THAT(out_of({"task", id}), AllOf(HasSubstr("a b/c"), Not(HasSubstr("cost"))));
  const std::string list = out_of({"groups", "emails"});
  EXPECT_THAT(list, AllOf(StartsWith("GROUP"), HasSubstr("acme"), HasSubstr("a b/c")));
  EXPECT_LT(list.find("acme"), list.find("a b/c")) << "those with most tasks come first";
  EXPECT_THAT(run({"groups", "emails", "--most", "1"}).err, HasSubstr("and 1 more"));
  EXPECT_THAT(out_of({"groups", "emails", "--json"}),
              HasSubstr(R"({"queue":"emails","group":"acme","waiting":3,"ready":3,"running":0)"));

  EXPECT_THAT(
      run({"groups", "set", "emails", "acme", "--max-concurrent", "3", "--until", "2h"}).err,
      HasSubstr("changed the group acme of emails: at most 3 run, ends in"));
  EXPECT_THAT(run({"groups", "pause", "emails", "a b/c"}).err,
              HasSubstr("paused the group a b/c of emails: paused"));
  EXPECT_THAT(out_of({"task", "explain", id}), HasSubstr("is paused until it is resumed"));
  EXPECT_THAT(out_of({"groups", "show", "emails", "acme"}),
              AllOf(HasSubstr("waiting"), HasSubstr("at most 3 run, ends in")));
  EXPECT_EQ(run({"groups", "resume", "emails", "a b/c"}).exit, 0);
  EXPECT_THAT(out_of({"groups", "reset", "emails", "acme", "--json"}), Not(HasSubstr("override")));
  EXPECT_THAT(
      out_of({"groups", "set", "emails", "acme", "--weight", "3", "--rate", "none", "--json"}),
      HasSubstr(R"("override":{"weight":3})"));
  EXPECT_EQ(run({"queues", "change", "emails", "--group-order", "none"}).exit, 0);
  const Ran refused = run({"groups", "set", "emails", "acme", "--weight", "3"});
  EXPECT_EQ(refused.exit, 1);
  EXPECT_THAT(refused.err, HasSubstr("has no rules for groups"));
  EXPECT_EQ(run({"groups", "nowhere"}).exit, 5);
}

TEST_F(ConsoleTest, a_callback_that_needs_a_setting_is_put_and_told) {
  for (const char* url :
       {"http://127.0.0.1:9/x", "http://localhost", "https://[::1]/", "http://10.1.2.3"}) {
    const Ran ran = run({"put", "q", "{}", "--callback", url});
    EXPECT_EQ(ran.exit, 0) << url;
    EXPECT_THAT(ran.err, HasSubstr("webhooks.allow_private")) << url;
  }
  EXPECT_EQ(run({"put", "q", "{}", "--callback", "https://example.org/hook"}).err, "");
}

TEST_F(ConsoleTest, dead_letters_are_listed_retried_and_removed) {
  const std::string one = out_of({"put", "q", "1", "--type", "a"});
  const std::string two = out_of({"put", "q", "2", "--type", "b"});
  work("q", {"sh", "-c", "exit 65"});
  EXPECT_THAT(out_of({"dead"}), AllOf(HasSubstr(one), HasSubstr(two), HasSubstr("failed")));
  EXPECT_THAT(out_of({"dead", "--type", "a"}), AllOf(HasSubstr(one), Not(HasSubstr(two))));
  EXPECT_THAT(out_of({"dead", "groups"}), AllOf(HasSubstr("COUNT"), HasSubstr("exit_65")));
  EXPECT_THAT(out_of({"dead", "groups", "--queue", "q", "--json"}), StartsWith(R"({"groups":[)"));
  EXPECT_EQ(run({"dead", "retry", "--queue", "q"}).exit, 2) << "not without --yes";
  EXPECT_EQ(run({"dead", "retry", one}).err, "queued again 1 dead letter\n");
  EXPECT_THAT(out_of({"tasks", "--state", "queued"}), HasSubstr(one));
  EXPECT_EQ(out_of({"dead", "remove", "--queue", "q", "--yes", "--json"}),
            R"({"done":1,"refused":0})");
  EXPECT_EQ(run({"dead"}).err, "no dead letters\n");
  EXPECT_EQ(run({"dead", "groups"}).err, "no dead letters\n");
}

// ---- many at once ------------------------------------------------------------------------------

TEST_F(ConsoleTest, many_tasks_are_changed_by_filter_and_operations_can_be_looked_at) {
  std::string lines;
  for (int i = 1; i <= 150; ++i) lines += std::to_string(i) + "\n";
  EXPECT_EQ(run({"put", "a", "--lines", "--type", "t", "--tag", "x"}, file("l", lines)).exit, 0);
  EXPECT_EQ(run({"tasks", "cancel", "--queue", "a", "--dry-run"}).err, "would cancel 150 tasks\n");
  const Ran unasked = run({"tasks", "cancel", "--queue", "a"});
  EXPECT_EQ(unasked.exit, 2) << "there is no terminal to ask at";
  EXPECT_THAT(unasked.err, AllOf(HasSubstr("this would cancel 150 tasks"), HasSubstr("--yes")));
  EXPECT_EQ(run({"tasks", "priority", "9", "--tag", "x", "--yes"}).err, "changed 150 tasks\n");
  EXPECT_THAT(out_of({"tasks", "--queue", "a", "-n", "1", "--json"}), HasSubstr(R"("priority":9)"));
  EXPECT_EQ(run({"tasks", "move", "b", "--queue", "a", "--type", "t", "--yes"}).err,
            "moved 150 tasks\n");
  EXPECT_EQ(run({"tasks", "cancel", "--queue", "b", "--yes", "--reason", "r"}).err,
            "cancelled 150 tasks\n");
  EXPECT_EQ(run({"tasks", "retry", "--queue", "b", "--state", "cancelled", "--yes"}).err,
            "queued again 150 tasks\n");
  EXPECT_THAT(out_of({"tasks", "remove", "--queue", "b", "--yes", "--json"}),
              HasSubstr(R"("done":150)"));
  EXPECT_EQ(run({"tasks", "remove", "--queue", "b"}).err, "No task matches.\n");
  EXPECT_EQ(run({"put", "few", "1"}).exit, 0);
  EXPECT_EQ(run({"tasks", "cancel", "--queue", "few"}).exit, 2) << "one is as many as all";
  EXPECT_EQ(run({"tasks", "cancel", "--queue", "few", "--yes"}).err, "cancelled 1 task\n");
  const std::string list = out_of({"bulk"});
  EXPECT_THAT(list, AllOf(HasSubstr("cancel (dry run)"), HasSubstr("150 done"), HasSubstr("move")));
  const std::string id = list.substr(list.find('\n') + 1, 36);
  EXPECT_THAT(out_of({"bulk", "show", id}), AllOf(HasSubstr(id), HasSubstr("completed")));
  EXPECT_EQ(run({"bulk", "wait", id}).exit, 0);
  EXPECT_EQ(run({"bulk", "cancel", id}).exit, 1) << "it has ended";
  EXPECT_EQ(run({"bulk", "show", an_id}).exit, 5);
}

TEST_F(ConsoleTest, all_tasks_are_meant_with_all_and_only_waiting_ones_are_moved) {
  EXPECT_EQ(run({"put", "a", "1"}).exit, 0);
  EXPECT_EQ(run({"put", "b", "1"}).exit, 0);
  EXPECT_EQ(run({"tasks", "cancel", "--queue", "b", "--yes"}).err, "cancelled 1 task\n");
  EXPECT_EQ(run({"tasks", "move", "c", "--all", "--yes"}).err, "moved 1 task\n");
  EXPECT_THAT(out_of({"bulk"}), AllOf(HasSubstr("move to c"), HasSubstr("queue b")));
  EXPECT_EQ(run({"tasks", "move", "c", "--state", "cancelled", "--yes"}).err, "moved 1 task\n");
  EXPECT_EQ(run({"tasks", "priority", "9", "--all", "--yes"}).err, "changed 1 task\n");
  EXPECT_EQ(run({"tasks", "retry", "--all", "--dry-run"}).err, "would retry no tasks\n");
  EXPECT_EQ(run({"tasks", "cancel", "--all", "--yes"}).err, "cancelled 1 task\n");
  EXPECT_EQ(run({"tasks", "remove", "--all", "--yes"}).err, "removed 2 tasks\n");
}

TEST_F(ConsoleTest, queues_are_named_by_number_and_id_where_many_tasks_are_changed) {
  EXPECT_EQ(run({"queues", "create", "numbered", "--number", "17"}).exit, 0);
  EXPECT_EQ(run({"put", "a", "1"}).exit, 0);
  const Ran nowhere = run({"tasks", "move", "18", "--queue", "a", "--yes"});
  EXPECT_EQ(nowhere.exit, 5) << nowhere.err;
  EXPECT_EQ(run({"tasks", "move", "17", "--queue", "a", "--yes"}).err, "moved 1 task\n");
  EXPECT_EQ(run({"tasks", "cancel", "--queue", "17", "--yes"}).err, "cancelled 1 task\n");
  EXPECT_EQ(run({"dead", "remove", "--queue", "17", "--yes"}).exit, 0);
  EXPECT_THAT(out_of({"bulk"}), HasSubstr("move to numbered"));
}

// ---- events ------------------------------------------------------------------------------------

TEST_F(ConsoleTest, events_are_followed_as_they_happen) {
  auto followed = std::async(std::launch::async, [&] {
    return run({"events", "--queue", "watched", "--type", "t", "--count", "2", "--json"});
  });
  while (followed.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    run({"put", "watched", "1", "--type", "other"});
    run({"put", "watched", "1", "--type", "t"});
  }
  const Ran ran = followed.get();
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(std::ranges::count(ran.out, '\n'), 2);
  EXPECT_THAT(ran.out, AllOf(StartsWith(R"({"event":"put",)"), HasSubstr(R"("queue":"watched")"),
                             Not(HasSubstr("other"))));
}

TEST(ConsoleAlone, events_go_on_when_the_server_restarts) {
  auto first = std::make_unique<ServerProcess>(std::vector<std::string>{"--store", "memory:"});
  ASSERT_TRUE(first->ready());
  const std::string address = "127.0.0.1:" + std::to_string(first->port());
  const auto put = [&] {
    return run_program({"put", "q", "1", "--server", "http://" + address}).exit;
  };
  auto followed = std::async(std::launch::async, [&] {
    return run_program({"events", "--count", "40", "--server", "http://" + address});
  });
  for (int i = 0; i < 20; ++i) EXPECT_EQ(put(), 0);
  first.reset();
  ServerProcess second({"--no-listen", "--store", "memory:", "--listen", address});
  ASSERT_TRUE(second.ready()) << second.said();
  while (followed.wait_for(std::chrono::seconds(0)) != std::future_status::ready) put();
  const Ran ran = followed.get();
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(std::ranges::count(ran.out, '\n'), 40);
  EXPECT_THAT(ran.err, HasSubstr("trying again"));
}

// ---- schedules ---------------------------------------------------------------------------------

TEST_F(ConsoleTest, schedules_are_made_run_changed_and_removed) {
  EXPECT_EQ(run({"queues", "create", "reports"}).exit, 0);
  const Ran made = run({"schedules", "create", "daily", "--cron", "0 9 * * MON-FRI", "--zone",
                        "Europe/Berlin", "--queue", "reports", "--payload", R"({"kind":1})",
                        "--priority", "9", "--overlap", "queue"});
  EXPECT_EQ(made.exit, 0) << made.err;
  EXPECT_THAT(out_of({"schedules"}), AllOf(HasSubstr("0 9 * * MON-FRI (Europe/Berlin)"),
                                           HasSubstr("reports"), HasSubstr("in ")));
  EXPECT_THAT(out_of({"schedules", "show", "daily"}), HasSubstr(R"({"kind":1})"));
  const std::string next = out_of({"schedules", "next", "daily", "--count", "3"});
  EXPECT_EQ(std::ranges::count(next, '\n'), 2);
  EXPECT_THAT(out_of({"schedules", "next", "daily", "--json"}), StartsWith(R"({"next":["20)"));
  const std::string id = out_of({"schedules", "run", "daily"});
  EXPECT_THAT(out_of({"task", id}), HasSubstr(R"({"kind":1})"));
  EXPECT_EQ(run({"schedules", "change", "daily", "--every", "10m", "--type", "t"}).exit, 0);
  EXPECT_THAT(out_of({"schedules", "show", "daily", "--json"}),
              AllOf(HasSubstr(R"("every_ms":600000)"), HasSubstr(R"("type":"t")"),
                    HasSubstr(R"("priority":9)"), Not(HasSubstr("Berlin"))));
  EXPECT_EQ(run({"schedules", "pause", "daily"}).exit, 0);
  EXPECT_THAT(out_of({"schedules"}), HasSubstr("paused"));
  EXPECT_THAT(run({"schedules", "next", "daily"}).err, HasSubstr("It is paused"));
  EXPECT_EQ(run({"schedules", "resume", "daily"}).exit, 0);
  EXPECT_EQ(run({"schedules", "remove", "daily"}).exit, 2) << "there is no terminal to ask at";
  EXPECT_EQ(run({"schedules", "remove", "daily", "--yes"}).exit, 0);
  EXPECT_THAT(run({"schedules"}).err, HasSubstr("There are no schedules"));
}

}  // namespace
}  // namespace millrace::test
