// What the routes do beyond their description: idempotency, lines, origins and hosts, leaving.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/api/api_server.h"

namespace millrace::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

TEST(Routes, unknown_paths_and_methods) {
  ApiServer server;
  for (const auto* path : {"/", "/v1", "/v1/task", "/v1/tasks/", "/v1/tasks//result", "//v1/tasks",
                           "/v1/tasks/a/b/c/d/e/f/g/h", "/v2/tasks"}) {
    EXPECT_EQ(server.ask({.target = path}).status, 404U) << path;
  }
  const Reply reply = server.ask({.method = "DELETE", .target = "/v1/tasks"});
  EXPECT_EQ(reply.status, 405U);
  EXPECT_EQ(reply.headers.at("allow"), "POST, GET, HEAD");
  EXPECT_THAT(reply.body, HasSubstr("method_not_allowed"));
}

TEST(Routes, head_is_get_without_the_body) {
  ApiServer server;
  const std::string id = server.put();
  const Reply got = server.ask({.target = "/v1/tasks/" + id});
  const Reply head = server.ask({.method = "HEAD", .target = "/v1/tasks/" + id});
  EXPECT_EQ(head.status, 200U);
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(head.headers.at("content-length"), std::to_string(got.body.size()));
}

TEST(Routes, request_ids_come_back) {
  ApiServer server;
  Request request{.method = "POST", .target = "/v1/tasks", .body = R"({"queue":"emails"})"};
  request.headers = "X-Request-Id: abc-1\r\n";
  const Reply reply = server.ask(request);
  EXPECT_EQ(reply.headers.at("x-request-id"), "abc-1");
  const Reply task = server.ask({.target = "/v1/tasks/" + member(reply.body, "id")});
  EXPECT_EQ(member(task.body, "request_id"), "abc-1");
  request.headers = "X-Request-Id: " + std::string(200, 'x') + "\r\n";
  const Reply other = server.ask(request);
  EXPECT_LT(other.headers.at("x-request-id").size(), 64U);
  EXPECT_EQ(server.ask({.target = "/v1/tasks/" + member(other.body, "id")}).body.find("request_id"),
            std::string::npos);
}

TEST(Routes, payloads_come_back_byte_for_byte) {
  ApiServer server;
  const std::string payload = R"({ "b" : 1.0,"a":[1e2 , "\u00e9"] })";
  server.must_post("/v1/tasks", R"({"queue":"emails","payload":)" + payload + "}");
  EXPECT_THAT(server.must_post("/v1/take", R"({"queue":"emails"})"),
              HasSubstr("\"payload\":" + payload + ","));
}

TEST(Routes, an_idempotency_key_puts_once) {
  ApiServer server;
  Request request{.method = "POST",
                  .target = "/v1/tasks",
                  .body = R"([{"queue":"emails"},{"nonsense":1},{"queue":"emails"}])",
                  .headers = "Idempotency-Key: k\r\n"};
  server.ask(request);
  EXPECT_EQ(server.driver.queue("emails").counts.total(), 2U);
  // The item in the middle is mended, and the whole list is sent again.
  request.body = R"([{"queue":"emails"},{"queue":"emails"},{"queue":"emails"}])";
  EXPECT_THAT(server.ask(request).body,
              MatchesRegex(".*\"existing\":true.*\"existing\":false.*\"existing\":true.*"));
  EXPECT_EQ(server.driver.queue("emails").counts.total(), 3U);

  request.body = R"({"queue":"emails","unique":{"key":"mine"}})";
  EXPECT_EQ(server.ask(request).status, 422U);
  request.content_type = "application/x-ndjson";
  const Reply lines = server.ask(request);
  EXPECT_EQ(lines.status, 422U);
  EXPECT_THAT(lines.body, HasSubstr(R"("field":"Idempotency-Key")"));
  request.headers = "Idempotency-Key: " + std::string(129, 'k') + "\r\n";
  request.body = R"({"queue":"emails"})";
  request.content_type = "application/json";
  EXPECT_EQ(server.ask(request).status, 400U);
}

