// The whole shop in virtual time, with providers that tests can look at and break.
#pragma once

#include <gtest/gtest.h>
#include <millrace/app.h>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "partizap.h"
#include "tests/support/temporary_directory.h"

namespace partizap {

using namespace std::chrono_literals;

// A Monday.
inline const millrace::TimePoint t0 = std::chrono::sys_days(std::chrono::year(2026) / 1 / 5) + 9h;

class TestShop {
 public:
  explicit TestShop(std::string url = "memory:") : url_(std::move(url)) {}

  // ---- The app: opened at first use ----
  // What is stored stays, where the store keeps it.
  void close() {
    shop_.reset();
    app_.reset();
  }
  millrace::App& app() {
    if (!app_) {
      options.virtual_time = now_;
      app_ = std::make_unique<millrace::App>(url_, options);
      shop_ = std::make_unique<Partizap>(*app_, services);
    }
    return *app_;
  }
  const Partizap& shop() {
    app();
    return *shop_;
  }
  millrace::Client& client() { return app().client(); }

  // ---- Time ----
  millrace::TimePoint now() const { return now_; }
  // The app is closed: time passes without it.
  void stay_away_until(millrace::TimePoint moment) { now_ = moment; }
  std::uint64_t step(millrace::Duration by) { return step_to(now_ + by); }
  std::uint64_t step_to(millrace::TimePoint moment) {
    const auto stepped = app().step(moment);
    now_ = moment;
    if (!stepped) throw millrace::Failure(stepped.error());
    return stepped->runs;
  }

  // ---- What there is ----
  millrace::Task find(millrace::TaskId id) {
    auto found = client().find(id);
    if (!found) throw millrace::Failure(found.error());
    return std::move(*found);
  }
  std::vector<millrace::Task> dead(const std::string& queue) {
    auto found = client().dead({.queue = queue, .limit = 1000});
    if (!found) throw millrace::Failure(found.error());
    return std::move(*found);
  }

  // A run of a provider.
  struct Sent {
    std::string to;
    millrace::TimePoint at;
    std::uint32_t attempt;
  };
  std::vector<Sent> sms;
  std::vector<Sent> emails;
  std::vector<SendSmsJob> sms_jobs;
  std::vector<SendEmailJob> email_jobs;
  std::vector<Alert> alerts;
  std::vector<std::string> lines;
  // Throws where the provider fails.
  std::function<void(millrace::Context&)> provider = [](millrace::Context&) {};

  millrace::AppOptions options = quiet();
  millrace::test::TemporaryDirectory pictures;
  Services services{
      .storage = Storage(pictures.path()),
      .send_sms =
          [this](const SendSmsJob& job, millrace::Context& task) {
            sms.push_back({job.phone, task.now(), task.attempt()});
            sms_jobs.push_back(job);
            provider(task);
          },
      .send_email =
          [this](const SendEmailJob& job, millrace::Context& task) {
            emails.push_back({job.to, task.now(), task.attempt()});
            email_jobs.push_back(job);
            provider(task);
          },
      .alert = [this](const Alert& alert) { alerts.push_back(alert); },
      .log = [this](std::string_view line) { lines.emplace_back(line); },
  };

 private:
  static millrace::AppOptions quiet() {
    millrace::AppOptions made = app_options();
    made.log = [](std::string_view) {};
    return made;
  }

  std::string url_;
  millrace::TimePoint now_ = t0;
  std::unique_ptr<millrace::App> app_;
  std::unique_ptr<Partizap> shop_;
};

}  // namespace partizap
