#include <memory>

#include "tests/api/cases.h"
#include "tests/support/contested_store.h"

namespace millrace::test {
namespace {

constexpr const char* nightly = R"({"name":"nightly","rule":{"cron":"0 3 * * *",
    "zone":"Europe/Berlin"},"task":{"queue":"reports","payload":{"k":1.0},"priority":"low"},
    "overlap":"allow","missed":"all","missed_most":5,"jitter_ms":10})";

Case simple(std::string operation, unsigned status, Request request) {
  return {.operation = std::move(operation),
          .status = status,
          .request = [request = std::move(request)](ApiClient&) { return request; }};
}

// On a server with the schedules `nightly` and `ping`.
Case prepared(std::string operation, unsigned status, Request request) {
  return {.operation = std::move(operation),
          .status = status,
          .request = [request = std::move(request)](ApiClient& server) {
            server.must_post("/v1/schedules", nightly);
            server.must_post("/v1/schedules", R"({"name":"ping","rule":{"every_ms":60000},
                "task":{"queue":"pings"},"paused":true})");
            return request;
          }};
}

// The same while other servers keep changing the schedule.
Case contested(std::string operation, Request request) {
  Case lost = prepared(std::move(operation), 409, std::move(request));
  lost.server = [] { return ServerOptions{.store = std::make_unique<ContestedStore>()}; };
  return lost;
}

}  // namespace

std::vector<Case> schedule_cases() {
  std::vector<Case> cases;
  const std::string all = "/v1/schedules";
  const std::string one = "/v1/schedules/nightly";
  const std::string none = "/v1/schedules/nowhere";
  cases.push_back(prepared("listSchedules", 200, {.target = all}));
  cases.push_back(prepared("listSchedules", 200, {.target = all + "?queue=reports"}));
  cases.push_back(prepared("listSchedules", 200, {.target = all + "?limit=1"}));
  cases.push_back(prepared("listSchedules", 200, {.target = all + "?limit=1&cursor=nightly"}));
  for (const auto* query : {"?limit=0", "?limit=1001", "?limit=x", "?page=2"}) {
    cases.push_back(prepared("listSchedules", 400, {.target = all + query}));
  }
  cases.push_back(simple("createSchedule", 201, {"POST", all, nightly}));
  cases.push_back(prepared("createSchedule", 409, {"POST", all, nightly}));
  cases.push_back(
      simple("createSchedule", 422,
             {"POST", all, R"({"name":"a","rule":{"cron":"x"},"task":{"queue":"q"}})"}));
  cases.push_back(prepared("getSchedule", 200, {.target = one}));
  cases.push_back(simple("getSchedule", 404, {.target = none}));
  cases.push_back(simple("replaceSchedule", 200,
                         {"PUT", one, R"({"rule":{"every_ms":1000},"task":{"queue":"q"}})"}));
  cases.push_back(prepared("replaceSchedule", 200, {"PUT", one, nightly}));
  cases.push_back(simple("replaceSchedule", 422, {"PUT", none, nightly}));
  cases.push_back(prepared("changeSchedule", 200,
                           {"PATCH", one, R"({"rule":{"every_ms":1000},"task":{"payload":2}})"}));
  cases.push_back(simple("changeSchedule", 404, {"PATCH", none, R"({"paused":true})"}));
  cases.push_back(prepared("changeSchedule", 422, {"PATCH", one, R"({"rule":{"cron":"x"}})"}));
  cases.push_back(prepared("changeSchedule", 422, {"PATCH", one, R"({"task":{"tuype":"x"}})"}));
  cases.push_back(prepared("removeSchedule", 204, {"DELETE", one}));
  cases.push_back(simple("removeSchedule", 404, {"DELETE", none}));
  for (const std::string verb : {"pause", "resume", "run"}) {
    const std::string operation = verb + "Schedule";
    cases.push_back(prepared(operation, verb == "run" ? 201 : 200, {"POST", one + "/" + verb}));
    cases.push_back(simple(operation, 404, {"POST", none + "/" + verb}));
  }
  cases.push_back(prepared("getNextTicks", 200, {.target = one + "/next?count=3"}));
  cases.push_back(prepared("getNextTicks", 200, {.target = "/v1/schedules/ping/next"}));
  cases.push_back(prepared("getNextTicks", 400, {.target = one + "/next?count=101"}));
  cases.push_back(simple("getNextTicks", 404, {.target = none + "/next"}));
  cases.push_back(contested("replaceSchedule", {"PUT", one, nightly}));
  cases.push_back(contested("changeSchedule", {"PATCH", one, R"({"missed_most":2})"}));
  cases.push_back(contested("pauseSchedule", {"POST", one + "/pause"}));
  cases.push_back(contested("resumeSchedule", {"POST", all + "/ping/resume"}));
  return cases;
}

}  // namespace millrace::test
