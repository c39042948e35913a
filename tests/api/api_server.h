// The API as clients meet it: a listener, the routes, a broker over the memory store, and a client
// that asks over a socket. Time stands still.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "access/key_book.h"
#include "api/server/action_log.h"
#include "api/server/api.h"
#include "api/server/listener.h"
#include "api/server/stored_keys.h"
#include "api/server/stored_sessions.h"
#include "broker/alerter.h"
#include "tests/support/broker_driver.h"
#include "tests/support/raw_client.h"

namespace millrace::test {

struct Request {
  std::string method = "GET";
  std::string target = {};
  std::string body = {};
  std::string content_type = "application/json";
  std::string headers = {};  // more of them, each with its line end
  std::string host = "localhost";
};

// A key whose text and id follow from its name, so that a test can write them down.
struct NamedKey {
  std::string name = {};
  std::vector<access::Scope> scopes = {access::Scope::admin};
  std::vector<std::string> queues = {};
  std::optional<Rate> rate = std::nullopt;
};
// A key for some queues, with every scope that such a key can have.
NamedKey confined_key(std::string name, std::vector<std::string> queues);
std::string key_id(std::string_view name);
std::string key_text(std::string_view name);
// Headers with which a request comes with a key: by its name, and by its text.
std::string by_key(std::string_view name);
std::string by_key_text(std::string_view text);

struct ServerOptions {
  api::ApiOptions api = {};
  std::vector<NamedKey> keys = {};  // none: no key is needed
  std::string key = {};             // the name of the key of requests that have none of their own
  bool sessions = true;
  bool actions = true;
  bool started = true;
  bool history = false;
  std::optional<AlerterOptions> alerter = std::nullopt;
  std::shared_ptr<Store> store = nullptr;  // null: one in memory
};

// Asks a server on this machine, each time on a connection of its own.
class ApiClient {
 public:
  explicit ApiClient(std::uint16_t port = 0) : port_(port) {}

  Reply ask(const Request& request);
  // POST, and the same for what must go well: the body of the answer.
  Reply post(const std::string& target, const std::string& body);
  std::string must_post(const std::string& target, const std::string& body);
  RawClient connect() { return RawClient(port_); }
  // These headers, and those of the usual key unless they name another.
  std::string with_key(std::string headers) const;
  std::uint16_t port() const { return port_; }

  // A task of `emails`, in the state that a case is about; its id.
  std::string put(const std::string& more = {});
  // Puts a task and takes it: its id and token.
  std::pair<std::string, std::string> taken();
  // Puts, takes and settles: the id.
  std::string settled(const std::string& outcome);

 protected:
  std::uint16_t port_;
  std::string key_ = {};  // the usual one: its header
};

// Put together as the program does it.
class ApiServer : public ApiClient {
 public:
  explicit ApiServer(ServerOptions options = {});
  ~ApiServer();

  BrokerDriver driver;
  access::KeyBook book{{.open_without_keys = true}};
  api::StoredKeys keys{book, driver.clock, Log{}};
  api::StoredSessions sessions{keys, driver.clock, Log{}};
  api::ActionLog actions{Log{}};
  api::Api api;

 private:
  api::ApiOptions api_options(ServerOptions& options);
  std::unique_ptr<api::Listener> listener_;
};

// Asks the server again until the condition holds; false: it did not for tens of thousands of
// requests, which take some seconds.
template <class Condition>
bool eventually(const Condition& condition) {
  for (int asked = 0; asked < 50'000; ++asked) {
    if (condition()) return true;
  }
  return false;
}

std::string text_of(const Request& request);
// A member of a JSON object, a string.
std::string member(const std::string& json, std::string_view name);

}  // namespace millrace::test
