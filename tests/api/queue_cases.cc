#include <fmt/format.h>

#include <memory>

#include "tests/api/cases.h"
#include "tests/support/contested_store.h"

namespace millrace::test {
namespace {

Case simple(std::string operation, unsigned status, Request request) {
  return {.operation = std::move(operation),
          .status = status,
          .request = [request = std::move(request)](ApiClient&) { return request; }};
}

// On a server with the queue `emails` (number 7, one task in it) and `other` (number 8, empty).
Case prepared(std::string operation, unsigned status, Request request) {
  return {.operation = std::move(operation),
          .status = status,
          .request = [request = std::move(request)](ApiClient& server) {
            server.must_post("/v1/queues", R"({"name":"emails","number":7})");
            server.must_post("/v1/queues", R"({"name":"other","number":8,
                "max_concurrent":3,"put_rate":{"max":5,"per_ms":1000},
                "retry":{"max_retries":"unlimited"},
                "types":[{"type":"t","retry":{"base_ms":1},"max_lost":2}],"weight":3,
                "paused_until":"never","description":"d","ageing_ms":5,"max_depth":9,
                "timeout_ms":5,"process_rate":{"max":5,"per_ms":1000},"max_lost":1})");
            server.put();
            return request;
          }};
}

// The same while other servers keep changing the queue.
Case contested(std::string operation, Request request) {
  Case lost = prepared(std::move(operation), 409, std::move(request));
  lost.server = [] { return ServerOptions{.store = std::make_unique<ContestedStore>()}; };
  return lost;
}

void add_types(std::vector<Case>& cases) {
  for (const auto* query : {"", "?for=1m", "?for=24h"}) {
    cases.push_back({"getQueueTypes", 200, [query](ApiClient& server) {
                       server.settled(R"("outcome":"done","result":1)");
                       return Request{.target = std::string("/v1/queues/emails/types") + query};
                     }});
  }
  for (const auto* query : {"?for=25h", "?for=59s", "?for=soon", "?for=0", "?from=1h"}) {
    cases.push_back(
        prepared("getQueueTypes", 400, {.target = std::string("/v1/queues/emails/types") + query}));
  }
  cases.push_back(prepared("getQueueTypes", 404, {.target = "/v1/queues/nowhere/types"}));
  cases.push_back(prepared("getQueueTypes", 404, {.target = "/v1/queues/4711/types"}));
}

// Where dead letters go: it may not be there, or lead back.
void add_dead_letter_queues(std::vector<Case>& cases, const std::string& emails) {
  const std::string to_nowhere = R"({"name":"a","dead_letter_queue":"nowhere"})";
  const std::string to_other = R"({"dead_letter_queue":"other"})";
  cases.push_back(simple("createQueue", 404, {"POST", "/v1/queues", to_nowhere}));
  cases.push_back(simple("replaceQueue", 404, {"PUT", "/v1/queues/a", to_nowhere}));
  cases.push_back(prepared("replaceQueue", 200, {"PUT", emails, to_other}));
  cases.push_back(prepared("replaceQueue", 422, {"PUT", "/v1/queues/other", to_other}));
  for (const char* body :
       {R"({"dead_letter_queue":"other","types":{"t":{"keep_completed":{"for_ms":0},
                           "keep_dead":{"for_ms":5}}}})",
        R"({"dead_letter_queue":""})", R"({"dead_letter_queue":null})"}) {
    cases.push_back(prepared("changeQueue", 200, {"PATCH", emails, body}));
  }
  for (const char* body : {R"({"dead_letter_queue":"$alerts"})",
                           R"({"dead_letter_queue":"other","dead_letters":false})",
                           R"({"types":{"t":{"keep_dead":{"last":5}}}})"}) {
    cases.push_back(prepared("changeQueue", 422, {"PATCH", emails, body}));
  }
  for (const char* method : {"PATCH", "DELETE"}) {
    const std::string operation =
        method == std::string_view("PATCH") ? "changeQueue" : "removeQueue";
    cases.push_back({operation, 409, [method](ApiClient& server) {
                       server.must_post("/v1/queues", R"({"name":"bin"})");
                       server.must_post("/v1/queues", R"({"name":"a","dead_letter_queue":"bin"})");
                       return Request{method, "/v1/queues/bin",
                                      method == std::string_view("PATCH")
                                          ? R"({"dead_letter_queue":"a"})"
                                          : ""};
                     }});
  }
}

}  // namespace

