#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/api/cases.h"

namespace millrace::test {
namespace {

Case simple(std::string operation, unsigned status, Request request) {
  return {.operation = std::move(operation),
          .status = status,
          .request = [request = std::move(request)](ApiClient&) { return request; }};
}

struct Made {
  std::string id = {};
  std::string text = {};
};

// Makes a key; the first one of a server must have the scope admin.
Made make_key(ApiClient& server, const std::string& body, const Made& by = {}) {
  const Reply reply = server.ask({.method = "POST",
                                  .target = "/v1/keys",
                                  .body = body,
                                  .headers = by.text.empty() ? "" : by_key_text(by.text)});
  EXPECT_EQ(reply.status, 201U) << reply.body;
  return {member(reply.body, "id"), member(reply.body, "secret")};
}

Made make_admin(ApiClient& server) {
  return make_key(server, R"({"name":"ops","scopes":["admin"]})");
}

const std::string ours = "X-Requested-By: tests\r\n";

Request sign_in(const std::string& key, const std::string& path = "/") {
  return {.method = "POST",
          .target = "/v1/session",
          .body = fmt::format(R"({{"key":"{}","path":"{}"}})", key, path),
          .headers = ours};
}

void add_keys(std::vector<Case>& cases) {
  const auto add = [&](std::string operation, unsigned status, Request request) {
    cases.push_back(simple(std::move(operation), status, std::move(request)));
  };
  const std::string about_all = R"({"name":"n","scopes":["work","put"],"queues":["a*"],
                     "expires":"2031-01-01T00:00:00Z","rate":{"max":5,"per_ms":1000}})";
  cases.push_back({"listKeys", 200, [about_all](ApiClient& server) {
                     const Made admin = make_admin(server);
                     make_key(server, about_all, admin);
                     return Request{.target = "/v1/keys", .headers = by_key_text(admin.text)};
                   }});
  cases.push_back({"createKey", 201, [about_all](ApiClient& server) {
                     const Made admin = make_admin(server);
                     return Request{.method = "POST",
                                    .target = "/v1/keys",
                                    .body = about_all,
                                    .headers = by_key_text(admin.text)};
                   }});
  add("createKey", 422, {"POST", "/v1/keys", R"({"name":"n","scopes":["root"]})"});
  add("createKey", 422, {"POST", "/v1/keys", R"({"name":"n","scopes":[]})"});
  add("createKey", 422, {"POST", "/v1/keys", R"({"name":"n","scopes":["put"]})"});
  add("createKey", 400, {"POST", "/v1/keys", R"({"name":)"});
  // The last key that can make others, beside one that cannot.
  const auto revoke = [&](unsigned status, bool last, std::string query) {
    cases.push_back({"revokeKey", status, [last, query](ApiClient& server) {
                       const Made admin = make_admin(server);
                       const Made other =
                           make_key(server, R"({"name":"p","scopes":["put"]})", admin);
                       return Request{.method = "DELETE",
                                      .target = "/v1/keys/" + (last ? admin.id : other.id) + query,
                                      .headers = by_key_text(admin.text)};
                     }});
  };
  revoke(204, false, "");
  revoke(409, true, "");
  revoke(204, true, "?force=true");
  add("revokeKey", 404, {"DELETE", "/v1/keys/k9"});
  add("revokeKey", 400, {"DELETE", "/v1/keys/k2?force=perhaps"});
}

void add_sessions(std::vector<Case>& cases) {
  const auto add = [&](std::string operation, unsigned status, Request request) {
    cases.push_back(simple(std::move(operation), status, std::move(request)));
  };
  add("getSession", 200, {.target = "/v1/session"});
  cases.push_back({"getSession", 200, [](ApiClient& server) {
                     const Made admin = make_admin(server);
                     return Request{.target = "/v1/session", .headers = by_key_text(admin.text)};
                   }});
  cases.push_back(
      {"openSession", 200, [](ApiClient& server) {
         const Made admin = make_admin(server);
         return sign_in(
             make_key(server, R"({"name":"r","scopes":["read"],"queues":["a"]})", admin).text,
             "/admin/");
       }});
  add("openSession", 401, sign_in("k2"));
  cases.push_back({"openSession", 429, [](ApiClient& server) {
                     for (int i = 0; i < 10; ++i) server.ask(sign_in("k9"));
                     return sign_in("k9");
                   }});
  add("openSession", 422, sign_in("k1", "x"));
  add("closeSession", 204, {.method = "DELETE", .target = "/v1/session", .headers = ours});
  Request bare = sign_in("k1");
  bare.headers = "";
  add("openSession", 403, bare);
  add("closeSession", 403, {.method = "DELETE", .target = "/v1/session"});
  // Where users cannot sign in at all.
  const auto without = [&](std::string operation, Request request) {
    add(std::move(operation), 404, std::move(request));
    cases.back().server = [] { return ServerOptions{.sessions = false}; };
  };
  without("getSession", {.target = "/v1/session"});
  without("openSession", sign_in("k1"));
  without("closeSession", {.method = "DELETE", .target = "/v1/session", .headers = ours});
}

// What was done is written down a moment later.
void wait_for_action(ApiClient& server, const std::string& operation, const Made& key) {
  const Request list{.target = "/v1/actions", .headers = by_key_text(key.text)};
  for (int i = 0; i < 2000 && !server.ask(list).body.contains(operation); ++i) {
  }
}

void add_actions(std::vector<Case>& cases) {
  for (const auto* limit : {"1", "5"}) {
    cases.push_back({"listActions", 200, [limit](ApiClient& server) {
                       const Made admin = make_admin(server);
                       for (int i = 0; i < 2; ++i) server.ask(sign_in(admin.text));
                       wait_for_action(server, "openSession", admin);
                       return Request{.target = std::string("/v1/actions?limit=") + limit,
                                      .headers = by_key_text(admin.text)};
                     }});
  }
  cases.push_back(simple("listActions", 404, {.target = "/v1/actions"}));
  cases.back().server = [] { return ServerOptions{.actions = false}; };
}

void add_alerts(std::vector<Case>& cases) {
  cases.push_back(simple("getAlerts", 200, {.target = "/v1/alerts"}));
  for (const bool alerts : {true, false}) {
    cases.push_back(alerts ? simple("getAlerts", 200, {.target = "/v1/alerts"})
                           : simple("getServer", 200, {.target = "/v1/server"}));
    cases.back().server = [] {
      return ServerOptions{
          .alerter = AlerterOptions{.limits = {.depth = 1, .disk_free = 50},
                                    .disk = [] { return DiskSpace{.free = 5, .total = 100}; }}};
    };
    cases.back().prepare = [](ApiServer& server) {
      server.put();
      server.put();
      server.driver.live(std::chrono::seconds(11));
    };
  }
  cases.push_back(simple("getServer", 200, {.target = "/v1/server"}));
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
  add_keys(cases);
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
