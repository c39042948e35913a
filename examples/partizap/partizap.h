// The shop's background jobs as the rest of the shop sees them: one object over one App.
#pragma once

#include <millrace/app.h>
#include <string>

#include "queues.h"
#include "services.h"

namespace partizap {

// For main() and for tests: queues in the order of their priorities, 30 seconds to finish.
millrace::AppOptions app_options();

// Adds everything to the app, which must not have started. Calls put tasks, and throw
// millrace::Failure where that cannot be done.
class Partizap {
 public:
  Partizap(millrace::App& app, Services& services);

  millrace::Put send_verification_sms(const std::string& phone, const std::string& code) const;
  millrace::Put send_welcome_email(const std::string& email, const std::string& name) const;
  // Again for the same image while it waits or runs: nothing is added.
  millrace::Put process_image(const ProcessImageJob& image) const;

  Notifications notifications;
  Images images;
  Analytics analytics;
  Cleanup cleanup;
  Reports reports;
};

}  // namespace partizap