std::vector<Case> queue_cases() {
  std::vector<Case> cases;
  const std::string emails = "/v1/queues/emails";
  const std::string nowhere = "/v1/queues/nowhere";
  cases.push_back(prepared("listQueues", 200, {.target = "/v1/queues"}));
  cases.push_back(prepared("getStats", 200, {.target = "/v1/stats"}));
  add_types(cases);
  cases.push_back(simple("createQueue", 201, {"POST", "/v1/queues", R"({"name":"emails"})"}));
  cases.push_back(prepared("createQueue", 409, {"POST", "/v1/queues", R"({"name":"emails"})"}));
  cases.push_back(simple("createQueue", 422, {"POST", "/v1/queues", R"({"name":"a b"})"}));
  cases.push_back(
      simple("createQueue", 422, {"POST", "/v1/queues", R"({"name":"a","lease_ms":1})"}));

  add_dead_letter_queues(cases, emails);

  for (const std::string path : {"/v1/queues/emails", "/v1/queues/7", "/v1/queues/other"}) {
    cases.push_back(prepared("getQueue", 200, {.target = path}));
    cases.push_back(prepared("getQueueStats", 200, {.target = path + "/stats"}));
  }
  cases.push_back(simple("getQueue", 404, {.target = nowhere}));
  cases.push_back(simple("getQueueStats", 404, {.target = nowhere + "/stats"}));
  cases.push_back(simple("getQueue", 400, {.target = "/v1/queues/%zz"}));

  cases.push_back(simple("replaceQueue", 200, {"PUT", emails, R"({"max_concurrent":4})"}));
  cases.push_back(prepared("replaceQueue", 200, {"PUT", "/v1/queues/7", R"({"number":7})"}));
  cases.push_back(simple("replaceQueue", 200, {"PUT", emails, ""}));
  cases.push_back(simple("replaceQueue", 404, {"PUT", "/v1/queues/99", "{}"}));
  cases.push_back(prepared("replaceQueue", 409, {"PUT", emails, R"({"number":8})"}));
  cases.push_back(simple("replaceQueue", 422, {"PUT", emails, R"({"name":"other"})"}));

  cases.push_back(prepared("changeQueue", 200,
                           {"PATCH", emails,
                            R"({"max_depth":5,"number":null,
                                                    "retry":{"base_ms":7}})"}));
  cases.push_back(simple("changeQueue", 404, {"PATCH", nowhere, "{}"}));
  cases.push_back(prepared("changeQueue", 409, {"PATCH", emails, R"({"number":8})"}));
  cases.push_back(prepared("changeQueue", 422, {"PATCH", emails, R"({"wight":1})"}));
  cases.push_back(prepared("changeQueue", 422, {"PATCH", emails, R"({"weight":0})"}));

  // Where time does not stand still it may be empty and gone by then.
  cases.push_back(prepared("removeQueue", 202, {"DELETE", emails + "?force=true"}));
  cases.back().prepare = [](ApiServer&) {};
  cases.push_back(prepared("removeQueue", 204, {"DELETE", "/v1/queues/8"}));
  cases.push_back(simple("removeQueue", 404, {"DELETE", nowhere}));
  cases.push_back(prepared("removeQueue", 409, {"DELETE", emails}));

  cases.push_back(prepared("pauseQueue", 200, {"POST", emails + "/pause", R"({"for_ms":1000})"}));
  cases.push_back(prepared("pauseQueue", 200, {"POST", emails + "/pause"}));
  cases.push_back(simple("pauseQueue", 404, {"POST", nowhere + "/pause"}));
  for (const std::string verb : {"resume", "drain", "clear"}) {
    const std::string operation = verb + "Queue";
    cases.push_back(prepared(operation, 200, {"POST", emails + "/" + verb}));
    cases.push_back(simple(operation, 404, {"POST", nowhere + "/" + verb}));
  }
  cases.push_back(contested("changeQueue", {"PATCH", emails, R"({"weight":2})"}));
  cases.push_back(contested("pauseQueue", {"POST", emails + "/pause"}));
  cases.push_back(contested("drainQueue", {"POST", emails + "/drain"}));
  cases.push_back(contested("resumeQueue", {"POST", "/v1/queues/other/resume"}));
  return cases;
}

}  // namespace millrace::test
