#include "config/settings.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <tuple>

#include "core/limits.h"
#include "core/plain_path.h"
#include "core/quote.h"
#include "core/retry_presets.h"
#include "core/store_url.h"

namespace millrace::config {
namespace {

constexpr double second = 1000;
constexpr double hour = 3600 * second;
constexpr double kib = 1024;
constexpr double mib = 1024 * kib;
constexpr double ten_years = static_cast<double>(limits::max_delay.count());

constexpr std::string_view no_preset = "none";

std::vector<std::string_view> preset_names() {
  std::vector<std::string_view> names{no_preset};
  for (const presets::Named& preset : presets::all) names.push_back(preset.name);
  return names;
}

const std::array settings_table = {
    Setting{.key = "listen",
            .field = &Settings::listen,
            .help = "The address to listen on; port 0 picks a free one",
            .example = "0.0.0.0:7070"},
    Setting{.key = "address_file",
            .field = &Settings::address_file,
            .help = "A file to which the server writes the address it listens on",
            .example = "/run/millrace/address"},
    Setting{
        .key = "store",
        .field = &Settings::store,
        .help = "Where tasks live: a directory, journal:DIR?sync=interval, memory:, postgres://...",
        .example = "/var/lib/millrace"},
    Setting{.key = "role",
            .field = &Settings::role,
            .help = "What this process does: everything, or only the API, handlers, or upkeep",
            .example = "worker",
            .choices = {"all", "api", "worker", "scheduler"}},
    Setting{.key = "processes",
            .field = &Settings::processes,
            .help = "Worker processes for [handlers]; 0: one fewer than there are cores",
            .example = "4",
            .most = 1000},
    Setting{.key = "server",
            .field = &Settings::server,
            .help = "The server that a process with the role worker works for",
            .example = "http://127.0.0.1:7070"},
    Setting{.key = "server_key",
            .field = &Settings::server_key,
            .help = "The API key for that server, if it needs one; scope work",
            .example = "the output of: millrace keys create --name worker --scope work",
            .secret = true},
    Setting{.key = "ca_file",
            .field = &Settings::ca_file,
            .help = "The certificate of the private authority that signed that server's, as PEM",
            .example = "/etc/millrace/ca.pem"},
    Setting{.key = "admin_key",
            .field = &Settings::admin_key,
            .help = "An API key with every scope, beside those in the store; 32 to 255 characters",
            .example = "the output of: openssl rand -hex 32",
            .secret = true},
    Setting{.key = "tls.certificate",
            .field = &Settings::tls_certificate,
            .help = "A PEM file with the certificate and its chain; with tls.key it turns HTTPS on",
            .example = "/etc/millrace/tls/fullchain.pem"},
    Setting{.key = "tls.key",
            .field = &Settings::tls_key,
            .help = "The PEM file with the certificate's private key",
            .example = "/etc/millrace/tls/key.pem"},
    Setting{.key = "log.level",
            .field = &Settings::log_level,
            .help = "The lowest level of log lines to write",
            .example = "debug",
            .choices = {"debug", "info", "warning", "error"}},
    Setting{.key = "log.format",
            .field = &Settings::log_format,
            .help = "The format of log lines: for people or for machines",
            .example = "json",
            .choices = {"text", "json"}},
    Setting{.key = "http.threads",
            .field = &Settings::http_threads,
            .help = "Threads that read and answer requests; 0: one per two cores, at most 4",
            .example = "2",
            .most = 256},
    Setting{.key = "http.max_connections",
            .field = &Settings::http_max_connections,
            .help = "Most connections at the same time; further ones are answered 503",
            .example = "50000",
            .least = 1,
            .most = 1'000'000},
    Setting{.key = "http.max_body",
            .field = &Settings::http_max_body,
            .help = "The longest body of a request; longer ones are answered 413",
            .example = "64MiB",
            .least = kib,
            .most = 1024 * mib},
    Setting{.key = "http.max_header",
            .field = &Settings::http_max_header,
            .help = "The longest head of a request; longer ones are answered 431",
            .example = "32KiB",
            .least = kib,
            .most = mib},
    Setting{.key = "http.idle_timeout",
            .field = &Settings::http_idle_timeout,
            .help = "A connection without a request for this long is closed",
            .example = "2m",
            .least = second,
            .most = 24 * hour},
    Setting{.key = "http.header_timeout",
            .field = &Settings::http_header_timeout,
            .help = "The head of a request, or a TLS handshake, must be complete within this time",
            .example = "5s",
            .least = second,
            .most = hour},
    Setting{.key = "http.body_timeout",
            .field = &Settings::http_body_timeout,
            .help = "Each 4 KiB of a body must arrive within this time",
            .example = "10s",
            .least = second,
            .most = hour},
    Setting{.key = "http.write_timeout",
            .field = &Settings::http_write_timeout,
            .help = "A client must read each 64 KiB of an answer within this time",
            .example = "10s",
            .least = second,
            .most = hour},
    Setting{.key = "http.base_path",
            .field = &Settings::http_base_path,
            .help = "The path of this server behind a proxy that passes paths on unchanged",
            .example = "/admin/queues"},
    Setting{.key = "queues.create_unknown",
            .field = &Settings::queues_create_unknown,
            .help = "A put into a queue that does not exist creates it",
            .example = "false"},
    Setting{.key = "queues.max_queues",
            .field = &Settings::queues_max_queues,
            .help = "How many queues there may be; further ones are refused",
            .example = "20000",
            .least = 1,
            .most = limits::max_queues},
    Setting{.key = "queues.max_per_key",
            .field = &Settings::queues_max_per_key,
            .help = "How many of these the puts of one API key without the scope admin may create",
            .example = "100",
            .least = 1,
            .most = limits::max_queues},
    Setting{.key = "retry.preset",
            .field = &Settings::retry_preset,
            .help = "The policy of another system as a whole, instead of the other retry settings",
            .example = "claude-proxy-plain",
            .choices = preset_names()},
    Setting{.key = "retry.backoff",
            .field = &Settings::retry_backoff,
            .help = "How retry delays grow, unless the task, type or queue says otherwise",
            .example = "fixed",
            .choices = {"fixed", "exponential"}},
    Setting{.key = "retry.base",
            .field = &Settings::retry_base,
            .help = "The delay before the first retry",
            .example = "5s",
            .most = ten_years},
    Setting{.key = "retry.factor",
            .field = &Settings::retry_factor,
            .help = "What each further delay is multiplied by",
            .example = "1.5",
            .least = 1,
            .most = 1000},
    Setting{.key = "retry.cap",
            .field = &Settings::retry_cap,
            .help = "The longest delay, before jitter",
            .example = "6h",
            .most = ten_years},
    Setting{.key = "retry.jitter",
            .field = &Settings::retry_jitter,
            .help = "Random jitter around a delay (symmetric) or on top of it (additive)",
            .example = "none",
            .choices = {"none", "symmetric", "additive"}},
    Setting{.key = "retry.jitter_share",
            .field = &Settings::retry_jitter_share,
            .help = "The largest jitter: 0.2 is a fifth of the delay",
            .example = "0.5",
            .most = 1},
    Setting{.key = "retry.cap_after_jitter",
            .field = &Settings::retry_cap_after_jitter,
            .help = "The cap holds for delay and jitter together",
            .example = "true"},
    Setting{.key = "retry.max_retries",
            .field = &Settings::retry_max_retries,
            .help = "How often a failed task is tried again before it is dead",
            .example = "10",
            .most = 1'000'000'000},
    Setting{.key = "retry.retryable",
            .field = &Settings::retry_retryable,
            .help = "Which errors are retried: all, or only those known to pass (listed)",
            .example = "listed",
            .choices = {"all", "listed"}},
    Setting{.key = "webhooks.secret",
            .field = &Settings::webhooks_secret,
            .help = "Signs webhooks and alerts: whsec_ and base64 of 24 to 64 bytes",
            .example = "the output of: echo whsec_$(openssl rand -base64 32)",
            .secret = true},
    Setting{.key = "webhooks.old_secret",
            .field = &Settings::webhooks_old_secret,
            .help = "The former secret; it signs, too, while receivers change to the new one",
            .example = "the former webhooks.secret",
            .secret = true},
    Setting{.key = "webhooks.timeout",
            .field = &Settings::webhooks_timeout,
            .help = "How long a webhook receiver may take to answer",
            .example = "5s",
            .least = second / 10,
            .most = 25 * second},
    Setting{.key = "webhooks.concurrency",
            .field = &Settings::webhooks_concurrency,
            .help = "Webhooks sent at the same time; 0 leaves them to other processes",
            .example = "32",
            .most = 1000},
    Setting{
        .key = "webhooks.allow_private",
        .field = &Settings::webhooks_allow_private,
        .help =
            "Private addresses that webhooks may go to: false, true, or ranges separated by commas",
        .example = "10.1.0.0/16,fd00:1::/32"},
    Setting{.key = "alerts.enabled",
            .field = &Settings::alerts_enabled,
            .help = "Puts alerts into the queue $alerts; always on if alerts.url is set",
            .example = "true"},
    Setting{.key = "alerts.url",
            .field = &Settings::alerts_url,
            .help = "The URL that alerts are posted to; without it they are only logged",
            .example = "https://example.org/alerts",
            .secret = true},
    Setting{.key = "alerts.depth",
            .field = &Settings::alerts_depth,
            .help = "Alert if more tasks wait in a queue without max_depth; 0: never",
            .example = "50000",
            .most = 4'000'000'000},
    Setting{.key = "alerts.no_take_after",
            .field = &Settings::alerts_no_take_after,
            .help = "Alert if tasks are ready and none is taken for this long; 0s: never",
            .example = "30m",
            .most = 24 * hour},
    Setting{.key = "alerts.lost",
            .field = &Settings::alerts_lost,
            .help = "Alert if more leases are lost in 10 s; unlimited: never",
            .example = "20",
            .most = 1'000'000},
    Setting{.key = "alerts.disk_free",
            .field = &Settings::alerts_disk_free,
            .help = "Alert if the store has less free space, or less than 5 %; 0: never",
            .example = "10GiB",
            .most = 1024 * 1024 * 1024 * mib},
    Setting{.key = "alerts.window",
            .field = &Settings::alerts_window,
            .help = "The same alert is sent once per this time; repeats are counted",
            .example = "1h",
            .most = 24 * hour},
    Setting{.key = "manager.enabled",
            .field = &Settings::manager_enabled,
            .help = "Tells workers how many processors may work on each queue",
            .example = "false"},
    Setting{.key = "metrics.listen",
            .field = &Settings::metrics_listen,
            .help = "A second address for /metrics, /health and /ready only, without keys",
            .example = "127.0.0.1:9091"},
    Setting{.key = "metrics.compat",
            .field = &Settings::metrics_compat,
            .help = "Adds metrics named as in other systems: claude_proxy_*, queue_*, bullmq_*",
            .example = "true"},
    Setting{.key = "events.max_streams",
            .field = &Settings::events_max_streams,
            .help = "Event streams at the same time; further ones are answered 503",
            .example = "100",
            .most = 100'000},
    Setting{.key = "dashboard.enabled",
            .field = &Settings::dashboard_enabled,
            .help = "Serves the dashboard",
            .example = "false"},
    Setting{.key = "dashboard.session",
            .field = &Settings::dashboard_session,
            .help = "How long a browser stays signed in",
            .example = "8h",
            .least = 60 * second,
            .most = 30 * 24 * hour},
    Setting{.key = "shutdown.timeout",
            .field = &Settings::shutdown_timeout,
            .help = "How long a stopping server waits for answers under way; 0s: without limit",
            .example = "10s",
            .most = 24 * hour},
    Setting{.key = "shutdown.timeout_exit_code",
            .field = &Settings::shutdown_timeout_exit_code,
            .help = "The exit code if that time runs out",
            .example = "5",
            .most = 255},
};

std::string with_prefix(std::string_view prefix, std::string_view key, char between, bool upper) {
  std::string name(prefix);
  for (const char c : key) {
    if (c == '.' || c == '_') {
      name += between;
    } else {
      name += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
  }
  return name;
}

bool says_own_retry(const Settings& settings) {
  const Settings without{};
  const auto own = [](const Settings& of) {
    return std::tie(of.retry_backoff, of.retry_base, of.retry_factor, of.retry_cap, of.retry_jitter,
                    of.retry_jitter_share, of.retry_cap_after_jitter, of.retry_max_retries,
                    of.retry_retryable);
  };
  return own(settings) != own(without);
}

std::size_t chosen(const std::string& text, std::string_view key) {
  const auto& choices = find_setting(key)->choices;
  return static_cast<std::size_t>(std::ranges::find(choices, text) - choices.begin());
}

}  // namespace

std::span<const Setting> all_settings() {
  return settings_table;
}

const Setting* find_setting(std::string_view key) {
  const auto* found = std::ranges::find(settings_table, key, &Setting::key);
  return found == settings_table.end() ? nullptr : found;
}

std::string environment_name(const Setting& setting) {
  return with_prefix("MILLRACE_", setting.key, '_', true);
}

std::string flag_name(const Setting& setting) {
  return with_prefix("--", setting.key, '-', false);
}

// The order of the choices is that of the enumerators.
LogLevel log_level_of(const Settings& settings) {
  return static_cast<LogLevel>(chosen(settings.log_level, "log.level"));
}

RetryPolicy retry_policy_of(const Settings& settings) {
  const auto preset = std::ranges::find(presets::all, settings.retry_preset, &presets::Named::name);
  if (preset != presets::all.end()) return preset->policy;
  return {.backoff = static_cast<Backoff>(chosen(settings.retry_backoff, "retry.backoff")),
          .base = settings.retry_base,
          .factor = settings.retry_factor,
          .cap = settings.retry_cap,
          .jitter = static_cast<Jitter>(chosen(settings.retry_jitter, "retry.jitter")),
          .jitter_share = settings.retry_jitter_share,
          .cap_after_jitter = settings.retry_cap_after_jitter,
          .max_retries = settings.retry_max_retries.value,
          .retryable = static_cast<Retryable>(chosen(settings.retry_retryable, "retry.retryable"))};
}

std::vector<Disagreement> disagreements(const Settings& settings) {
  std::vector<Disagreement> found;
  if (settings.retry_preset != no_preset && says_own_retry(settings)) {
    found.push_back({"retry.preset",
                     fmt::format("retry.preset is {}, which is a whole policy; take it out, or the "
                                 "other retry settings",
                                 in_quotes(settings.retry_preset))});
  }
  if (settings.tls_certificate.empty() != settings.tls_key.empty()) {
    const bool key_missing = settings.tls_key.empty();
    found.push_back({key_missing ? "tls.certificate" : "tls.key",
                     fmt::format("{} is set, but {} is not; HTTPS needs both",
                                 key_missing ? "tls.certificate" : "tls.key",
                                 key_missing ? "tls.key" : "tls.certificate")});
  }
  if (const auto url = parse_store_url(settings.store); !url) {
    found.push_back({"store", fmt::format("store: {}", url.error().message)});
  }
  const bool url =
      settings.server.starts_with("http://") || settings.server.starts_with("https://");
  if (!settings.server.empty() && !url) {
    found.push_back({"server", fmt::format("server is {}; it must be a URL, such as "
                                           "http://127.0.0.1:7070",
                                           in_quotes(settings.server))});
  }
  if (settings.role == "worker" && settings.server.empty()) {
    found.push_back({"role",
                     "a worker process needs the server to work for; set server, such as "
                     "--server http://127.0.0.1:7070"});
  }
  const std::string& base = settings.http_base_path;
  if (!base.empty() && (!is_plain_path(base) || base.ends_with('/'))) {
    found.push_back({"http.base_path",
                     fmt::format("http.base_path is {}; it must be a path that begins with a slash "
                                 "and does not end in one, such as /admin/queues",
                                 in_quotes(base))});
  }
  if (!settings.metrics_listen.empty()) {
    if (const auto address = parse_address(settings.metrics_listen); !address) {
      found.push_back(
          {"metrics.listen", fmt::format("metrics.listen: {}", address.error().message)});
    }
  }
  const std::string& alerts = settings.alerts_url;
  const bool is_http = alerts.starts_with("http://") || alerts.starts_with("https://");
  if (!alerts.empty() && (!is_http || alerts.contains(' '))) {
    found.push_back({"alerts.url",
                     "alerts.url is not usable; allowed are http:// and https:// "
                     "addresses without spaces"});
  }
  const std::size_t length = settings.admin_key.size();
  constexpr std::size_t least = 32;
  constexpr std::size_t most = 255;
  const bool visible =
      std::ranges::all_of(settings.admin_key, [](char c) { return c > ' ' && c < 0x7f; });
  if (length != 0 && (length < least || length > most || !visible)) {
    found.push_back(
        {"admin_key",
         fmt::format("admin_key has {} characters{}; it must have {} to {} printable "
                     "ones without spaces. Make one: openssl rand -hex 32",
                     length, visible ? "" : ", some of them not printable", least, most)});
  }
  return found;
}

}  // namespace millrace::config
