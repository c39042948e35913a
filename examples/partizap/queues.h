// The five queues: each has a file of its own, which adds its handlers and schedules to an App.
#pragma once

#include <millrace/app.h>
#include <millrace/time.h>
#include <array>
#include <cstdint>
#include <string>

#include "jobs.h"
#include "services.h"

namespace partizap {

inline constexpr std::array queue_names{"notifications", "images", "analytics", "cleanup",
                                        "reports"};

// Priorities of queues, by the names people give them.
inline constexpr std::uint8_t high = 8;
inline constexpr std::uint8_t medium = 5;
inline constexpr std::uint8_t low = 2;

// So many runs at most, and how long to wait between them: exactly, so that it can be foretold.
millrace::RetryRules attempts(std::uint32_t most,
                              millrace::Backoff backoff = millrace::Backoff::fixed,
                              millrace::Duration base = std::chrono::seconds(1));

// A queue whose ends are logged and whose failures for good raise an alert. A job that none of the
// handlers knows fails with `Unknown job: …`.
void add_queue(millrace::App& app, Services& services, const std::string& name,
               millrace::HandlerOptions options);

struct Notifications {
  millrace::Handle<SendSmsJob> send_sms;
  millrace::Handle<SendEmailJob> send_email;
};
Notifications add_notifications(millrace::App& app, Services& services);

struct Images {
  millrace::Handle<ProcessImageJob> process;
  millrace::Handle<DeleteImagesJob> remove;
};
Images add_images(millrace::App& app, Services& services);
// The work itself. Says how far it is, in percent.
ImageResult process_image(const ProcessImageJob& job, Services& services,
                          const std::function<void(double percent)>& progress);

struct Analytics {
  millrace::Handle<UpdateCountersJob> update_counters;
  millrace::Handle<SyncDenormalizedDataJob> sync_table;
};
Analytics add_analytics(millrace::App& app, Services& services);

struct Cleanup {
  millrace::Handle<CleanupExpiredSessionsJob> sessions;
  millrace::Handle<CleanupVerificationCodesJob> codes;
};
Cleanup add_cleanup(millrace::App& app, Services& services);

struct Reports {
  millrace::Handle<GenerateReportJob> generate;
};
Reports add_reports(millrace::App& app, Services& services);

}  // namespace partizap
