// Opens a broker by its URL: over a store in this process, or over a remote server.
#pragma once

#include <millrace/result.h>
#include <millrace/retry.h>
#include <memory>
#include <string>
#include <string_view>

#include "api/client/http_broker.h"
#include "broker/broker.h"
#include "broker/local_broker.h"
#include "broker/schedules.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/values.h"
#include "store/store.h"

namespace millrace {

struct OpenOptions {
  std::string key = {};      // for a server; empty: MILLRACE_KEY
  std::string ca_file = {};  // for a server; empty: MILLRACE_CA_FILE, then SSL_CERT_FILE
  Duration timeout = std::chrono::seconds(30);
  RetryPolicy retry = {};     // the default, for a store
  bool manager = false;       // for a store
  bool virtual_time = false;  // for a store: nothing happens by itself, and every run is the same
  Log log = {};
};

struct Opened {
  std::unique_ptr<Store> store = nullptr;  // null: a server has it
  std::unique_ptr<LocalBroker> local = nullptr;
  std::unique_ptr<HttpBroker> remote = nullptr;

  Broker& broker() const {
    if (local) return *local;
    return *remote;
  }
  Schedules& schedules() const {
    if (local) return *local;
    return *remote;
  }
  bool owns_store() const { return store != nullptr; }
  // Refuses new calls, finishes those under way, and makes them durable. May be called again.
  Result<void> close(TimePoint now);

 private:
  bool closed_ = false;
};

bool is_server(std::string_view url);

// The clock must outlive what is opened.
Result<Opened> open_broker(Clock& clock, std::string_view url, const OpenOptions& options);

}  // namespace millrace
