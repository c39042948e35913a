#include "app/open_broker.h"

#include <cstdlib>
#include <initializer_list>
#include <utility>

#include "api/client/http_broker.h"
#include "app/stores.h"
#include "core/store_url.h"
#include "store/save.h"
#include "store/store.h"

namespace millrace {
namespace {

// What was given, else the first of these variables that is set.
std::string first_of(std::string given, std::initializer_list<const char*> variables) {
  for (const char* name : variables) {
    if (!given.empty()) break;
    if (const char* set = std::getenv(name)) given = set;
  }
  return given;
}

Result<Opened> open_local(Clock& clock, std::string_view url, const OpenOptions& options) {
  const auto parsed = parse_store_url(url);
  if (!parsed) return std::unexpected(parsed.error());
  auto store = open_store(clock, *parsed, Access::serve, {}, [&](std::string_view warning) {
    options.log(LogLevel::warning, std::string(warning));
  });
  if (!store) return std::unexpected(std::move(store.error()));
  LocalBrokerOptions broker;
  broker.rules.retry = options.retry;
  broker.rules.webhooks = true;
  broker.rules.manager = options.manager;
  broker.rules.log = options.log;
  // Runs in virtual time are reproducible.
  if (options.virtual_time) broker.rules.seed = 1;
  broker.keep_time = !options.virtual_time;
  broker.time_jumps = options.virtual_time;
  Opened opened;
  opened.store = std::move(*store);
  opened.local = std::make_unique<LocalBroker>(clock, *opened.store, broker);
  return opened;
}

}  // namespace

bool is_server(std::string_view url) {
  return url.starts_with("http://") || url.starts_with("https://");
}

Result<Opened> open_broker(Clock& clock, std::string_view url, const OpenOptions& options) {
  if (!is_server(url)) return open_local(clock, url, options);
  auto remote = HttpBroker::open(
      clock, {.url = std::string(url),
              .key = first_of(options.key, {"MILLRACE_KEY"}),
              .timeout = options.timeout,
              .ca_file = first_of(options.ca_file, {"MILLRACE_CA_FILE", "SSL_CERT_FILE"})});
  if (!remote) return std::unexpected(std::move(remote.error()));
  Opened opened;
  opened.remote = std::move(*remote);
  return opened;
}

Result<void> Opened::close(TimePoint now) {
  if (closed_ || !local) return {};
  closed_ = true;
  local->stop();
  return save(*store, now);
}

}  // namespace millrace
