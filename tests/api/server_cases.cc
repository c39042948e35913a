#include "tests/api/cases.h"

namespace millrace::test {
namespace {

Case simple(std::string operation, unsigned status, Request request) {
  return {.operation = std::move(operation),
          .status = status,
          .request = [request = std::move(request)](ApiClient&) { return request; }};
}

// A server that knows one key, k1.
ServerOptions with_keys() {
  ServerOptions options;
  const api::KeyView key{.id = "k1",
                         .name = "mailer",
                         .scopes = {api::Scope::put, api::Scope::admin},
                         .queues = {"emails", "shop.*"},
                         .created_at = t0,
                         .expires = t0 + std::chrono::hours(1),
                         .rate = Rate{.max = 5}};
  options.api.keys = {
      .list = [key](Completion<std::vector<api::KeyView>> done) { done(std::vector{key}); },
      .create =
          [](std::string, api::NewKey given, Completion<api::CreatedKey> done) {
            done(api::CreatedKey{.key = {.id = "k2",
                                         .name = given.name,
                                         .scopes = given.scopes,
                                         .queues = given.queues,
                                         .created_at = t0,
                                         .expires = given.expires,
                                         .rate = given.rate},
                                 .secret = "mr_k2_secret"});
          },
      .revoke =
          [](std::string, std::string id, bool force, Completion<void> done) {
            if (id == "k1" || (id == "k2" && force)) return done({});
            if (id == "k2") return done(fail(ErrorCode::conflict, "it is the last one"));
            done(fail(ErrorCode::not_found, "there is no such key"));
          }};
  options.api.connections = [] { return 1U; };
  return options;
}

// A server to which one can sign in with k1; with k9 that was tried too often.
ServerOptions with_sessions() {
  ServerOptions options;
  const auto signed_in = std::make_shared<api::SignedIn>();
  signed_in->visit.needs_key = signed_in->visit.signed_in = true;
  signed_in->visit.key =
      api::KeyView{.id = "k1", .name = "ops", .scopes = {api::Scope::read}, .queues = {"a"}};
  signed_in->visit.expires = t0 + std::chrono::hours(1);
  signed_in->text = "ms_1";
  signed_in->lasts = std::chrono::hours(1);
  options.api.sessions = {
      .look = [](const api::HttpRequest&) { return api::Visit{.needs_key = true}; },
      .sign_in =
          [signed_in](const api::SignIn& asked, api::Sessions::SignedInOrNot done) {
            if (asked.key == "k1") {
              return done(*signed_in);
            }
            api::Problem problem{.status = 401, .code = "unauthorized", .detail = "unknown"};
            if (asked.key == "k9") {
              problem = {.status = 429, .code = "limited", .detail = "wait"};
              problem.retry_after = std::chrono::seconds(7);
            }
            done(std::unexpected(std::move(problem)));
          },
      .sign_out = [](const api::HttpRequest&,
                     Completion<std::string> done) { done(std::string("/")); }};
  return options;
}

void add_sessions(std::vector<Case>& cases) {
  const auto add = [&](std::string operation, unsigned status, Request request) {
    if (request.headers.empty()) request.headers = "X-Requested-By: tests\r\n";
    cases.push_back(simple(std::move(operation), status, std::move(request)));
    cases.back().server = with_sessions;
  };
  add("getSession", 200, {.target = "/v1/session"});
  add("openSession", 200, {"POST", "/v1/session", R"({"key":"k1","path":"/admin/"})"});
  add("openSession", 401, {"POST", "/v1/session", R"({"key":"k2"})"});
  add("openSession", 429, {"POST", "/v1/session", R"({"key":"k9"})"});
  add("openSession", 422, {"POST", "/v1/session", R"({"key":"k1","path":"x"})"});
  add("closeSession", 204, {"DELETE", "/v1/session"});
  const std::string bare = "Accept: */*\r\n";
  add("openSession", 403,
      {.method = "POST", .target = "/v1/session", .body = R"({"key":"k1"})", .headers = bare});
  add("closeSession", 403, {.method = "DELETE", .target = "/v1/session", .headers = bare});
  // Servers without sign-in.
  const auto without = [&](std::string operation, Request request) {
    add(std::move(operation), 404, std::move(request));
    cases.back().server = [] { return ServerOptions{}; };
  };
  without("getSession", {.target = "/v1/session"});
  without("openSession", {"POST", "/v1/session", R"({"key":"k1"})"});
  without("closeSession", {"DELETE", "/v1/session"});
}

void add_actions(std::vector<Case>& cases) {
  cases.push_back(simple("listActions", 200, {.target = "/v1/actions?limit=5"}));
  cases.back().server = [] {
    ServerOptions options;
    options.api.actions.list = [](std::string_view, std::size_t, Completion<api::ActionPage> done) {
      done(api::ActionPage{.actions = {{.at = t0,
                                        .last_at = t0,
                                        .count = 2,
                                        .operation = "pauseQueue",
                                        .subject = "emails",
                                        .request = "{}",
                                        .key = "k1",
                                        .name = "ops",
                                        .session = true,
                                        .request_id = "r"}},
                           .next = "7.1"});
    };
    return options;
  };
  cases.push_back(simple("listActions", 404, {.target = "/v1/actions"}));
  cases.back().server = [] { return ServerOptions{}; };
}

void add_alerts(std::vector<Case>& cases) {
  cases.push_back(simple("getAlerts", 200, {.target = "/v1/alerts"}));
  cases.push_back(simple("getAlerts", 200, {.target = "/v1/alerts"}));
  cases.back().server = [] {
    ServerOptions options;
    options.api.eyes.standing = [] {
      return Standing{.alerts = {{.kind = AlertKind::disk_low,
                                  .level = LogLevel::error,
                                  .since = t0,
                                  .message = "nearly full",
                                  .count = 5},
                                 {.queue = "emails", .since = t0, .message = "deep", .count = 7}},
                      .total = 2,
                      .looked_at = t0,
                      .disk = DiskSpace{.free = 5, .total = 100}};
    };
    return options;
  };
  cases.push_back(simple("getServer", 200, {.target = "/v1/server"}));
  cases.back().server = cases[cases.size() - 2].server;
}

void add_past(std::vector<Case>& cases) {
  cases.push_back(simple("getPast", 200, {.target = "/v1/history"}));
  for (const auto* query : {"?queue=emails", "?by=queue", "?queue=emails&by=type",
                            "?queue=emails&type=t&step=1h"
                            "&from=2020-01-01T00:00:00Z"
                            "&until=2030-01-01T00:00:00Z"}) {
    cases.push_back({"getPast", 200, [query](ApiClient& server) {
                       server.put();
                       return Request{.target = std::string("/v1/history") + query};
                     }});
  }
  for (const auto* query : {"?step=5m", "?from=yesterday", "?until=-", "?by=day"}) {
    cases.push_back(simple("getPast", 400, {.target = std::string("/v1/history") + query}));
  }
  cases.push_back(simple("getPast", 404, {.target = "/v1/history?queue=4711"}));
  cases.push_back(simple("getPast", 404, {.target = "/v1/history?queue=nope"}));
}

}  // namespace

std::vector<Case> server_cases() {
  std::vector<Case> cases;
  const auto keys = [&](std::string operation, unsigned status, Request request) {
    cases.push_back(simple(std::move(operation), status, std::move(request)));
    cases.back().server = with_keys;
  };
  keys("listKeys", 200, {.target = "/v1/keys"});
  keys("createKey", 201,
       {"POST", "/v1/keys",
        R"({"name":"n","scopes":["work","put"],"queues":["a*"],
                              "expires":"2031-01-01T00:00:00Z","rate":{"max":5,"per_ms":1000}})"});
  keys("createKey", 422, {"POST", "/v1/keys", R"({"name":"n","scopes":["root"]})"});
  keys("createKey", 422, {"POST", "/v1/keys", R"({"name":"n","scopes":[]})"});
  keys("createKey", 400, {"POST", "/v1/keys", R"({"name":)"});
  keys("revokeKey", 204, {"DELETE", "/v1/keys/k1"});
  keys("revokeKey", 404, {"DELETE", "/v1/keys/k9"});
  keys("revokeKey", 409, {"DELETE", "/v1/keys/k2"});
  keys("revokeKey", 204, {"DELETE", "/v1/keys/k2?force=true"});
  keys("revokeKey", 400, {"DELETE", "/v1/keys/k2?force=perhaps"});
  keys("getServer", 200, {.target = "/v1/server"});

  for (const std::string path : {"/v1/workers", "/v1/workers/w1"}) {
    cases.push_back(
        {path.ends_with("w1") ? "getWorker" : "listWorkers", 200, [path](ApiClient& server) {
           server.taken();
           server.must_post("/v1/workers/w1/beat", R"({"processors":1,"queues":[{"queue":"a"}]})");
           return Request{.target = path};
         }});
  }
  cases.push_back(simple("getWorker", 404, {.target = "/v1/workers/nobody"}));
  // HEAD, since the stream of GET has no end; events_test.cc reads it.
  cases.push_back(simple("getEvents", 200,
                         {"HEAD",
                          "/v1/events?queue=a&type=b&client_id=c&after=1-1"
                          "&id=01890a5d-ac96-774b-bcce-b302099a8057"}));
  cases.push_back(simple("getEvents", 200, {"HEAD", "/v1/events?event=failed,dead&most=5"}));
  for (const auto* query : {"?after=x", "?id=7", "?id=x", "?event=odd", "?most=0", "?most=501"}) {
    cases.push_back(simple("getEvents", 400, {.target = std::string("/v1/events") + query}));
  }
  cases.push_back(simple("getEvents", 404, {.target = "/v1/events?queue=4711"}));
  add_sessions(cases);
  add_actions(cases);
  add_past(cases);
  add_alerts(cases);
  cases.push_back(simple("getMetrics", 200, {.target = "/metrics"}));
  cases.push_back({"exportLines", 200, [](ApiClient& server) {
                     server.settled(R"("outcome":"done","result":{"sent":true})");
                     return Request{.target = "/v1/export"};
                   }});
  cases.push_back({"importLines", 200, [](ApiClient& server) {
                     server.put();
                     const Reply exported = server.ask({.target = "/v1/export"});
                     return Request{"POST", "/v1/import", exported.body, "application/x-ndjson"};
                   }});
  cases.push_back(simple("getHealth", 200, {.target = "/health"}));
  cases.push_back(simple("getReady", 200, {.target = "/ready"}));
  cases.push_back(simple("getOpenApi", 200, {.target = "/openapi.json"}));
  cases.push_back(simple("getReady", 503, {.target = "/ready"}));
  cases.back().server = [] {
    ServerOptions options;
    options.started = false;
    return options;
  };
  cases.back().prepare = [](ApiServer& server) { server.api.progress("segment 3 of 17"); };
  cases.push_back(simple("getReady", 503, {.target = "/ready"}));
  cases.back().prepare = [](ApiServer& server) { server.api.stop(); };
  return cases;
}

}  // namespace millrace::test
