#include <fmt/format.h>

#include "store/forwarding.h"
#include "store/store.h"
#include "tests/api/cases.h"

namespace millrace::test {
namespace {

constexpr std::string_view unknown_task = "01890a5d-ac96-774b-bcce-b302099a8057";

// A store on a disk that is full.
class FullStore final : public ForwardingStore {
 public:
  FullStore() : FullStore(open_memory()) {}
  explicit FullStore(std::unique_ptr<Store> behind)
      : ForwardingStore(*behind), behind_(std::move(behind)) {}

  Result<std::vector<Result<Put>>> put(std::span<const NewTask> tasks, TimePoint now) override {
    // Those of the case itself still fit.
    if (tasks.front().queue != QueueRef("$bulk")) return ForwardingStore::put(tasks, now);
    return std::unexpected(full());
  }
  Result<std::vector<Result<TaskState>>> update(std::span<const TaskUpdate>, TimePoint) override {
    return std::unexpected(full());
  }

 private:
  static Error full() {
    return {.code = ErrorCode::limited,
            .message = "the store is full",
            .retry_after = std::chrono::seconds(1),
            .no_space = true};
  }

  std::unique_ptr<Store> behind_;
};

ServerOptions full_disk() {
  ServerOptions options;
  options.store = std::make_unique<FullStore>();
  return options;
}

Request started(std::string body) {
  return {.method = "POST", .target = "/v1/bulk", .body = std::move(body)};
}

std::string begun(ApiClient& server) {
  server.put();
  return member(server.must_post("/v1/bulk", R"({"action":"cancel","filter":{"queue":"emails"}})"),
                "id");
}

std::string at(std::string_view id, std::string_view rest = {}) {
  return fmt::format("/v1/bulk/{}{}", id, rest);
}

void add_starting(std::vector<Case>& cases) {
  const auto start = [&](unsigned status, std::string body) {
    cases.push_back({"startBulk", status, [body](ApiClient& server) {
                       server.put();
                       return started(body);
                     }});
  };
  start(202, R"({"action":"cancel","filter":{"queue":"emails"},"reason":"why"})");
  start(202, R"({"action":"priority","filter":{"state":["queued"],"tag":"t"},"priority":"high"})");
  start(202, R"({"action":"remove","filter":{"type":"t","client_id":"c","group":"g","priority":3,
      "created_from":"2029-01-01T00:00:00Z","created_until":"2031-01-01T00:00:00Z"}})");
  start(202, R"({"id":"01890a5d-ac96-774b-bcce-b302099a8057","action":"move",
      "filter":{"queue":"emails"},"to":"elsewhere","dry_run":true})");
  start(202, R"({"action":"retry","filter":{"queue":"$webhooks"}})");
  start(202, R"({"action":"retry","filter":{"queue":"emails","error_group":"14bc8e47bb166d10"}})");
  start(404, R"({"action":"cancel","filter":{"queue":"nowhere"}})");
  start(404, R"({"action":"move","filter":{"queue":"emails"},"to":77})");
  for (const auto* invalid :
       {R"({"action":"cancel"})", R"({"filter":{"queue":"emails"}})",
        R"({"action":"cancel","filter":{}})", R"({"action":"burn","filter":{"queue":"emails"}})",
        R"({"action":"cancel","filter":{"queue":"$webhooks"}})",
        R"({"action":"remove","filter":{"queue":"$bulk"}})",
        R"({"action":"cancel","filter":{"state":["dead"]}})",
        R"({"action":"retry","filter":{"error_group":"exit_1"}})",
        R"({"action":"priority","filter":{"queue":"emails"}})",
        R"({"action":"move","filter":{"queue":"emails"}})",
        R"({"action":"move","filter":{"queue":"emails"},"to":"emails"})",
        R"({"action":"move","filter":{"queue":"emails"},"to":"$alerts"})",
        R"({"action":"move","filter":{"queue":"emails"},"to":"not a name"})",
        R"({"action":"retry","filter":{"queue":"emails"},"to":"elsewhere"})"}) {
    start(422, invalid);
  }
  cases.push_back(
      {"startBulk", 409, [](ApiClient& server) {  // the id of another task
         return started(fmt::format(
             R"({{"id":"{}","action":"cancel","filter":{{"queue":"emails"}}}})", server.put()));
       }});
  cases.push_back({"startBulk", 409, [](ApiClient& server) {
                     server.put();
                     server.must_post("/v1/queues", R"({"name":"closed","active":false})");
                     return started(
                         R"({"action":"move","filter":{"queue":"emails"},"to":"closed"})");
                   }});
  cases.push_back({"startBulk", 507, [](ApiClient& server) {
                     server.put();
                     return started(R"({"action":"cancel","filter":{"queue":"emails"}})");
                   }});
  cases.back().server = full_disk;
}

void add_moving(std::vector<Case>& cases) {
  const auto move = [&](unsigned status, std::string body) {
    cases.push_back({"changeTask", status, [body](ApiClient& server) {
                       return Request{
                           .method = "PATCH", .target = "/v1/tasks/" + server.put(), .body = body};
                     }});
  };
  move(200, R"({"queue":"elsewhere"})");
  move(200, R"({"queue":"emails","priority":1})");
  move(404, R"({"queue":77})");
  move(422, R"({"queue":"$webhooks"})");
  move(422, R"({"queue":"not a name"})");
  move(507, R"({"queue":"elsewhere"})");
  cases.back().server = full_disk;
}

}  // namespace

std::vector<Case> bulk_cases() {
  std::vector<Case> cases;
  add_starting(cases);
  add_moving(cases);
  cases.push_back({"listBulk", 200, [](ApiClient& server) {
                     begun(server);
                     begun(server);
                     return Request{.target = "/v1/bulk?limit=1&cursor=99"};
                   }});
  cases.push_back(
      {"listBulk", 400, [](ApiClient&) { return Request{.target = "/v1/bulk?limit=0"}; }});
  cases.push_back(
      {"getBulk", 200, [](ApiClient& server) { return Request{.target = at(begun(server))}; }});
  cases.push_back({"getBulk", 404, [](ApiClient&) { return Request{.target = at(unknown_task)}; }});
  cases.push_back(
      {"getBulk", 404, [](ApiClient& server) { return Request{.target = at(server.put())}; }});
  cases.push_back({"getBulk", 400, [](ApiClient&) { return Request{.target = at("not-an-id")}; }});
  cases.push_back({"cancelBulk", 404, [](ApiClient& server) {
                     return Request{.method = "POST", .target = at(server.put(), "/cancel")};
                   }});
  return cases;
}

// Only where no worker runs them: the operation might end first.
std::vector<Case> waiting_bulk_cases() {
  std::vector<Case> cases;
  cases.push_back({"cancelBulk", 200, [](ApiClient& server) {
                     return Request{.method = "POST",
                                    .target = at(begun(server), "/cancel"),
                                    .body = R"({"reason":"why"})"};
                   }});
  cases.push_back({"cancelBulk", 409, [](ApiClient& server) {
                     const std::string target = at(begun(server), "/cancel");
                     server.must_post(target, "");
                     return Request{.method = "POST", .target = target};
                   }});
  for (Case& one : cases) one.prepare = [](ApiServer&) {};
  return cases;
}

}  // namespace millrace::test
