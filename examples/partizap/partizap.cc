#include "partizap.h"

#include <fmt/format.h>

#include <utility>

namespace partizap {

using namespace std::chrono_literals;
using millrace::App;
using millrace::Put;

millrace::AppOptions app_options() {
  return {.order = millrace::QueueOrder::weighted, .shutdown_timeout = 30s};
}

Partizap::Partizap(App& app, Services& services)
    : notifications(add_notifications(app, services)),
      images(add_images(app, services)),
      analytics(add_analytics(app, services)),
      cleanup(add_cleanup(app, services)),
      reports(add_reports(app, services)) {}

Put Partizap::send_verification_sms(const std::string& phone, const std::string& code) const {
  return notifications.send_sms({.phone = phone,
                                 .message = fmt::format("Ваш код подтверждения: {}", code),
                                 .template_ = SmsTemplate::verification},
                                {.priority = 9});
}

Put Partizap::send_welcome_email(const std::string& email, const std::string& name) const {
  return notifications.send_email({.to = email,
                                   .subject = "Добро пожаловать на AutoParts!",
                                   .template_ = "welcome",
                                   .data = {{"name", millrace::Value{name}}}},
                                  {.priority = 8, .delay = 5s});
}

Put Partizap::process_image(const ProcessImageJob& image) const {
  return images.process(image, {.unique = millrace::UniqueKey{.key = image.imageId}});
}

}  // namespace partizap
