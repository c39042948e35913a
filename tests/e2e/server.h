// A real `millrace serve`, started, spoken to and stopped as people do it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/raw_client.h"

namespace millrace::test {

struct Asked {
  std::string method = "GET";
  std::string path = "/health";
  std::string body = {};
  std::string key = {};
};

// The bytes of a request; the connection stays open.
std::string bytes_of(const Asked& asked);

// The text after "name":" up to the next quote, or after "name": up to the next , or }.
std::string field(std::string_view json, std::string_view name);

class ServerProcess {
 public:
  // `arguments` come after `serve --listen 127.0.0.1:0`; of two --listen the last one holds.
  explicit ServerProcess(std::vector<std::string> arguments,
                         std::vector<std::pair<std::string, std::string>> environment = {});
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ~ServerProcess();  // kills it

  // Reads what it says until `text` comes; false if it ends, or says nothing for a minute.
  bool says(std::string_view text) { return says(text, 1); }
  // The same, so many times.
  bool says(std::string_view text, std::size_t times);
  // Until it serves; its port is known then.
  bool ready();

  // On a connection of its own.
  Reply ask(const Asked& asked) const;
  RawClient connect(bool tls = false) const;
  std::uint16_t port() const { return port_; }

  void signal(int number) const;
  // From now on every write to a file fails, as on a broken disk.
  void break_disk() const;
  // Its exit code, once it has ended by itself; 128 + the signal that ended it.
  int exit();
  // Everything it has said so far.
  const std::string& said() const { return said_; }

 private:
  bool read_more();

  pid_t process_ = 0;
  int errors_ = -1;
  std::uint16_t port_ = 0;
  std::string said_;
};

}  // namespace millrace::test