TEST(Routes, a_put_that_replaces_says_so_alone_in_a_list_and_in_lines) {
  ApiServer server;
  const auto body = [](int revision) {
    return fmt::format(
        R"({{"queue":"emails","payload":{},"unique":{{"key":"k","on_conflict":"replace"}}}})",
        revision);
  };
  const Reply first = server.post("/v1/tasks", body(1));
  EXPECT_EQ(first.status, 201U);
  EXPECT_THAT(first.body, ::testing::Not(HasSubstr("replaced")));
  const Reply second = server.post("/v1/tasks", body(2));
  EXPECT_EQ(second.status, 200U);
  EXPECT_THAT(second.body, HasSubstr(R"("existing":true,"replaced":true)"));
  const Reply list = server.post("/v1/tasks", fmt::format("[{},{}]", body(3), body(4)));
  EXPECT_THAT(list.body, MatchesRegex(".*\"replaced\":true.*\"replaced\":true.*"));
  const Reply lines = server.ask({.method = "POST",
                                  .target = "/v1/tasks",
                                  .body = body(5) + "\n" + body(6) + "\n",
                                  .content_type = "application/x-ndjson"});
  EXPECT_THAT(lines.body, HasSubstr(R"({"done":{"put":0,"existing":2,"failed":0,"replaced":2}})"));
  EXPECT_EQ(server.driver.queue("emails").counts.total(), 1U);
  EXPECT_THAT(server.must_post("/v1/take", R"({"queue":"emails"})"), HasSubstr("\"payload\":6,"));
}

TEST(Routes, a_bad_on_conflict_is_told_with_its_field) {
  ApiServer server;
  server.must_post("/v1/tasks", R"({"queue":"emails","unique":{"key":"k"}})");
  const auto refused = [&](const std::string& rest, const std::string& field) {
    const Reply reply = server.post("/v1/tasks", R"({"queue":"emails",)" + rest + "}");
    EXPECT_EQ(reply.status, 422U) << reply.body;
    EXPECT_THAT(reply.body, HasSubstr("\"field\":\"" + field + "\"")) << rest;
  };
  refused(R"("unique":{"key":"k","on_conflict":"merge"})", "unique.on_conflict");
  refused(R"("unique":{"key":"k","on_conflict":"postpone"})", "delay_ms");
  refused(R"("unique":{"key":"k","max_delay_ms":5})", "unique.max_delay_ms");
  refused(R"("delay_ms":1,"unique":{"key":"k","on_conflict":"postpone","max_delay_ms":0})",
          "unique.max_delay_ms");
  refused(R"("unique":{"key":"k","scope":"window","window_ms":9,"on_conflict":"replace"})",
          "unique.on_conflict");
  EXPECT_EQ(server.driver.queue("emails").counts.total(), 1U);
}

TEST(Routes, the_type_of_lines_may_be_in_capitals) {
  ApiServer server;
  const Reply reply = server.ask({.method = "POST",
                                  .target = "/v1/tasks",
                                  .body = "{\"queue\":\"emails\"}\n",
                                  .content_type = "Application/X-NDJSON"});
  EXPECT_EQ(reply.status, 200U) << reply.body;
}

TEST(Routes, lines_are_put_as_they_come) {
  ApiServer server;
  RawClient client = server.connect();
  client.send(
      "POST /v1/queues/emails/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
      "application/x-ndjson\r\n"
      "Transfer-Encoding: chunked\r\n\r\n");
  const auto chunk = [&](const std::string& text) {
    client.send(fmt::format("{:x}\r\n{}\r\n", text.size(), text));
  };
  chunk("{\"payload\":1}\n{\"payl");
  EXPECT_THAT(client.read_until("\"existing\":false}\n"), HasSubstr("application/x-ndjson"));
  chunk("oad\":2}\n\nnonsense\n{\"queue\":\"$no\"}\n{\"payload\":3}");
  EXPECT_THAT(client.read_until("\"line\":5"),
              HasSubstr(R"("line":4,"error":{"code":"malformed")"));
  client.send("0\r\n\r\n");
  EXPECT_THAT(client.read_until("\"done\":{\"put\":3,\"existing\":0,\"failed\":2}}\n"),
              HasSubstr("\"state\":\"queued\""));
  EXPECT_EQ(server.driver.queue("emails").counts.total(), 3U);
}

