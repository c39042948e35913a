// The field of a refusal: the value that was wrong, by the name it has in the request.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/api/api_server.h"

namespace millrace::test {
namespace {

using ::testing::HasSubstr;

// Asks, and the field of the refusal.
std::string refused_field(ApiServer& server, const Request& request) {
  const Reply reply = server.ask(request);
  EXPECT_EQ(reply.status, 422U) << request.target << request.body << reply.body;
  return member(reply.body, "field");
}

struct Wrong {
  std::string target;
  std::string body;
  std::string field;
};

void expect_fields(ApiServer& server, const std::string& method, const std::vector<Wrong>& all) {
  for (const auto& [target, body, field] : all) {
    EXPECT_EQ(refused_field(server, {.method = method, .target = target, .body = body}), field)
        << target << body;
  }
}

TEST(Refusals, have_the_field_that_is_wrong) {
  ApiServer server;
  server.put();
  expect_fields(
      server, "POST",
      {{"/v1/tasks", R"({"queue":"a b"})", "queue"},
       {"/v1/tasks", R"({"queue":"17"})", "queue"},
       {"/v1/tasks", R"({"queue":"$bulk"})", "queue"},
       {"/v1/queues/a%20b/tasks", "{}", "queue"},
       {"/v1/tasks", R"({"queue":"q","type":"$x"})", "type"},
       {"/v1/tasks", R"({"queue":"q","retry":{"factor":0.5}})", "retry.factor"},
       {"/v1/tasks", R"({"queue":"q","callback":{"url":"http://a:0"}})", "callback.url"},
       {"/v1/tasks", R"({"queue":"q","unique":{"key":""}})", "unique.key"},
       {"/v1/tasks", R"({"queue":"q","group":"a\u0001"})", "group"},
       {"/v1/tasks", R"({"queue":"q","tags":["b","a\u0001"]})", "tags[1]"},
       {"/v1/tasks", R"({"queue":"q","start_by":"9000-01-01T00:00:00Z"})", "start_by"},
       {"/v1/queues", R"({"name":"q","batch_size":1001})", "batch_size"},
       {"/v1/queues", R"({"name":"q r"})", "name"},
       {"/v1/queues", R"({"name":"17"})", "name"},
       {"/v1/queues", R"({"name":"q","put_rate":{"max":1,"per_ms":0}})", "put_rate.per_ms"},
       {"/v1/queues", R"({"name":"q","types":[{"type":"a"},{"type":"a"}]})", "types[1].type"},
       {"/v1/queues", R"({"name":"q","types":[{"type":"a","timeout_ms":0}]})",
        "types[0].timeout_ms"},
       {"/v1/schedules", R"({"name":"s","rule":{"cron":"x"},"task":{"queue":"q"}})", "rule.cron"},
       {"/v1/schedules", R"({"name":"s","rule":{"every_ms":1},"task":{"queue":"q"}})",
        "rule.every_ms"},
       {"/v1/schedules", R"({"name":"s","rule":{"cron":"@daily","zone":"X"},"task":{"queue":"q"}})",
        "rule.zone"},
       {"/v1/schedules", R"({"name":"s","rule":{"cron":"@daily"},"task":{"queue":"a b"}})",
        "task.queue"},
       {"/v1/schedules", R"({"name":"s","rule":{"cron":"@daily"},"task":{"queue":"$bulk"}})",
        "task.queue"},
       {"/v1/take", R"({"queue":"q","worker":"$local"})", "worker"},
       {"/v1/take", R"({"queue":"a b"})", "queue"},
       {"/v1/take", R"({"queues":[{"queue":"q"},{"queue":"a b"}]})", "queues[1].queue"},
       {"/v1/take", R"({"queue":"q","lease_ms":1})", "lease_ms"},
       {"/v1/workers/w/beat", R"({"processors":1,"queues":[{"queue":"a b"}]})", "queues[0].queue"},
       {"/v1/workers/$w/beat", R"({"processors":1})", "name"},
       {"/v1/keys", R"({"name":"k","scopes":["put"]})", "scopes"},
       {"/v1/keys", R"({"name":"k","scopes":["admin"],"queues":["a b"]})", "queues[0]"},
       {"/v1/bulk", R"({"action":"move","filter":{"queue":"emails"},"to":"a b"})", "to"},
       {"/v1/bulk", R"({"action":"remove","filter":{"queue":"q"},"dry_run":null})", "dry_run"}});
  const std::string emails = "/v1/queues/emails";
  expect_fields(server, "PATCH",
                {{emails, R"({"weight":0})", "weight"},
                 {emails, R"({"retry":{"base_ms":"x"}})", "retry.base_ms"},
                 {emails, R"({"id":null})", "id"},
                 {emails, "[]", "body"}});
  expect_fields(server, "PUT", {{"/v1/queues/a%20b", "{}", "name"}});
}

TEST(Refusals, of_null_where_a_value_is_meant_name_it) {
  ApiServer server;
  server.put();
  const auto [id, token] = server.taken();
  const std::string task = "/v1/tasks/" + id;
  const std::string held = "{\"token\":\"" + token + "\",";
  expect_fields(server, "POST",
                {{task + "/extend", held + R"("checkpoint":null})", "checkpoint"},
                 {task + "/settle", held + R"("outcome":"snooze","delay_ms":1,"checkpoint":null})",
                  "checkpoint"},
                 {"/v1/work",
                  R"({"extend":[{"id":")" + id + "\"," + held.substr(1) + R"("checkpoint":null}]})",
                  "extend[0].checkpoint"},
                 {task + "/release", R"({"data":null})", "data"},
                 {task + "/release", R"({"data":null,"data_text":"x"})", "data"},
                 {task + "/release", R"({"expect_version":-1})", "expect_version"}});
  EXPECT_THAT(server.post(task + "/release", R"({"data":null})").body,
              HasSubstr("data is null; allowed is any JSON value but null"));
  EXPECT_THAT(server.post(task + "/release", R"({"expect_version":null})").body,
              HasSubstr("expect_version is null; allowed is a value, or to leave it out"));
  // The other forms are strings, for which null means nothing, as everywhere.
  EXPECT_EQ(server.post(task + "/extend", held + R"("checkpoint_text":null})").status, 200U);
}

TEST(Refusals, of_values_in_several_forms_name_them_all) {
  ApiServer server;
  const auto said = [&](const std::string& body) {
    return server.post("/v1/tasks/01890a5d-ac96-774b-bcce-b302099a8057/release", body).body;
  };
  EXPECT_THAT(said(R"({"dat":1})"),
              HasSubstr("known here are data, data_text, data_base64, expect_version"));
  EXPECT_THAT(said(R"({"data":1,"data_text":"x"})"),
              HasSubstr("data_text is one too many; only one of data, data_text and data_base64 "
                        "may be given"));
  EXPECT_THAT(server.post("/v1/tasks", R"({"queue":"q","metadat":{}})").body,
              HasSubstr("payload, payload_text, payload_base64, content_type"));
  EXPECT_THAT(server.post("/v1/tasks", R"({"queue":"q","metadata":{},"metadata":{}})").body,
              HasSubstr("metadata is given twice; give it once"));
}

// Items of a list are named by their place in it.
TEST(Refusals, in_a_list_have_their_place_in_it) {
  ApiServer server;
  const auto fields_in = [&](const std::string& target, const std::string& body) {
    const Reply reply = server.post(target, body);
    EXPECT_EQ(reply.status, 200U) << reply.body;
    return reply.body;
  };
  EXPECT_THAT(fields_in("/v1/tasks", R"([{"queue":"q"},{"queue":"a b"}])"),
              HasSubstr(R"("field":"tasks[1].queue")"));
  EXPECT_THAT(fields_in("/v1/work", R"({"take":{"queue":"a b"}})"),
              HasSubstr(R"("field":"take.queue")"));
  EXPECT_THAT(fields_in("/v1/work", R"({"worker":"a\u0001","take":{"queue":"q"}})"),
              HasSubstr(R"("field":"worker")"));
  const std::string id = "01890a5d-ac96-774b-bcce-b302099a8057";
  EXPECT_THAT(fields_in("/v1/work", R"({"extend":[{"id":")" + id +
                                        R"(","token":"00000001000000ff","progress":101}]})"),
              HasSubstr(R"("field":"extend[0].progress")"));
}

}  // namespace
}  // namespace millrace::test
