// For every operation and every status it is described with: a request that is answered so.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/api/api_server.h"
#include "tests/api/document.h"

namespace millrace::test {

struct Case {
  std::string operation = {};
  unsigned status = 200;
  // Puts the server into the state that the case is about and says what to ask.
  std::function<Request(ApiClient&)> request = {};
  // The server to ask, and what to do with it first. Nothing: an ordinary one, also the program.
  std::function<ServerOptions()> server = {};
  std::function<void(ApiServer&)> prepare = {};

  bool ordinary() const { return !server && !prepare; }
};

// Those that only one operation has.
std::vector<Case> task_cases();
std::vector<Case> work_cases();
std::vector<Case> bulk_cases();
std::vector<Case> waiting_bulk_cases();
std::vector<Case> queue_cases();
std::vector<Case> group_cases();
std::vector<Case> schedule_cases();
std::vector<Case> server_cases();

// Those that every operation has: no key, a wrong parameter, a body that is not JSON ... Only for
// statuses that its description has.
std::vector<Case> general_cases(const Operation& operation);

}  // namespace millrace::test
