// The settings of a server, in one table: settings.cc. A field's initial value is the default.
#pragma once

#include <millrace/result.h>
#include <millrace/retry.h>
#include <millrace/time.h>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/address.h"
#include "config/size.h"
#include "core/log.h"

namespace millrace::config {

// A whole number, or no limit at all.
struct Count {
  std::uint32_t value = 0;  // millrace::unlimited: "unlimited"

  friend bool operator==(const Count&, const Count&) = default;
};

struct Settings {
  Address listen = {};
  std::string address_file = {};
  std::string store = "./data";
  std::string role = "all";
  std::uint32_t processes = 0;
  std::string server = {};
  std::string server_key = {};
  std::string ca_file = {};
  std::string admin_key = {};
  std::string tls_certificate = {};
  std::string tls_key = {};
  std::string log_level = "info";
  std::string log_format = "text";
  std::uint32_t http_threads = 0;
  std::uint32_t http_max_connections = 20'000;
  Size http_max_body{32U << 20U};
  Size http_max_header{16U << 10U};
  Duration http_idle_timeout = std::chrono::seconds(75);
  Duration http_header_timeout = std::chrono::seconds(10);
  Duration http_body_timeout = std::chrono::seconds(30);
  Duration http_write_timeout = std::chrono::seconds(30);
  std::string http_base_path = {};
  bool queues_create_unknown = true;
  std::uint32_t queues_max_queues = 10'000;
  std::uint32_t queues_max_per_key = 1000;
  std::string retry_preset = "none";
  std::string retry_backoff = "exponential";
  Duration retry_base = std::chrono::seconds(30);
  double retry_factor = 2.0;
  Duration retry_cap = std::chrono::hours(1);
  std::string retry_jitter = "symmetric";
  double retry_jitter_share = 0.2;
  bool retry_cap_after_jitter = false;
  Count retry_max_retries{3};
  std::string retry_retryable = "all";
  std::string webhooks_secret = {};
  std::string webhooks_old_secret = {};
  Duration webhooks_timeout = std::chrono::seconds(10);
  std::uint32_t webhooks_concurrency = 16;
  std::string webhooks_allow_private = "false";
  bool alerts_enabled = false;
  std::string alerts_url = {};
  std::uint32_t alerts_depth = 1000;
  Duration alerts_no_take_after = std::chrono::minutes(5);
  Count alerts_lost{0};
  Size alerts_disk_free{1U << 30U};
  Duration alerts_window = std::chrono::minutes(10);
  bool manager_enabled = true;
  std::string metrics_listen = {};
  bool metrics_compat = false;
  std::uint32_t events_max_streams = 1000;
  bool dashboard_enabled = true;
  Duration dashboard_session = std::chrono::hours(12);
  Duration shutdown_timeout = std::chrono::seconds(30);
  std::uint32_t shutdown_timeout_exit_code = 0;

  friend bool operator==(const Settings&, const Settings&) = default;
};

// Choices as the types that the rest of the program uses.
LogLevel log_level_of(const Settings& settings);
RetryPolicy retry_policy_of(const Settings& settings);

// The field of a setting; its type says how the value is written.
using Field = std::variant<std::string Settings::*, std::uint32_t Settings::*, Count Settings::*,
                           double Settings::*, Size Settings::*, Duration Settings::*,
                           bool Settings::*, Address Settings::*>;

struct Setting {
  std::string_view key;  // http.max_body: also MILLRACE_HTTP_MAX_BODY and --http-max-body
  Field field;
  std::string_view help;                       // one line
  std::string_view example;                    // a value, as text
  std::vector<std::string_view> choices = {};  // of a text; empty: any
  // Of numbers, of bytes, or of milliseconds.
  double least = 0;
  double most = 0;
  bool secret =
      false;  // never shown, and no flag, because every user of the machine can read those
};

std::span<const Setting> all_settings();
// Null: there is no such setting.
const Setting* find_setting(std::string_view key);

std::string environment_name(const Setting& setting);  // MILLRACE_HTTP_MAX_BODY
std::string flag_name(const Setting& setting);         // --http-max-body

// "a size from 1KiB to 1GiB, such as 8MiB"
std::string allowed(const Setting& setting);

// `invalid` says what is allowed, but not where the text came from.
Result<void> assign(Settings& settings, const Setting& setting, std::string_view text);
std::string text_of(const Settings& settings, const Setting& setting);

// A contradiction between settings, and the key it is about.
struct Disagreement {
  std::string_view key;
  std::string message;
};
std::vector<Disagreement> disagreements(const Settings& settings);

}  // namespace millrace::config
