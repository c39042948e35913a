// Typed tasks in a program of one's own: put, retried, scheduled, and shown as they go.
//
//   embedding               works until interrupted, with tasks kept in ./data
//   embedding --try         a few tasks and a day of schedules in virtual time, then ends
#include <millrace/app.h>
#include <iostream>
#include <string>
#include <string_view>

namespace {

using namespace std::chrono_literals;

struct Email {
  std::string to;
  std::string subject;
};
MILLRACE_FIELDS(Email, to, subject)

// Stands for a mail server, which is down at first.
void send(const Email& email, unsigned attempt) {
  if (attempt == 1) throw std::runtime_error("the mail server does not answer");
  std::cout << "sent \"" << email.subject << "\" to " << email.to << '\n';
}

millrace::Handle<Email> set_up(millrace::App& app) {
  app.cron("0 2 * * *", "nightly-report", {.zone = "Europe/Moscow"}, [](millrace::Context& task) {
    std::cout << "report number " << task.task().number.value << '\n';
  });
  return app.handle<Email>(
      "emails",
      {.concurrency = 5,
       .timeout = 30s,
       .process_rate = {10, 1s},
       .retry = millrace::RetryRules{.base = 10s, .jitter = millrace::Jitter::none},
       .on_requeued =
           [](const millrace::TaskEvent& event) {
             std::cout << "attempt " << event.task.counters.attempts + 1 << " failed\n";
           }},
      [](const Email& email, millrace::Context& task) {
        send(email, task.attempt());
        task.progress(100);
      });
}

int try_it() {
  const millrace::TimePoint monday = std::chrono::sys_days(std::chrono::year(2026) / 1 / 5);
  millrace::App app("memory:", {.virtual_time = monday});
  const auto emails = set_up(app);
  const millrace::Put put = emails({"someone@example.com", "Hi"}, {.priority = 8, .delay = 5s});
  const auto stepped = app.step(monday + 24h);
  if (!stepped) throw millrace::Failure(stepped.error());
  const auto task = app.client().find(put.id);
  const bool done = task && task->state == millrace::TaskState::completed;
  std::cout << stepped->runs << " runs in a day, the e-mail " << (done ? "arrived" : "is lost")
            << '\n';
  return done ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc > 1 && std::string_view(argv[1]) == "--try") return try_it();
    millrace::App app("journal:./data");
    const auto emails = set_up(app);
    emails({"someone@example.com", "Hi"}, {.priority = 8, .delay = 5s});
    return app.run();
  } catch (const millrace::Failure& failure) {
    std::cerr << "embedding: " << failure.what() << '\n';
    return 1;
  }
}
