#include "apps/millrace/serve_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <thread>
#include <utility>

#include "api/server/metrics_port.h"
#include "api/wire/bulk.h"
#include "app/stores.h"
#include "apps/millrace/worker_processes.h"
#include "core/store_url.h"
#include "outgoing/signature.h"

namespace millrace {
namespace {

constexpr unsigned most_threads = 4;  // of the listener, unless told otherwise

// Files that are no connections of callers. Receivers of webhooks are kept connected, up to 256 of
// them; a journal reads up to 64 segments at once; the rest is for its other files, sessions with a
// database, threads, the log, the port for metrics and the one for worker processes.
std::uint64_t reserved_files(const config::Settings& settings) {
  const std::uint64_t outgoing =
      settings.webhooks_concurrency == 0 ? 0 : std::max(settings.webhooks_concurrency, 256U);
  const auto files_of = [](const api::ListenerLimits& limits) {
    return limits.connections + limits.refusals;
  };
  const std::uint64_t inner = needs_inner_listener(settings) ? files_of(inner_limits(settings)) : 0;
  return outgoing + 64 + 64 + files_of(api::metrics_limits()) + inner;
}

std::unexpected<Error> wrong_setting(std::string_view setting, const Error& error) {
  return fail(ErrorCode::invalid, fmt::format("{}: {}", setting, error.message));
}

unsigned threads_of(const config::Settings& settings) {
  if (settings.http_threads != 0) return settings.http_threads;
  // The other half is for the applier, the syncer and everything else in this process.
  return std::clamp(std::thread::hardware_concurrency() / 2, 1U, most_threads);
}

}  // namespace

bool needs_inner_listener(const config::Settings& settings) {
  const bool served = settings.tls_key.empty() && config::is_loopback(settings.listen.host);
  return settings.role == "all" && !served;
}

// Each process has a few connections, and signals may add processes.
api::ListenerLimits inner_limits(const config::Settings& settings) {
  return {.connections = 256 + 16 * processes_of(settings), .refusals = 8};
}

api::ListenerOptions listener_options(const config::Settings& settings, std::uint64_t files) {
  api::ListenerOptions options{.address = settings.listen.host,
                               .port = settings.listen.port,
                               .threads = threads_of(settings)};
  if (!settings.tls_certificate.empty()) {
    options.tls = api::TlsFiles{settings.tls_certificate, settings.tls_key};
  }
  options.limits.header_bytes = settings.http_max_header.bytes;
  options.limits.connections = settings.http_max_connections;
  options.limits.idle = settings.http_idle_timeout;
  options.limits.header = settings.http_header_timeout;
  options.limits.handshake = settings.http_header_timeout;
  options.limits.body = settings.http_body_timeout;
  options.limits.write = settings.http_write_timeout;
  api::fit_into_files(options.limits, files, reserved_files(settings));
  return options;
}

AlerterOptions alerter_options(const config::Settings& settings) {
  AlerterOptions options;
  // No worker asks a scheduler for tasks: what becomes of queues is seen by those that are asked.
  const bool asked = settings.role != "scheduler";
  options.limits.depth = asked ? settings.alerts_depth : 0;
  options.limits.no_take_after = asked ? settings.alerts_no_take_after : Duration::zero();
  options.limits.lost.reset();
  if (settings.alerts_lost.value != unlimited) options.limits.lost = settings.alerts_lost.value;
  options.limits.disk_free = settings.alerts_disk_free.bytes;
  options.disk = [url = *parse_store_url(settings.store)] { return space_of(url); };
  return options;
}

std::string inner_worker(std::string_view what, const Traits& traits) {
  if (!traits.several_processes) return fmt::format("{}-{}", local_worker, what);
  std::array<char, 65> host = {};
  if (gethostname(host.data(), host.size() - 1) != 0) host = {'s', 'e', 'r', 'v', 'e', 'r'};
  return fmt::format("{}-{}-{}-{}", local_worker, what, host.data(), getpid());
}

worker::BulkWorkerOptions bulk_options(const Traits& traits, const Log& log) {
  return {.name = inner_worker("bulk", traits), .log = log};
}

Result<std::vector<outgoing::Secret>> webhook_secrets(const config::Settings& settings) {
  std::vector<outgoing::Secret> secrets;
  for (const auto& [setting, text] : {std::pair<std::string_view, const std::string&>{
                                          "webhooks.secret", settings.webhooks_secret},
                                      {"webhooks.old_secret", settings.webhooks_old_secret}}) {
    if (text.empty()) continue;
    auto secret = outgoing::parse_secret(text);
    if (!secret) return wrong_setting(setting, secret.error());
    secrets.push_back(std::move(*secret));
  }
  return secrets;
}

Result<worker::DelivererOptions> deliverer_options(const config::Settings& settings,
                                                   const std::string& version, Log log) {
  worker::DelivererOptions options{.concurrency = settings.webhooks_concurrency,
                                   .alerts_url = settings.alerts_url,
                                   .user_agent = fmt::format("millrace/{}", version),
                                   .log = std::move(log)};
  options.deliver.timeout = settings.webhooks_timeout;
  auto secrets = webhook_secrets(settings);
  if (!secrets) return std::unexpected(std::move(secrets.error()));
  options.deliver.secrets = std::move(*secrets);
  auto guard = worker::parse_guard(settings.webhooks_allow_private);
  if (!guard) return wrong_setting("webhooks.allow_private", guard.error());
  options.guard = std::move(*guard);
  return options;
}

pages::PagesOptions pages_options(const config::Settings& settings, const std::string& version) {
  return {.version = version, .base_path = settings.http_base_path};
}

std::string durability_of(const Traits& traits) {
  switch (traits.durability) {
    case Durability::none:
      return traits.leases_survive ? "none: a crash of the machine may lose everything"
                                   : "none: everything is lost with the process";
    case Durability::interval:
      return fmt::format("interval: a crash may lose the last {} ms", traits.loss_window.count());
    case Durability::synced:
      break;
  }
  return "synced before every answer";
}

}  // namespace millrace
