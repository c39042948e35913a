// The C++ of docs/recipes.md: it is compiled here as it stands there, and does what the page says.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <millrace/app.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "tests/e2e/program.h"
#include "tests/e2e/server.h"

namespace millrace::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using namespace std::chrono_literals;

// What a recipe has done, in order.
class Deeds {
 public:
  void add(std::string deed) {
    const std::scoped_lock lock(mutex_);
    all_.push_back(std::move(deed));
  }
  std::vector<std::string> take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(all_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> all_;
};
Deeds deeds;

void mail(const std::string& to, const std::string& subject, const std::string& task) {
  deeds.add(fmt::format("mail {} {} {}", to, subject, task));
}
template <class Refund>
void pay(const Refund& refund) {
  deeds.add(fmt::format("pay {} {}", refund.order, refund.amount));
}
std::string collect(const std::string& month) {
  deeds.add("collect");
  return month + ".table";
}
std::string render(const std::string& table) {
  deeds.add("render");
  return table + ".pdf";
}
bool can_send = true;  // read and written while no report is under way
void send(const std::string& to, const std::string& file) {
  if (!std::exchange(can_send, true)) throw std::runtime_error("the mail server is away");
  deeds.add(fmt::format("send {} {}", to, file));
}

struct Answer {
  std::string text;
  std::uint32_t tokens = 0;
};
Answer ask_model(const std::string& text) {
  deeds.add("ask " + text);
  return {.text = "So it is.", .tokens = 10};
}

// ---- The recipes, as the page has them ----

struct Refund {
  std::string order;
  int amount = 0;
};
MILLRACE_FIELDS(Refund, order, amount)

struct Decision {
  bool approved = false;
};
MILLRACE_FIELDS(Decision, approved)

void handle_refunds(App& app) {
  app.handle<Refund>("refunds", [](const Refund& refund, Context& task) -> Outcome {
    if (refund.amount > 1000) {
      if (!task.answer()) {
        task.step("ask", [&] {
          mail("boss@example.com", "Refund " + refund.order + "?", to_text(task.id()));
        });
        return Park{.until = task.now() + 72h};
      }
      const auto decision = decode<Decision>(*task.answer());
      if (!decision) {
        task.log("the answer is not a decision: " + decision.error().message);
        return Park{.until = task.now() + 72h};
      }
      if (!decision->approved) return Cancel{"not approved"};
    }
    task.step("pay", [&] { pay(refund); });
    return Done{};
  });
}

struct Report {
  std::string to;
  std::string month;
};
MILLRACE_FIELDS(Report, to, month)

void handle_reports(App& app) {
  app.handle<Report>("reports", {.timeout = 2h}, [](const Report& report, Context& task) {
    // Names of files: what steps return is stored with the task.
    const std::string table = task.step("collect", [&] { return collect(report.month); });
    const std::string file = task.step("render", [&] { return render(table); });
    task.step("send", [&] { send(report.to, file); });
  });
}

struct Prompt {
  std::string text;
};
MILLRACE_FIELDS(Prompt, text)

void handle_prompts(App& app) {
  app.handle<Prompt>("prompts",
                     {.concurrency = 20,
                      .process_rate = Rate{.max = 100'000, .per = 1min},
                      .rate_of = RateOf::cost,
                      .groups = GroupRules{.process_rate = Rate{.max = 20'000, .per = 1min},
                                           .rate_of = RateOf::cost}},
                     [](const Prompt& prompt, Context& task) {
                       const Answer answer = ask_model(prompt.text);
                       task.cost(answer.tokens);
                       return answer.text;
                     });
}

// ---- The tests ----

template <class T>
T must(Result<T> result) {
  if (!result) throw Failure(result.error());
  return std::move(*result);
}
void must(const Result<void>& result) {
  if (!result) throw Failure(result.error());
}

class Recipes : public ::testing::Test {
 protected:
  Recipes() {
    if (!server_.ready()) throw std::runtime_error(server_.said());
    app_ = std::make_unique<App>(fmt::format("http://127.0.0.1:{}", server_.port()),
                                 AppOptions{.idle = 100ms, .log = [](std::string_view) {}});
    handle_refunds(*app_);
    handle_reports(*app_);
    handle_prompts(*app_);
    must(app_->start());
    deeds.take();
  }

  TaskId put_refund(int amount) {
    return must(app_->client().put("refunds", Refund{.order = "A-1", .amount = amount})).id;
  }
  // Until it is parked after so many runs.
  void wait_until_parked(const TaskId& id, std::size_t runs = 1) {
    const auto parked = [&] {
      const Task task = must(app_->client().find(id));
      return task.state == TaskState::created && task.history.size() == runs;
    };
    SystemClock clock;
    const auto until = clock.steady() + 30s;
    while (!parked()) {
      if (clock.steady() > until) throw std::runtime_error("it is not parked");
      std::this_thread::yield();
    }
  }
  void release(const TaskId& id, const std::string& answer) const {
    const Reply reply = server_.ask({.method = "POST",
                                     .path = "/v1/tasks/" + to_text(id) + "/release",
                                     .body = fmt::format(R"({{"data":{}}})", answer)});
    ASSERT_EQ(reply.status, 200U) << reply.body;
  }
  Task end_of(const TaskId& id) { return must(app_->client().await(id, 30s)); }

  ServerProcess server_{{"--store", "memory:"}};
  std::unique_ptr<App> app_;
};

TEST_F(Recipes, a_refund_is_paid_when_it_is_approved) {
  EXPECT_EQ(end_of(put_refund(1000)).state, TaskState::completed);
  EXPECT_THAT(deeds.take(), ElementsAre("pay A-1 1000"));
  const TaskId id = put_refund(1001);
  wait_until_parked(id);
  EXPECT_THAT(deeds.take(), ElementsAre("mail boss@example.com Refund A-1? " + to_text(id)));
  release(id, R"({ "approved" : true })");  // written in another way than the example
  EXPECT_EQ(end_of(id).state, TaskState::completed);
  EXPECT_THAT(deeds.take(), ElementsAre("pay A-1 1001"));
}

TEST_F(Recipes, a_refund_is_cancelled_only_when_it_is_not_approved) {
  const TaskId id = put_refund(1001);
  wait_until_parked(id);
  release(id, R"({"approved": false})");
  EXPECT_EQ(end_of(id).state, TaskState::cancelled);
  EXPECT_THAT(deeds.take(), SizeIs(1));
}

TEST_F(Recipes, after_an_answer_that_is_not_understood_a_refund_waits_for_another) {
  for (const char* answer : {R"({"aproved":true})", R"({"approved":"true"})", "true", "{}"}) {
    const TaskId id = put_refund(1001);
    wait_until_parked(id);
    release(id, answer);
    wait_until_parked(id, 2);
    const Task task = must(app_->client().find(id));
    ASSERT_THAT(task.log, SizeIs(1)) << answer;
    EXPECT_THAT(task.log[0].text, HasSubstr("the answer is not a decision: "));
    EXPECT_THAT(deeds.take(), SizeIs(1)) << "it asked once, and did not pay";
    release(id, R"({"approved":true})");
    EXPECT_EQ(end_of(id).state, TaskState::completed);
    EXPECT_THAT(deeds.take(), ElementsAre("pay A-1 1001"));
  }
}

TEST_F(Recipes, a_report_does_not_start_over) {
  can_send = false;
  NewTask report{.queue = "reports", .payload = encode(Report{"ann@example.com", "May"})};
  report.retry = RetryRules{.base = 10ms, .jitter = Jitter::none};
  const TaskId id = must(app_->client().put(std::move(report))).id;
  EXPECT_EQ(end_of(id).state, TaskState::completed);
  EXPECT_THAT(deeds.take(), ElementsAre("collect", "render", "send ann@example.com May.table.pdf"));
}

TEST_F(Recipes, a_budget_of_tokens_is_used_by_what_runs_really_cost) {
  // As estimated, only the first of a group would fit into its minute.
  std::vector<TaskId> ids;
  for (int i = 0; i < 3; ++i) {
    const PutOptions options{.group = "acme", .cost = 15'000};
    ids.push_back(must(app_->client().put("prompts", Prompt{.text = "why?"}, options)).id);
  }
  for (const TaskId& id : ids) EXPECT_EQ(end_of(id).result, R"("So it is.")");
  EXPECT_THAT(deeds.take(), SizeIs(3));
}

TEST(RecipesPage, has_the_code_that_is_compiled_here) {
  const std::string page = read_file(MILLRACE_ROOT "/docs/recipes.md");
  const std::string compiled = read_file(MILLRACE_ROOT "/tests/docs/recipes_test.cc");
  constexpr std::string_view fence = "```cpp\n";
  int blocks = 0;
  for (auto at = page.find(fence); at != page.npos; at = page.find(fence, at)) {
    at += fence.size();
    const std::string code = page.substr(at, page.find("```", at) - at);
    EXPECT_THAT(compiled, HasSubstr(code)) << "copy it to the recipes of this test";
    ++blocks;
  }
  EXPECT_EQ(blocks, 3);
}

}  // namespace
}  // namespace millrace::test
