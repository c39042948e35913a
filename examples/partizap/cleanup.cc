// What is old goes. Nothing here is tried again: the schedule comes back soon enough.
#include <string>

#include "queues.h"

namespace partizap {

using namespace std::chrono_literals;
using millrace::App;
using millrace::Context;

namespace {
constexpr millrace::Duration life_of_a_code = 15min;
}

Cleanup add_cleanup(App& app, Services& services) {
  add_queue(app, services, "cleanup", {.concurrency = 1, .priority = low});

  // The tick is filled in each time, so the thirty days move on with it.
  app.cron("0 * * * *", "scheduled-cleanup-sessions", {},
           {.queue = "cleanup",
            .type = "cleanup-sessions",
            .payload = R"({"olderThan":"{{tick-30d}}"})"});
  app.cron("*/15 * * * *", "scheduled-cleanup-codes", {},
           {.queue = "cleanup", .type = "cleanup-verification-codes", .payload = "{}"});

  const auto sessions = [&services](const CleanupExpiredSessionsJob& job) {
    return Removed{services.database.remove_sessions(job.olderThan)};
  };
  const auto codes = [&services](const CleanupVerificationCodesJob& job, Context& task) {
    return Removed{
        services.database.remove_codes(job.olderThan.value_or(task.now() - life_of_a_code))};
  };
  return {
      .sessions = app.handle_type<CleanupExpiredSessionsJob>("cleanup", "cleanup-sessions",
                                                             {.retry = attempts(1)}, sessions),
      .codes = app.handle_type<CleanupVerificationCodesJob>("cleanup", "cleanup-verification-codes",
                                                            {.retry = attempts(1)}, codes),
  };
}

}  // namespace partizap