TEST(Routes, a_line_may_be_too_long_and_the_stream_goes_on) {
  ServerOptions options;
  options.api.max_line = 100;
  ApiServer server(std::move(options));
  std::string lines;
  for (int i = 0; i < 2500; ++i) lines += "{\"queue\":\"emails\"}\n";
  lines += "{\"queue\":\"emails\",\"payload\":\"" + std::string(100'000, 'x') + "\"}\n";
  lines += "{\"queue\":\"emails\"}\n" + std::string(101, ' ');
  const Reply reply = server.ask({.method = "POST",
                                  .target = "/v1/tasks",
                                  .body = lines,
                                  .content_type = "application/x-ndjson"});
  EXPECT_THAT(reply.body, HasSubstr(R"({"line":2501,"error":{"code":"too_large")"));
  EXPECT_THAT(reply.body, HasSubstr(R"({"line":2503,"error":{"code":"too_large")"));
  EXPECT_THAT(reply.body, HasSubstr(R"({"done":{"put":2501,"existing":0,"failed":2}})"));
}

TEST(Routes, no_browser_guesses_the_type_of_an_answer) {
  ApiServer server;
  const std::string id = server.settled(R"("outcome":"done","result":"<script>")");
  for (const Request& request :
       {Request{.target = "/v1/tasks/" + id + "/result"}, Request{.target = "/v1/queues/nope"},
        Request{.target = "/nope"}, Request{.target = "/health"}, Request{.target = "/metrics"},
        Request{.method = "DELETE", .target = "/v1/tasks/" + id},
        Request{.method = "POST",
                .target = "/v1/tasks",
                .body = "{\"queue\":\"emails\"}\n",
                .content_type = "application/x-ndjson"}}) {
    const Reply reply = server.ask(request);
    ASSERT_TRUE(reply.headers.contains("x-content-type-options")) << request.target;
    EXPECT_EQ(reply.headers.at("x-content-type-options"), "nosniff");
  }
}

TEST(Routes, pages_of_other_origins_need_a_key) {
  ApiServer server;
  Request request{.method = "POST", .target = "/v1/tasks", .body = R"({"queue":"emails"})"};
  for (const auto* origin :
       {"http://evil.example", "null", "http://localhost:81", "ftp://localhost"}) {
    request.headers = fmt::format("Origin: {}\r\n", origin);
    EXPECT_EQ(server.ask(request).status, 403U) << origin;
  }
  request.headers = "Origin: http://localhost\r\n";
  EXPECT_EQ(server.ask(request).status, 201U);
  request.host = "localhost:80";
  EXPECT_EQ(server.ask(request).status, 201U) << "an Origin leaves the usual port out";
  request.host = "localhost:443";
  EXPECT_EQ(server.ask(request).status, 403U);
  request.host = "localhost";
  request.headers = "Origin: http://evil.example\r\nAuthorization: Basic YTpi\r\n";
  EXPECT_EQ(server.ask(request).status, 403U) << "browsers send passwords by themselves";
  request.headers = "Origin: http://evil.example\r\nAuthorization: Bearer k\r\n";
  EXPECT_EQ(server.ask(request).status, 201U);
}

TEST(Routes, without_keys_only_hosts_that_no_dns_record_can_point_here_are_answered) {
  ApiServer server;
  Request request{.target = "/v1/queues"};
  for (const auto* host :
       {"evil.example", "evil.example:7070", "1.evil.example", "localhost.evil"}) {
    request.host = host;
    const Reply reply = server.ask(request);
    EXPECT_EQ(reply.status, 403U) << host;
    EXPECT_THAT(reply.body, HasSubstr("localhost"));
  }
  for (const auto* host : {"localhost:7070", "127.0.0.1:7070", "[::1]:7070", "a.localhost"}) {
    request.host = host;
    EXPECT_EQ(server.ask(request).status, 200U) << host;
  }
  request.host = "evil.example";
  request.target = "/health";
  EXPECT_EQ(server.ask(request).status, 200U) << "probes may call it what they like";
}

TEST(Routes, names_of_hosts_have_no_case) {
  ApiServer server;
  EXPECT_EQ(server.ask({.target = "/v1/queues", .host = "LOCALHOST:7070"}).status, 200U);
  EXPECT_EQ(server.ask({.target = "/v1/queues", .host = "A.LocalHost"}).status, 200U);
  EXPECT_EQ(server
                .ask({.target = "/v1/queues",
                      .headers = "Origin: HTTP://Localhost\r\n",
                      .host = "LOCALHOST"})
                .status,
            200U);
  EXPECT_EQ(server.ask({.target = "/v1/queues", .host = "EVIL.example"}).status, 403U);
}

TEST(Routes, a_target_may_have_the_host) {
  ApiServer server;
  for (const auto* target :
       {"http://localhost/v1/queues", "HTTP://127.0.0.1:7070/v1/queues", "https://[::1]/health"}) {
    EXPECT_EQ(server.ask({.target = target, .host = "evil.example"}).status, 200U) << target;
  }
  EXPECT_EQ(server.ask({.target = "http://localhost/v1/tasks?limit=5"}).status, 200U);
  EXPECT_EQ(server.ask({.target = "http://localhost/v1/tasks?limit=x"}).status, 400U);
  // The host of the target counts, not that of the header.
  EXPECT_EQ(server.ask({.target = "http://evil.example/v1/queues"}).status, 403U);
  EXPECT_EQ(server.ask({.target = "http://localhost"}).status, 404U);
  for (const auto* target :
       {"ftp://localhost/v1/queues", "http:///v1/queues", "http://a@localhost/v1/queues"}) {
    EXPECT_EQ(server.ask({.target = target}).status, 400U) << target;
  }
}

TEST(Routes, methods_that_are_not_there_are_refused_by_name) {
  ApiServer server;
  const Reply traced = server.ask({.method = "TRACE", .target = "/v1/queues"});
  EXPECT_EQ(traced.status, 405U);
  EXPECT_EQ(traced.headers.at("allow"), "GET, HEAD, POST");
  EXPECT_THAT(traced.body, HasSubstr("TRACE"));
  const Reply nowhere = server.ask({.method = "TRACE", .target = "/nowhere"});
  EXPECT_EQ(nowhere.status, 501U);
  EXPECT_THAT(nowhere.body, HasSubstr(R"("title":"Not Implemented")"));
}

TEST(Routes, a_path_that_is_spelled_out_is_no_task) {
  ApiServer server;
  for (const auto* method : {"GET", "DELETE", "PATCH", "PUT"}) {
    const Reply reply = server.ask({.method = method, .target = "/v1/tasks/actions", .body = "{}"});
    EXPECT_EQ(reply.status, 405U) << method;
    EXPECT_EQ(reply.headers.at("allow"), "POST") << method;
  }
}

TEST(Routes, encoded_bodies_are_refused) {
  ApiServer server;
  Request request{.method = "POST",
                  .target = "/v1/tasks",
                  .body = R"({"queue":"emails"})",
                  .headers = "Content-Encoding: gzip\r\n"};
  const Reply reply = server.ask(request);
  EXPECT_EQ(reply.status, 415U);
  EXPECT_THAT(reply.body, HasSubstr("gzip"));
  request.target = "/v1/queues/emails/pause";
  EXPECT_EQ(server.ask(request).status, 415U);
  request.target = "/v1/tasks";
  request.headers = "Content-Encoding: gzip\r\nContent-Encoding: identity\r\n";
  EXPECT_EQ(server.ask(request).status, 415U);
  request.headers = "Content-Encoding: Identity\r\n";
  EXPECT_EQ(server.ask(request).status, 201U);
}

TEST(Routes, an_empty_body_has_no_type) {
  ApiServer server;
  server.put();
  Request request{.method = "POST",
                  .target = "/v1/queues/emails/pause",
                  .content_type = "application/x-www-form-urlencoded"};
  EXPECT_EQ(server.ask(request).status, 200U);
  request.body = "{}";
  EXPECT_EQ(server.ask(request).status, 415U);
}

// A part of a request that needs more than its route is no request of its own.
TEST(Routes, a_task_that_is_moved_is_one_request) {
  using enum access::Scope;
  ServerOptions options;
  options.keys = {{.name = "mover", .scopes = {put, admin}, .rate = Rate{.max = 3, .per = 1h}},
                  {.name = "putter", .scopes = {put}}};
  ApiServer server(std::move(options));
  const auto send = [&](const std::string& key, Request request) {
    request.headers = by_key(key);
    return server.ask(request);
  };
  const Reply put_one = send("mover", {"POST", "/v1/tasks", R"({"queue":"emails"})"});
  const Request move{.method = "PATCH",
                     .target = "/v1/tasks/" + member(put_one.body, "id"),
                     .body = R"({"queue":"others"})"};
  EXPECT_EQ(send("putter", move).status, 403U);
  EXPECT_EQ(send("mover", move).status, 200U);
  EXPECT_EQ(send("mover", move).status, 200U);
  EXPECT_EQ(send("mover", move).status, 429U);
}

// What was found out for one request is not used for another.
TEST(Routes, each_request_is_checked_once) {
  ServerOptions options;
  options.keys = {
      {.name = "putter", .scopes = {access::Scope::put}, .rate = Rate{.max = 3, .per = 1h}}};
  ApiServer server(std::move(options));
  RawClient client = server.connect();
  Request request{.method = "POST", .target = "/v1/tasks", .body = R"({"queue":"emails"})"};
  request.headers = by_key("putter");
  EXPECT_EQ(client.ask(text_of(request)).status, 201U);
  request.target = "/v1/take";
  EXPECT_EQ(client.ask(text_of(request)).status, 403U);
  request.target = "/v1/tasks";
  request.headers = by_key("other");
  EXPECT_EQ(client.ask(text_of(request)).status, 401U);
  request.headers = "";
  EXPECT_EQ(client.ask(text_of(request)).status, 401U);
  request.headers = by_key("putter");
  EXPECT_EQ(client.ask(text_of(request)).status, 201U) << "the third request of this key";
  EXPECT_EQ(client.ask(text_of(request)).status, 429U);
}

TEST(Routes, a_path_that_cannot_be_decoded_is_malformed) {
  ApiServer server;
  EXPECT_EQ(server.ask({.target = "/v1/queues/%zz"}).status, 400U);
  EXPECT_EQ(server.post("/v1/queues/%zz/tasks", "{}").status, 400U);
  EXPECT_EQ(server.post("/v1/queues/a%2eb/tasks", "{}").status, 201U);
  EXPECT_EQ(server.ask({.target = "/v1/queues/a.b"}).status, 200U);
}

TEST(Routes, patterns_of_queues) {
  using access::matches;
  EXPECT_TRUE(matches("emails", "emails"));
  EXPECT_FALSE(matches("emails", "emails2"));
  EXPECT_TRUE(matches("shop.*", "shop.orders"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("a*b*c", "axxbxbyc"));
  EXPECT_FALSE(matches("a*b*c", "axxbxby"));
  EXPECT_FALSE(matches("", "a"));
}

TEST(Routes, a_worker_that_leaves_gives_back_what_it_waited_for) {
  ApiServer server;
  RawClient client = server.connect();
  client.send(text_of({.method = "POST",
                       .target = "/v1/take",
                       .body = R"({"worker":"w","queue":"emails","wait_ms":60000})"}));
  // Another connection sees it waiting, then it goes.
  while (server.ask({.target = "/v1/workers/w"}).status != 200) {
  }
  client.reset();
  server.put();
  // Whether the leaver was given the task for a moment or not: it is there for the next.
  std::string taken;
  while (taken.find("token") == std::string::npos) {
    taken = server.must_post("/v1/take", R"({"worker":"v","queue":"emails"})");
  }
  EXPECT_THAT(taken, HasSubstr("emails"));
}

TEST(Routes, states_of_the_server) {
  ServerOptions options;
  options.started = false;
  ApiServer server(std::move(options));
  server.api.progress("segment 3 of 17");
  EXPECT_THAT(server.ask({.target = "/v1/queues"}).body, HasSubstr("segment 3 of 17"));
  EXPECT_EQ(server.ask({.target = "/health"}).status, 200U);
  EXPECT_EQ(server.ask({.target = "/nowhere"}).status, 404U);
  EXPECT_EQ(server.ask({.target = "/ready"}).status, 503U);
  server.api.start(*server.driver.broker);
  EXPECT_EQ(server.ask({.target = "/ready"}).body, R"({"status":"ok"})");
  EXPECT_EQ(server.ask({.target = "/v1/queues"}).status, 200U);
  server.api.stop();
  EXPECT_THAT(server.ask({.target = "/v1/queues"}).body, HasSubstr(R"("code":"stopping")"));
}

TEST(Routes, the_description_is_json_with_every_path) {
  ApiServer server;
  const Reply reply = server.ask({.target = "/openapi.json"});
  EXPECT_THAT(reply.body, StartsWith(R"({"openapi":"3.1.0")"));
  EXPECT_EQ(reply.body.find("x-shared"), std::string::npos);
}

}  // namespace
}  // namespace millrace::test
