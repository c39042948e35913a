#include <string>
#include <utility>

#include "tests/api/cases.h"
#include "tests/support/contested_store.h"

namespace millrace::test {
namespace {

const std::string in_emails = "/v1/queues/emails/groups";
const std::string acme = in_emails + "/acme%20%2F%20ltd";

// On a server with the queue `emails`, which has rules for groups, and `plain`, which has none. Of
// `emails` the group "acme / ltd" has a task and does something differently.
Case prepared(std::string operation, unsigned status, Request request) {
  return {.operation = std::move(operation),
          .status = status,
          .request = [request = std::move(request)](ApiClient& server) {
            server.must_post("/v1/queues", R"({"name":"emails","number":7,"groups":{
                "order":"fair","max_concurrent":2,"process_rate":{"max":5,"per_ms":1000},
                "rate_of":"cost","max_depth":9,"weight":3,"retry_holds":false}})");
            server.must_post("/v1/queues", R"({"name":"plain"})");
            server.put(R"(,"group":"acme / ltd","cost":7)");
            const Reply reply =
                server.ask({"PATCH", acme, R"({"weight":2,"process_rate":{"max":9,"per_ms":1000},
                "for_ms":5000})"});
            EXPECT_EQ(reply.status, 200U) << reply.body;
            return request;
          }};
}

// The same while other servers keep changing what the group does differently.
Case contested(std::string operation, Request request) {
  Case lost = prepared(std::move(operation), 409, std::move(request));
  lost.server = [] { return ServerOptions{.store = std::make_unique<ContestedStore>()}; };
  return lost;
}

void add_reads(std::vector<Case>& cases) {
  for (const char* query :
       {"", "?limit=1", "?after=0", "?name=acme%20%2F%20ltd", "?name=nothing"}) {
    cases.push_back(prepared("listGroups", 200, {.target = in_emails + query}));
  }
  cases.push_back(prepared("listGroups", 200, {.target = "/v1/queues/7/groups"}));
  cases.push_back(prepared("listGroups", 200, {.target = "/v1/queues/plain/groups"}));
  for (const char* query : {"?limit=0", "?limit=1001", "?after=a&after=b", "?queue=x"}) {
    cases.push_back(prepared("listGroups", 400, {.target = in_emails + query}));
  }
  cases.push_back(prepared("listGroups", 404, {.target = "/v1/queues/nowhere/groups"}));
  const std::string long_name(256, 'x');
  cases.push_back(prepared("listGroups", 413, {.target = in_emails + "?name=" + long_name}));
  for (const char* query : {"?name=", "?name=a%0Ab", "?after=x"}) {
    cases.push_back(prepared("listGroups", 422, {.target = in_emails + query}));
  }

  for (const std::string& target :
       {acme, in_emails + "/nothing", std::string("/v1/queues/plain/groups/any")}) {
    cases.push_back(prepared("getGroup", 200, {.target = target}));
  }
  cases.push_back(prepared("getGroup", 400, {.target = in_emails + "/%zz"}));
  cases.push_back(prepared("getGroup", 404, {.target = "/v1/queues/nowhere/groups/a"}));
  cases.push_back(prepared("getGroup", 413, {.target = in_emails + "/" + long_name}));
  cases.push_back(prepared("getGroup", 422, {.target = in_emails + "/a%0Ab"}));
}

}  // namespace

std::vector<Case> group_cases() {
  std::vector<Case> cases;
  add_reads(cases);
  for (const char* body :
       {"{}", R"({"max_concurrent":3,"max_depth":10,"weight":5,"for_ms":7200000})",
        R"({"process_rate":{"max":3},"until":"2030-01-01T00:00:01Z"})", R"({"paused":true})",
        R"({"paused_until":"never"})", R"({"pause_for_ms":1000})", R"({"weight":null})",
        R"({"process_rate":null,"weight":null,"until":null})"}) {
    cases.push_back(prepared("changeGroup", 200, {"PATCH", acme, body}));
  }
  for (const char* body :
       {R"({"weight":0})", R"({"weight":1001})", R"({"max_concurrent":0})", R"({"max_depth":0})",
        R"({"wieght":1})", R"({"paused":true,"paused_until":"never"})", R"({"paused":"yes"})",
        R"({"process_rate":{"max":0,"per_ms":1}})", R"({"until":"2019-12-31T00:00:00Z"})",
        R"({"until":"never","for_ms":1})", R"({"group":"other"})"}) {
    cases.push_back(prepared("changeGroup", 422, {"PATCH", acme, body}));
  }
  cases.push_back(
      prepared("changeGroup", 422, {"PATCH", in_emails + "/new", R"({"for_ms":1000})"}));
  const std::string long_name(256, 'x');
  for (const char* method : {"PATCH", "DELETE"}) {
    const bool patch = method == std::string_view("PATCH");
    const std::string operation = patch ? "changeGroup" : "resetGroup";
    const std::string body = patch ? R"({"weight":5})" : "";
    cases.push_back(prepared(operation, 404, {method, "/v1/queues/nowhere/groups/a", body}));
    cases.push_back(prepared(operation, 413, {method, in_emails + "/" + long_name, body}));
    cases.push_back(prepared(operation, 422, {method, in_emails + "/a%0Ab", body}));
    cases.push_back(contested(operation, {method, acme, body}));
  }
  cases.push_back(
      prepared("changeGroup", 409, {"PATCH", "/v1/queues/plain/groups/a", R"({"weight":5})"}));
  cases.push_back(prepared("resetGroup", 204, {"DELETE", acme}));
  cases.push_back(prepared("resetGroup", 204, {"DELETE", in_emails + "/nothing"}));

  cases.push_back(prepared("getQueue", 200, {.target = "/v1/queues/emails"}));
  for (const char* body : {R"({"groups":{"order":"serial","max_concurrent":null}})",
                           R"({"groups":{"process_rate":{"max":1}}})", R"({"groups":null})",
                           R"({"rate_of":"cost"})", R"({"rate_of":null})"}) {
    cases.push_back(prepared("changeQueue", 200, {"PATCH", "/v1/queues/emails", body}));
  }
  for (const char* body : {R"({"groups":{"order":"serial"}})", R"({"groups":{"weight":0}})",
                           R"({"groups":{"max_depth":0}})", R"({"groups":{"order":"random"}})",
                           R"({"groups":[]})", R"({"rate_of":"money"})"}) {
    cases.push_back(prepared("changeQueue", 422, {"PATCH", "/v1/queues/emails", body}));
  }
  return cases;
}

}  // namespace millrace::test
