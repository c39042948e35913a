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

  Result<std::vector<Result<Put>>> put(std::span<const NewTask>, TimePoint) override {
    return std::unexpected(Error{.code = ErrorCode::limited,
                                 .message = "the store is full",
                                 .retry_after = std::chrono::seconds(1),
                                 .no_space = true});
  }

 private:
  std::unique_ptr<Store> behind_;
};

ServerOptions full_disk() {
  ServerOptions options;
  options.store = std::make_unique<FullStore>();
  return options;
}

Request posted(std::string target, std::string body = {}) {
  return {.method = "POST", .target = std::move(target), .body = std::move(body)};
}

Request got(std::string target) {
  return {.target = std::move(target)};
}

std::string at(std::string_view id, std::string_view rest = {}) {
  return fmt::format("/v1/tasks/{}{}", id, rest);
}

std::string id_in(const std::string& put) {
  constexpr std::string_view before = R"("id":")";
  return put.substr(put.find(before) + before.size(), unknown_task.size());
}

Case simple(std::string operation, unsigned status, Request request) {
  return {.operation = std::move(operation),
          .status = status,
          .request = [request = std::move(request)](ApiClient&) { return request; }};
}

std::vector<Case> put_cases(const std::string& operation, const std::string& target) {
  const std::string task = R"({"queue":"emails","payload":{"to":"ann"}})";
  std::vector<Case> cases;
  cases.push_back(simple(operation, 201, posted(target, task)));
  cases.push_back(simple(operation, 201, posted(target, R"({"queue":"emails","type":"t",
      "payload_text":"x","priority":"high","attempts":3,"delay_ms":5,"tags":["a"],
      "metadata":{"a":1},"unique":{"key":"k"},"callback":{"url":"https://example.org"}})")));
  cases.push_back(simple(operation, 200, posted(target, "[" + task + R"(,{"queue":"$no"}])")));
  cases.push_back({operation, 200, [target, task](ApiClient& server) {
                     Request request = posted(target, task);
                     request.headers = "Idempotency-Key: k1\r\n";
                     server.ask(request);
                     return request;
                   }});
  const std::string graph = R"({"atomic":true,"tasks":[{"queue":"emails","ref":"a"},
      {"queue":"emails","after":["a"]}]})";
  cases.push_back(simple(operation, 201, posted(target, graph)));
  cases.push_back({operation, 200, [target, graph](ApiClient& server) {
                     Request request = posted(target, graph);
                     request.headers = "Idempotency-Key: k2\r\n";
                     server.ask(request);
                     return request;
                   }});
  cases.push_back(simple(
      operation, 404,
      posted(target, R"({"queue":"emails","after":[")" + std::string(unknown_task) + "\"]}")));
  Request lines = posted(target, task + "\nnonsense\n\n" + task);
  lines.content_type = "application/x-ndjson";
  cases.push_back(simple(operation, 200, lines));
  cases.push_back({operation, 409, [target, task](ApiClient& server) {
                     server.put();
                     server.must_post("/v1/queues/emails/drain", "");
                     return posted(target, task);
                   }});
  cases.push_back({operation, 429, [target, task](ApiClient& server) {
                     server.must_post("/v1/queues", R"({"name":"emails","max_depth":1})");
                     server.put();
                     return posted(target, task);
                   }});
  cases.push_back(simple(operation, 413,
                         posted(target, R"({"queue":"emails","payload_text":")" +
                                            std::string(1'100'000, 'x') + "\"}")));
  cases.push_back(simple(operation, 507, posted(target, task)));
  cases.back().server = full_disk;
  return cases;
}

