#include "apps/millrace/listeners.h"

#include <malloc.h>

#include <utility>

#include "api/server/metrics_port.h"
#include "apps/millrace/serve_options.h"
#include "cli/output_file.h"
#include "cli/serve_advice.h"

namespace millrace {
namespace {

constexpr std::uint64_t worth_giving_back = std::uint64_t{32} << 20U;  // bytes
constexpr std::uint64_t few_unread = std::uint64_t{8} << 20U;          // bytes

}  // namespace

Listeners::Listeners(const config::Settings& settings, Clock& clock, Log log)
    : settings_(settings), clock_(clock), log_(std::move(log)) {}

std::optional<Listeners::Refusal> Listeners::start(api::HttpHandler& clients) {
  if (const auto raised = api::raise_open_files(); !raised) {
    log_(LogLevel::warning, raised.error().message);
  }
  const std::uint64_t files = api::most_open_files();
  api::ListenerOptions options = listener_options(settings_, files);
  connections_ = options.limits.connections;
  if (connections_ < settings_.http_max_connections) {
    log_(LogLevel::warning,
         "the limit of open files allows fewer connections than http.max_connections",
         {{"connections", static_cast<std::int64_t>(connections_)},
          {"open_files", static_cast<std::int64_t>(files)}});
  }
  auto started = api::Listener::start(std::move(options), clients, clock_, log_);
  if (!started) {
    std::string advice = cli::listen_advice(started.error(), settings_);
    return Refusal{std::move(started.error()), std::move(advice)};
  }
  clients_ = std::move(*started);
  return write_address_file();
}

std::optional<Listeners::Refusal> Listeners::write_address_file() const {
  if (settings_.address_file.empty()) return std::nullopt;
  cli::OutputFile file(settings_.address_file);
  auto written = file.open(true, cli::OutputFile::Readers::all);
  if (written) {
    file.stream() << config::to_text(address()) << '\n';
    written = file.finish();
  }
  if (written) return std::nullopt;
  return Refusal{std::move(written.error()), "address_file must name a writable file."};
}

std::optional<Listeners::Refusal> Listeners::start_metrics(api::HttpHandler& metrics) {
  if (settings_.metrics_listen.empty()) return std::nullopt;
  const auto where = *config::parse_address(settings_.metrics_listen);
  auto started = api::Listener::start(
      {.address = where.host, .port = where.port, .threads = 1, .limits = api::metrics_limits()},
      metrics, clock_, log_);
  if (!started) {
    return Refusal{std::move(started.error()), "metrics.listen must be a free address."};
  }
  metrics_ = std::move(*started);
  log_(LogLevel::info, "metrics can be read",
       {{"address", config::to_text({where.host, metrics_->port()})}});
  return std::nullopt;
}

Result<std::string> Listeners::start_inner(api::HttpHandler& workers) {
  if (!needs_inner_listener(settings_)) return config::to_text(address());
  auto started = api::Listener::start(
      {.address = "127.0.0.1", .port = 0, .threads = 1, .limits = inner_limits(settings_)}, workers,
      clock_, log_);
  if (!started) return std::unexpected(std::move(started.error()));
  inner_ = std::move(*started);
  return config::to_text({"127.0.0.1", inner_->port()});
}

void Listeners::reload_tls() {
  if (settings_.tls_key.empty()) {
    log_(LogLevel::info, "there are no TLS files to read again");
  } else if (const auto read = clients_->reload_tls(); !read) {
    log_(LogLevel::error, "the new TLS files cannot be used; the old ones stay in use",
         {{"error", read.error().message}});
  } else {
    log_(LogLevel::info, "TLS files read again");
  }
}

void Listeners::give_memory_back() {
  api::ListenerCounts now = clients_->counts();
  if (inner_) {
    const api::ListenerCounts inner = inner_->counts();
    now.kept += inner.kept;
    now.unread += inner.unread;
  }
  if (now.kept - given_back_ < worth_giving_back || now.unread > few_unread) return;
  given_back_ = now.kept;
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

void Listeners::stop_inner() {
  if (inner_) inner_->stop();
}

void Listeners::stop() {
  clients_->stop();
  if (metrics_) metrics_->stop();
}

}  // namespace millrace
