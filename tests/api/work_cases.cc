#include <fmt/format.h>

#include "tests/api/cases.h"

namespace millrace::test {
namespace {

constexpr std::string_view unknown_task = "01890a5d-ac96-774b-bcce-b302099a8057";

Request posted(std::string target, std::string body) {
  return {.method = "POST", .target = std::move(target), .body = std::move(body)};
}

// The four calls about one lease: body with the token in place of {}.
void add_lease_cases(std::vector<Case>& cases, const std::string& operation,
                     const std::string& verb, const std::string& body) {
  const auto ask = [verb, body](std::string_view id, std::string_view token) {
    return posted(fmt::format("/v1/tasks/{}/{}", id, verb), fmt::format(fmt::runtime(body), token));
  };
  cases.push_back({operation, 200, [ask](ApiClient& server) {
                     const auto [id, token] = server.taken();
                     return ask(id, token);
                   }});
  cases.push_back({operation, 409, [ask](ApiClient& server) {
                     return ask(server.taken().first, "00000000000000ff");
                   }});
  cases.push_back(
      {operation, 404, [ask](ApiClient&) { return ask(unknown_task, "00000000000000ff"); }});
  cases.push_back(
      {operation, 400, [ask](ApiClient&) { return ask("nonsense", "00000000000000ff"); }});
  cases.push_back(
      {operation, 422, [ask](ApiClient& server) { return ask(server.taken().first, "no token"); }});
}

void add_beat_cases(std::vector<Case>& cases) {
  const auto beat = [&](unsigned status, const std::string& worker, std::string body) {
    cases.push_back({"beat", status,
                     [target = "/v1/workers/" + worker + "/beat",
                      body = std::move(body)](ApiClient&) { return posted(target, body); }});
  };
  beat(200, "w1", R"({"processors":4,"queues":[{"queue":"emails","processors":2,"most":4,"busy":1,
                      "handled":7,"errors":1,"retried":1,"busy_ms":700,"last_error":"x"}]})");
  beat(200, "w1", R"({"processors":4,"stopping":true})");
  beat(422, "w1", R"({"processors":4,"queues":[{"queue":"no spaces"}]})");
  beat(422, "w1", R"({"processors":4,"queues":[{"queue":"a"},{"queue":"a"}]})");
  beat(422, "w1", R"({"processors":4,"queues":[{}]})");
  beat(422, "$local", R"({"processors":4})");
  beat(400, "w1", R"({"processors":)");
}

// Another key uses the name of the worker.
void add_beat_of_another_key(std::vector<Case>& cases) {
  Case foreign_name{.operation = "beat", .status = 409};
  foreign_name.request = [](ApiClient& server) {
    Request request = posted("/v1/workers/w/beat", R"({"processors":1})");
    request.headers = by_key("one");
    server.ask(request);
    request.headers = by_key("two");
    return request;
  };
  foreign_name.server = [] {
    ServerOptions options;
    options.keys = {{.name = "one", .scopes = {access::Scope::work}, .queues = {"a"}},
                    {.name = "two", .scopes = {access::Scope::work}, .queues = {"b"}}};
    return options;
  };
  cases.push_back(std::move(foreign_name));
}

}  // namespace

std::vector<Case> work_cases() {
  std::vector<Case> cases;
  for (const auto* outcome :
       {R"("outcome":"done","result":[1,{{"a":1.0}}])", R"("outcome":"done","result_text":"x")",
        R"("outcome":"failed","error":{{"code":"c","message":"m","details":{{"a":1}}}})",
        R"("outcome":"retry","delay_ms":10,"error":{{"message":"m"}})",
        R"("outcome":"snooze","at":"2030-01-02T00:00:00Z")", R"("outcome":"cancel","reason":"r")",
        R"("outcome":"give_back")", R"("outcome":"park","delay_ms":5000,"checkpoint":{{"a":1}})",
        R"("outcome":"done","follow_ups":[{{"queue":"next","payload":1}}])"}) {
    add_lease_cases(cases, "settleTask", "settle",
                    std::string(R"({{"token":"{}",)") + outcome + "}}");
  }
  add_lease_cases(cases, "extendTask", "extend",
                  R"({{"token":"{}","lease_ms":5000,"progress":10,"log":["a"],"checkpoint":1}})");
  add_lease_cases(cases, "reportProgress", "progress", R"({{"token":"{}","progress":55.5}})");
  add_lease_cases(cases, "addLogLines", "log", R"({{"token":"{}","lines":["a","b"]}})");

  add_beat_cases(cases);
  add_beat_of_another_key(cases);
  cases.push_back({"take", 200, [](ApiClient& server) {
                     server.put(R"(,"type":"t","tags":["a"],"metadata":{"a":1},"group":"g",
                         "timeout_ms":5000,"client_id":"c","retry":{"base_ms":1},
                         "unique":{"key":"k"},"callback":{"url":"https://example.org"},
                         "keep_for_ms":0,"max_lost":"unlimited",
                         "parent":"01890a5d-ac96-774b-bcce-b302099a8057")");
                     server.put(R"(,"start_by":"2030-01-02T00:00:00Z")");
                     return posted("/v1/take", R"({"worker":"w","queue":"emails","most":10})");
                   }});
  cases.push_back({"take", 200, [](ApiClient&) {
                     return posted("/v1/take", R"({"worker":"w","queues":[{"queue":"a","most":2},
                                                  {"queue":"b"}],"lease_ms":1000})");
                   }});
  cases.push_back({"take", 404,
                   [](ApiClient&) { return posted("/v1/take", R"({"worker":"w","queue":999})"); }});
  cases.push_back({"take", 413, [](ApiClient&) {
                     return posted("/v1/take", R"({"worker":"w","queue":"a","most":1001})");
                   }});
  cases.push_back({"work", 200, [](ApiClient& server) {
                     const auto [id, token] = server.taken();
                     const auto [other, its_token] = server.taken();
                     server.put();
                     return posted("/v1/work", fmt::format(R"({{"worker":"w",
                         "settle":[{{"id":"{}","token":"{}","outcome":"done","result":1}},
                                   {{"id":"{}","token":"00000000000000ff","outcome":"give_back"}}],
                         "extend":[{{"id":"{}","token":"{}","lease_ms":5000}},
                                   {{"id":"{}","token":"00000000000000ff"}}],
                         "take":{{"queue":"emails","most":5}}}})",
                                                           id, token, unknown_task, other,
                                                           its_token, unknown_task));
                   }});
  cases.push_back({"work", 200, [](ApiClient&) {
                     return posted("/v1/work", R"({"worker":"w","take":{"queue":999}})");
                   }});
  cases.push_back({"work", 200, [](ApiClient&) { return posted("/v1/work", "{}"); }});
  cases.push_back({"work", 413, [](ApiClient&) {
                     std::string list;
                     for (int i = 0; i < 1001; ++i) {
                       list += fmt::format(R"({}{{"id":"{}","token":"00000000000000ff"}})",
                                           i == 0 ? "" : ",", unknown_task);
                     }
                     return posted("/v1/work", fmt::format(R"({{"extend":[{}]}})", list));
                   }});
  return cases;
}

}  // namespace millrace::test
