// The API as clients meet it: a listener, the routes, a broker over the memory store, and a client
// that asks over a socket. Time stands still.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/server/api.h"
#include "api/server/listener.h"
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

struct ServerOptions {
  api::ApiOptions api = {};
  bool started = true;
  bool history = false;
  std::unique_ptr<Store> store = open_memory();
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
  std::uint16_t port() const { return port_; }

  // A task of `emails`, in the state that a case is about; its id.
  std::string put(const std::string& more = {});
  // Puts a task and takes it: its id and token.
  std::pair<std::string, std::string> taken();
  // Puts, takes and settles: the id.
  std::string settled(const std::string& outcome);

 protected:
  std::uint16_t port_;
};

class ApiServer : public ApiClient {
 public:
  explicit ApiServer(ServerOptions options = {});
  ~ApiServer();

  BrokerDriver driver;
  api::Api api;

 private:
  api::ApiOptions with_parts(api::ApiOptions options);
  std::unique_ptr<api::Listener> listener_;
};

std::string text_of(const Request& request);
// A member of a JSON object, a string.
std::string member(const std::string& json, std::string_view name);

}  // namespace millrace::test