void add_not_found(std::vector<Case>& cases) {
  const auto none = [](std::string_view rest) { return at(unknown_task, rest); };
  cases.push_back(simple("getTask", 404, got(none(""))));
  cases.push_back(simple("getTask", 404, got("/v1/tasks/123456")));
  cases.push_back(simple("getTask", 400, got("/v1/tasks/not-an-id")));
  cases.push_back(simple("getResult", 404, got(none("/result"))));
  cases.push_back(simple("explainTask", 404, got(none("/explain"))));
  cases.push_back(simple("getHistory", 404, got(none("/history"))));
  cases.push_back(simple("getLog", 404, got(none("/log"))));
  cases.push_back(simple("getFamily", 404, got(none("/family"))));
  cases.push_back(simple("getParents", 404, got(none("/parents"))));
  cases.push_back(simple("getGraph", 404, got(none("/graph"))));
  cases.push_back(simple("cancelTask", 404, posted(none("/cancel"))));
  cases.push_back(simple("retryTask", 404, posted(none("/retry"))));
  cases.push_back(simple("redeliverWebhook", 404, posted(none("/redeliver"))));
  cases.push_back(simple("releaseTask", 404, posted(none("/release"))));
  cases.push_back(simple("changeTask", 404,
                         {.method = "PATCH", .target = none(""), .body = R"({"priority":1})"}));
  cases.push_back(simple("removeTask", 404, {.method = "DELETE", .target = none("")}));
  cases.push_back(simple("listTasks", 404, got("/v1/tasks?queue=nowhere")));
  cases.push_back(simple("listDead", 404, got("/v1/dead?queue=nowhere")));
  cases.push_back(simple("groupDead", 404, got("/v1/dead/groups?queue=nowhere")));
  cases.push_back(
      simple("retryDead", 404, posted("/v1/dead/retry", R"({"all":true,"queue":"nowhere"})")));
  cases.push_back(
      simple("removeDead", 404, posted("/v1/dead/remove", R"({"all":true,"queue":"nowhere"})")));
}

// Tasks that wait for others.
void add_waiting(std::vector<Case>& cases) {
  cases.push_back({"getParents", 200, [](ApiClient& server) {
                     const std::string parent = server.settled(R"("outcome":"done","result":7)");
                     const auto child = server.must_post(
                         "/v1/tasks", R"({"queue":"emails","after":[")" + parent + "\"]}");
                     return got(at(id_in(child), "/parents"));
                   }});
  cases.push_back({"getGraph", 200, [](ApiClient& server) {
                     const std::string parent = server.put();
                     const auto child = server.must_post(
                         "/v1/tasks", R"({"queue":"emails","after":[")" + parent + "\"]}");
                     return got(at(id_in(child), "/graph?limit=10"));
                   }});
  cases.push_back({"getTask", 200, [](ApiClient& server) {
                     const std::string parent = server.put();
                     const auto child = server.must_post(
                         "/v1/tasks", R"({"queue":"emails","after":{"tasks":[")" + parent +
                                          R"("],"when":"ended","otherwise":"run"}})");
                     return got(at(id_in(child), ""));
                   }});
  for (const auto* limit : {"0", "201", "many"}) {
    cases.push_back({"getGraph", 400, [limit](ApiClient& server) {
                       return got(at(server.put(), std::string("/graph?limit=") + limit));
                     }});
  }
}

void add_reading(std::vector<Case>& cases) {
  const auto reading = [&](std::string operation, std::string rest) {
    cases.push_back({operation, 200, [rest](ApiClient& server) {
                       const std::string id = server.settled(
                           R"("outcome":"failed","retryable":false,"error":{"message":"m"})");
                       return got(at(id, rest));
                     }});
  };
  reading("getTask", "");
  reading("getTask", "?wait=1s");
  reading("explainTask", "/explain");
  reading("getHistory", "/history");
  reading("getLog", "/log?after=2029-01-01T00:00:00Z");
  reading("getFamily", "/family");
  reading("getParents", "/parents?from=0&limit=10");
  cases.push_back({"getLog", 200, [](ApiClient& server) {
                     const auto [id, token] = server.taken();
                     server.must_post(at(id, "/log"),
                                      fmt::format(R"({{"token":"{}","lines":["a"]}})", token));
                     return got(at(id, "/log"));
                   }});
  cases.push_back({"getTask", 200, [](ApiClient& server) {
                     server.put();
                     return got("/v1/tasks/1");
                   }});
  for (const auto* result : {R"("result":{"n":1.0})", R"("result_base64":"/w==")"}) {
    cases.push_back(
        {"getResult", 200, [result](ApiClient& server) {
           return got(at(server.settled(std::string(R"("outcome":"done",)") + result), "/result"));
         }});
  }
  cases.push_back({"getResult", 204, [](ApiClient& server) {
                     return got(at(server.settled(R"("outcome":"done")"), "/result"));
                   }});
  cases.push_back(
      {"getResult", 409, [](ApiClient& server) { return got(at(server.put(), "/result")); }});
  for (const auto* filter :
       {"", "?text=x&error_code=e", "?parent=01890a5d-ac96-774b-bcce-b302099a8057&full=true",
        "?queue=emails&state=queued,delayed&state=dead&full=true",
        "?parked=true&waits_for=01890a5d-ac96-774b-bcce-b302099a8057",
        "?type=x&client_id=c&group=g&tag=t&priority=5&limit=1&cursor=99",
        "?created_from=2029-01-01T00:00:00Z&created_until=2031-01-01T00:00:00"
        "%2B02:00"}) {
    cases.push_back({"listTasks", 200, [filter](ApiClient& server) {
                       server.put(R"(,"tags":["t"])");
                       server.settled(R"("outcome":"done","result":1)");
                       return got(std::string("/v1/tasks") + filter);
                     }});
  }
  for (const auto* filter :
       {"?state=running", "?limit=0", "?limit=1&limit=2", "?priority=10", "?created_from=yesterday",
        "?text=", "?parent=x", "?cursor=x", "?full=maybe", "?%zz=1"}) {
    cases.push_back(simple("listTasks", 400, got(std::string("/v1/tasks") + filter)));
  }
}

