// SMS and e-mail: the jobs that a customer waits for.
#include <fmt/format.h>

#include <exception>

#include "queues.h"

namespace partizap {

using namespace std::chrono_literals;
using millrace::App;
using millrace::Backoff;
using millrace::Context;

Notifications add_notifications(App& app, Services& services) {
  add_queue(app, services, "notifications",
            {.concurrency = 5,
             .process_rate = {.max = 10, .per = 1s},  // what the provider of SMS allows
             .put_rate = {.max = 100, .per = 1s},
             .priority = high,
             // Codes are secrets: what was sent is forgotten at once.
             .keep_completed = millrace::Keep{.last = 0},
             .keep_dead = millrace::Keep{.last = 100}});

  const auto send_sms = [&services](const SendSmsJob& sms, Context& task) {
    try {
      services.send_sms(sms, task);
      services.log(fmt::format("SMS sent to {}", sms.phone));
    } catch (const std::exception& error) {
      services.log(fmt::format("SMS failed: {}", error.what()));
      throw;  // so that it is tried again
    }
  };
  const auto send_email = [&services](const SendEmailJob& email, Context& task) {
    services.send_email(email, task);
    services.log(fmt::format("E-mail sent to {}", email.to));
  };
  return {
      // Critical: where the store is away, the SMS goes out all the same, from where it was put.
      .send_sms = app.handle_type<SendSmsJob>(
          "notifications", "send-sms",
          {.retry = attempts(3, Backoff::exponential, 1s), .critical = true}, send_sms),
      .send_email = app.handle_type<SendEmailJob>("notifications", "send-email",
                                                  {.retry = attempts(5, Backoff::exponential, 2s)},
                                                  send_email),
  };
}

}  // namespace partizap