void add_changing(std::vector<Case>& cases) {
  const auto on = [&](std::string operation, unsigned status,
                      std::function<std::string(ApiClient&)> make, Request request) {
    cases.push_back(
        {std::move(operation), status, [make = std::move(make), request](ApiClient& server) {
           Request made = request;
           made.target = at(make(server), request.target);
           return made;
         }});
  };
  const auto waiting = [](ApiClient& server) { return server.put(); };
  const auto held = [](ApiClient& server) { return server.put(R"(,"held":true)"); };
  const auto running = [](ApiClient& server) { return server.taken().first; };
  const auto done = [](ApiClient& server) { return server.settled(R"("outcome":"done")"); };
  const auto dead = [](ApiClient& server) {
    return server.settled(R"("outcome":"failed","retryable":false,"error":{"message":"m"})");
  };
  const auto called_back = [](ApiClient& server) {
    const std::string id = server.put(R"(,"callback":{"url":"https://example.org/hook"})");
    server.must_post(at(id, "/cancel"), "");
    return id;
  };
  on("cancelTask", 200, waiting, posted("/cancel", R"({"reason":"why"})"));
  on("cancelTask", 200, running, posted("/cancel"));
  on("cancelTask", 409, done, posted("/cancel"));
  on("actOnTasks", 200, dead, {});
  cases.back().request = [dead](ApiClient& server) {
    return posted("/v1/tasks/actions", fmt::format(R"({{"action":"retry","ids":["{}","{}"]}})",
                                                   dead(server), unknown_task));
  };
  on("retryTask", 200, dead, posted("/retry"));
  on("retryTask", 409, waiting, posted("/retry"));
  on("redeliverWebhook", 201, called_back, posted("/redeliver"));
  on("redeliverWebhook", 409, done, posted("/redeliver"));
  on("redeliverWebhook", 409, waiting, posted("/redeliver"));
  on("releaseTask", 200, held, posted("/release"));
  on("releaseTask", 200, held, posted("/release", R"({"data":{"approved":true}})"));
  on("releaseTask", 200, held, posted("/release", R"({"data":1,"expect_version":1})"));
  on("releaseTask", 409, held, posted("/release", R"({"expect_version":7})"));
  on("releaseTask", 409, waiting, posted("/release"));
  on("changeTask", 200, waiting,
     {.method = "PATCH", .body = R"({"priority":"high","delay_ms":1000})"});
  on("changeTask", 409, running, {.method = "PATCH", .body = R"({"priority":1})"});
  on("removeTask", 204, done, {.method = "DELETE"});
  on("removeTask", 409, running, {.method = "DELETE"});
  on("listDead", 200, dead, {});
  cases.back().request = [dead](ApiClient& server) {
    dead(server);
    return got("/v1/dead?queue=emails&type=&limit=5");
  };
  cases.push_back({"groupDead", 200, [dead](ApiClient& server) {
                     dead(server);
                     return got("/v1/dead/groups?queue=emails&type=&limit=5");
                   }});
  for (const std::string verb : {"retry", "remove"}) {
    const std::string operation = verb + "Dead";
    cases.push_back({operation, 200, [dead, verb](ApiClient& server) {
                       return posted("/v1/dead/" + verb,
                                     fmt::format(R"({{"ids":["{}"]}})", dead(server)));
                     }});
    cases.push_back({operation, 200, [dead, verb](ApiClient& server) {
                       dead(server);
                       return posted("/v1/dead/" + verb, R"({"all":true,"queue":"emails"})");
                     }});
  }
}

}  // namespace

std::vector<Case> task_cases() {
  std::vector<Case> cases = put_cases("putTasks", "/v1/tasks");
  const auto more = put_cases("putQueueTasks", "/v1/queues/emails/tasks");
  cases.insert(cases.end(), more.begin(), more.end());
  add_not_found(cases);
  add_waiting(cases);
  add_reading(cases);
  add_changing(cases);
  return cases;
}

}  // namespace millrace::test
