// What can go wrong between a client and its server, and what the client says then.
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <future>
#include <latch>

#include "tests/api/http_twins.h"
#include "tests/support/http_peer.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const Ask me{.caller = {1}};
constexpr std::string_view html = "Content-Type: text/html; charset=utf-8\r\n";

std::string refusal_of(HttpBrokerOptions options) {
  ManualClock clock;
  const auto opened = HttpBroker::open(clock, std::move(options));
  if (opened) return "accepted";
  EXPECT_EQ(opened.error().code, ErrorCode::invalid);
  return opened.error().message;
}

TEST(HttpBrokerOptions, urls_that_are_none_are_refused) {
  for (const char* url : {"http://localhost", "https://example.org:8443", "http://[::1]:7070",
                          "http://127.0.0.1:7070/"}) {
    EXPECT_EQ(refusal_of({.url = url}), "accepted") << url;
  }
  for (const char* url :
       {"", "localhost:7070", "ftp://localhost", "http://", "http:///", "http://host/path",
        "http://host?x", "http://host#x", "http://ho st", "HTTP:/host", "http://host\r\nX: y"}) {
    EXPECT_THAT(refusal_of({.url = url}), HasSubstr("allowed are http://host:port")) << url;
  }
  EXPECT_THAT(refusal_of({.url = "http://me:secret@host"}),
              AllOf(HasSubstr("password"), Not(HasSubstr("secret"))));
  EXPECT_THAT(refusal_of({.url = "http://host", .key = "mr_x\r\nX: y"}),
              AllOf(HasSubstr("API key"), Not(HasSubstr("mr_x"))));
}

// A broker of a server that answers as a test likes.
class HttpTrouble : public ::testing::Test {
 protected:
  void serve(HttpPeer::Answer answer, HttpBrokerOptions options = {}) {
    peer = std::make_unique<HttpPeer>(std::move(answer));
    options.url = fmt::format("http://127.0.0.1:{}", peer->port());
    broker = must(HttpBroker::open(clock, std::move(options)));
  }
  Result<Task> find() {
    return wait_for_answer<Task>(
        [&](auto done) { broker->find(me, TaskNumber{1}, std::move(done)); });
  }
  Error error() {
    const auto found = find();
    return found ? Error{.message = "found"} : found.error();
  }
  Result<std::vector<Result<Put>>> put(std::vector<NewTask> tasks) {
    return wait_for_answer<std::vector<Result<Put>>>(
        [&](auto done) { broker->put(me, std::move(tasks), std::move(done)); });
  }
  static std::string put_answer(const PeerRequest& request, bool existing) {
    const auto id = request.body.substr(request.body.find("\"id\":\"") + 6, 36);
    return fmt::format(R"({{"tasks":[{{"id":"{}","number":1,"state":"queued","existing":{}}}]}})",
                       id, existing);
  }

  SystemClock clock;
  std::unique_ptr<HttpPeer> peer;
  std::unique_ptr<HttpBroker> broker;
};

TEST_F(HttpTrouble, no_server_is_there) {
  serve([](auto&&...) {});
  const std::uint16_t port = peer->port();
  peer.reset();
  EXPECT_EQ(error().code, ErrorCode::unavailable);
  EXPECT_EQ(error().message,
            fmt::format("could not connect to 127.0.0.1:{}: connection refused", port));
}

TEST_F(HttpTrouble, another_server_is_there) {
  serve([](const PeerRequest&, PeerConnection& connection) {
    connection.answer("<html>hello</html>", "200 OK", html);
  });
  EXPECT_EQ(error().code, ErrorCode::invalid);
  EXPECT_THAT(error().message, AllOf(HasSubstr(fmt::format("127.0.0.1:{}", peer->port())),
                                     HasSubstr("text/html"), HasSubstr("not a Millrace server")));
  serve([](const PeerRequest&, PeerConnection& connection) {
    connection.answer("<html>", "404 Not Found", html);
  });
  EXPECT_EQ(error().code, ErrorCode::invalid);  // not `not_found`: no server looked for the task
  serve([](const PeerRequest&, PeerConnection& connection) {
    connection.answer("", "302 Found", "Location: /login\r\n");
  });
  EXPECT_THAT(error().message, AllOf(HasSubstr("/login"), HasSubstr("not a Millrace server")));
  serve([](const PeerRequest&, PeerConnection& connection) {
    connection.answer(R"({"error":"no such user"})", "404 Not Found");
  });
  EXPECT_EQ(error().code, ErrorCode::invalid);
  serve([](const PeerRequest&, PeerConnection& connection) {
    connection.answer(R"({"hello":"world"})");
  });
  EXPECT_THAT(error().message, HasSubstr("the answer cannot be read: id is missing"));
}

TEST_F(HttpTrouble, a_proxy_in_between_speaks_for_the_server) {
  serve([](const PeerRequest&, PeerConnection& connection) {
    connection.answer("<html>bad gateway</html>", "502 Bad Gateway", html);
  });
  EXPECT_EQ(error().code, ErrorCode::unavailable);
  EXPECT_THAT(error().message, HasSubstr("502"));
  serve([](const PeerRequest&, PeerConnection& connection) {
    connection.answer("slowly", "429 Too Many Requests", "Retry-After: 7\r\n");
  });
  EXPECT_EQ(error().code, ErrorCode::limited);
  EXPECT_EQ(error().retry_after, 7s);
}

TEST_F(HttpTrouble, a_key_goes_with_every_request_and_into_no_message) {
  serve(
      [](const PeerRequest& request, PeerConnection& connection) {
        if (request.headers.at("authorization") != "Bearer mr_secret") return connection.close();
        connection.answer(
            R"({"title":"Unauthorized","status":401,"code":"unauthorized","detail":"no such key"})",
            "401 Unauthorized", "Content-Type: application/problem+json\r\n");
      },
      {.key = "mr_secret"});
  EXPECT_EQ(error().code, ErrorCode::invalid);
  EXPECT_THAT(error().message,
              AllOf(HasSubstr("refused the request: no such key"), Not(HasSubstr("mr_secret"))));
}

TEST_F(HttpTrouble, a_server_that_is_slow) {
  serve([](const PeerRequest&, PeerConnection& connection) { connection.wait_until_gone(); },
        {.timeout = 30ms});
  EXPECT_EQ(error().code, ErrorCode::unavailable);
  EXPECT_THAT(error().message, HasSubstr("did not answer in"));
}

// As many as there are connections may wait, and heartbeats still get through.
TEST_F(HttpTrouble, waiting_takes_are_in_no_ones_way) {
  constexpr std::size_t waiting = 70;
  serve(
      [](const PeerRequest& request, PeerConnection& connection) {
        if (!request.body.contains("\"extend\"")) return connection.wait_until_gone();
        connection.answer(R"({"extended":[{"until":"never"}],"tasks":[]})");
      },
      {.timeout = 20s});
  for (std::size_t i = 0; i < waiting; ++i) {
    broker->await({}, TaskNumber{1}, 1min, [](const Result<Task>&) {});
  }
  ASSERT_TRUE(peer->wait_for_requests(waiting));
  WorkOrder order;
  order.extensions = {{.id = fresh_id(), .token = {1}}};
  const auto result = wait_for_answer<WorkResult>(
      [&](auto done) { broker->work(me, std::move(order), std::move(done)); });
  EXPECT_TRUE(result) << result.error().message;
}

TEST_F(HttpTrouble, a_heartbeat_that_hangs_leaves_time_for_another) {
  serve([](const PeerRequest&, PeerConnection& connection) { connection.wait_until_gone(); },
        {.timeout = 1h, .heartbeat_timeout = 30ms});
  WorkOrder order;
  order.extensions = {{.id = fresh_id(), .token = {1}}};
  const auto result = wait_for_answer<WorkResult>(
      [&](auto done) { broker->work(me, std::move(order), std::move(done)); });
  EXPECT_EQ(result.error().code, ErrorCode::unavailable);
}

TEST_F(HttpTrouble, the_time_a_take_may_wait_is_not_counted) {
  serve(
      [](const PeerRequest& request, PeerConnection& connection) {
        if (!request.body.contains(R"("wait_ms":60000)")) return connection.close();
        connection.answer(R"({"tasks":[]})");
      },
      {.timeout = 10s});
  WorkOrder order;
  order.takes = {{.worker = "w", .queues = {{std::string("q"), 1}}}};
  order.wait = 24h;
  const auto result = wait_for_answer<WorkResult>(
      [&](auto done) { broker->work(me, std::move(order), std::move(done)); });
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->taken.size(), 1U);
}

// What has ended is kept and sent again, unless the server says that it makes no sense.
TEST_F(HttpTrouble, results_are_not_refused_by_who_has_not_looked_at_them) {
  constexpr std::string_view problem = "Content-Type: application/problem+json\r\n";
  std::string body;
  std::string status;
  std::string headers;
  serve([&](const PeerRequest&, PeerConnection& connection) {
    connection.answer(body, status, headers);
  });
  const auto code_of = [&](std::string_view with, std::string_view text, std::string_view head) {
    status = with, body = text, headers = head;
    WorkOrder order;
    order.reports = {{.id = fresh_id(), .token = {1}, .outcome = Done{}}};
    const auto result = wait_for_answer<WorkResult>(
        [&](auto done) { broker->work(me, std::move(order), std::move(done)); });
    return result ? ErrorCode{} : result.error().code;
  };
  constexpr auto away = ErrorCode::unavailable;
  EXPECT_EQ(code_of("401 Unauthorized", R"({"code":"unauthorized","detail":"d"})", problem), away);
  EXPECT_EQ(code_of("403 Forbidden", R"({"code":"forbidden","detail":"d"})", problem), away);
  EXPECT_EQ(code_of("405 No", R"({"code":"method_not_allowed","detail":"d"})", problem), away);
  EXPECT_EQ(code_of("404 Not Found", "<html>", html), away);
  EXPECT_EQ(code_of("401 Unauthorized", "<html>", html), away);
  EXPECT_EQ(code_of("302 Found", "", "Location: /login\r\n"), away);
  EXPECT_EQ(code_of("200 OK", "<html>", html), away);
  // About what was sent.
  EXPECT_EQ(code_of("422 No", R"({"code":"invalid","detail":"d"})", problem), ErrorCode::invalid);
  EXPECT_EQ(code_of("400 No", R"({"code":"malformed","detail":"d"})", problem), ErrorCode::invalid);
  EXPECT_EQ(code_of("403 No", R"({"code":"forbidden","detail":"d","field":"follow_ups"})", problem),
            ErrorCode::invalid);
  EXPECT_EQ(code_of("413 Too Large", "<html>", html), ErrorCode::too_large);
  EXPECT_EQ(error().code, ErrorCode::too_large);
}

TEST_F(HttpTrouble, a_take_that_is_forbidden_keeps_no_result_from_being_stored) {
  serve([](const PeerRequest& request, PeerConnection& connection) {
    if (request.body.contains("\"take\"")) {
      return connection.answer(R"({"code":"forbidden","detail":"not that queue"})", "403 Forbidden",
                               "Content-Type: application/problem+json\r\n");
    }
    connection.answer(R"({"settled":[{"status":"applied","state":"completed"}],"tasks":[]})");
  });
  WorkOrder order;
  order.reports = {{.id = fresh_id(), .token = {1}, .outcome = Done{}}};
  order.takes = {{.worker = "w", .queues = {{std::string("q"), 1}}}};
  const auto result = wait_for_answer<WorkResult>(
      [&](auto done) { broker->work(me, std::move(order), std::move(done)); });
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->settled.at(0)->state, TaskState::completed);
  EXPECT_THAT(result->taken.at(0).error().message, HasSubstr("not that queue"));
}

TEST_F(HttpTrouble, a_put_that_got_no_answer_is_sent_again) {
  std::atomic<int> count = 0;
  serve([&](const PeerRequest& request, PeerConnection& connection) {
    if (++count < 3) return connection.close();
    connection.answer(put_answer(request, true));
  });
  const auto puts = put({{.queue = std::string("q")}});
  ASSERT_TRUE(puts) << puts.error().message;
  EXPECT_FALSE(puts->front()->existing);  // it is there because of this very put
  const auto requests = peer->requests();
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[0].body, requests[2].body);

  count = 2;
  const auto theirs = put({task("q")});
  EXPECT_TRUE(theirs->front()->existing);  // the id may be another caller's
}

TEST_F(HttpTrouble, a_put_is_not_sent_for_ever) {
  serve([](const PeerRequest&, PeerConnection& connection) { connection.close(); });
  EXPECT_EQ(put({task("q")}).error().code, ErrorCode::unavailable);
  EXPECT_EQ(peer->requests().size(), 3U);
}

TEST_F(HttpTrouble, a_put_that_was_refused_is_not_sent_again) {
  serve([](const PeerRequest&, PeerConnection& connection) {
    connection.answer(R"({"code":"stopping","detail":"soon back","retry_after_ms":1000})",
                      "503 Service Unavailable", "Content-Type: application/problem+json\r\n");
  });
  EXPECT_EQ(put({task("q")}).error(), (Error{ErrorCode::unavailable, "soon back"}));
  EXPECT_EQ(peer->requests().size(), 1U);
}

TEST_F(HttpTrouble, work_is_not_sent_again) {
  serve([](const PeerRequest&, PeerConnection& connection) { connection.close(); });
  WorkOrder order;
  order.takes = {{.worker = "w", .queues = {{std::string("q"), 1}}}};
  const auto result = wait_for_answer<WorkResult>(
      [&](auto done) { broker->work(me, std::move(order), std::move(done)); });
  EXPECT_EQ(result.error().code, ErrorCode::unavailable);
  EXPECT_EQ(peer->requests().size(), 1U);
}

TEST_F(HttpTrouble, an_answer_that_is_cut_in_the_middle) {
  serve([](const PeerRequest&, PeerConnection& connection) {
    connection.send(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n{\"id\":");
    connection.close();
  });
  EXPECT_EQ(error().code, ErrorCode::unavailable);
  EXPECT_THAT(error().message, HasSubstr("was lost before its answer was complete"));
}

TEST_F(HttpTrouble, tasks_that_come_with_one_of_several_takes_survive_the_others) {
  std::atomic<int> count = 0;
  serve([&](const PeerRequest&, PeerConnection& connection) {
    if (++count > 1) return connection.close();
    connection.answer(
        R"({"tasks":[{"id":"01890a5d-ac96-774b-bcce-b302099a8058","token":"0000000000000001",
        "until":"never","queue":"q"}]})");
  });
  WorkOrder order;
  order.takes.resize(3, {.worker = "w", .queues = {{std::string("q"), 1}}});
  const auto result = wait_for_answer<WorkResult>(
      [&](auto done) { broker->work(me, std::move(order), std::move(done)); });
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->taken.size(), 3U);
  EXPECT_EQ(result->taken[0]->size(), 1U);
  EXPECT_EQ(result->taken[1].error().code, ErrorCode::unavailable);
  EXPECT_EQ(result->taken[2].error().code, ErrorCode::unavailable);
}

TEST_F(HttpTrouble, some_of_many_tasks_fail_on_their_own) {
  serve([](const PeerRequest& request, PeerConnection& connection) {
    if (request.target.ends_with("1/cancel")) return connection.close();
    connection.answer(R"({"id":"x","state":"cancelled"})");
  });
  std::vector<TaskId> ids(40);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ids[i].value.bytes[15] = static_cast<std::uint8_t>(i % 4 == 0 ? 1 : 2);
  }
  const auto states = wait_for_answer<Broker::States>(
      [&](auto done) { broker->cancel(me, ids, "x", std::move(done)); });
  ASSERT_TRUE(states) << states.error().message;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ((*states)[i].has_value(), i % 4 != 0) << i;
  }
}

TEST_F(HttpTrouble, many_tasks_are_asked_for_eight_at_a_time) {
  std::latch eight(8);
  std::array<std::atomic<bool>, 8> arrived{};
  serve([&](const PeerRequest& request, PeerConnection& connection) {
    const std::size_t place = request.connection;
    if (place < 8 && !arrived[place].exchange(true)) eight.arrive_and_wait();
    connection.answer(R"({"id":"x","state":"queued"})");
  });
  const auto states = wait_for_answer<Broker::States>(
      [&](auto done) { broker->retry(me, std::vector<TaskId>(100, fresh_id()), std::move(done)); });
  ASSERT_TRUE(states) << states.error().message;
  EXPECT_EQ(peer->requests().size(), 100U);
  EXPECT_EQ(peer->connections(), 8U);
}

TEST_F(HttpTrouble, thousands_may_be_refused_at_once) {
  serve([](const PeerRequest&, PeerConnection& connection) { connection.close(); });
  const std::vector<TaskId> ids(100'000);
  const auto states = wait_for_answer<Broker::States>(
      [&](auto done) { broker->retry({.internal = true}, ids, std::move(done)); });
  ASSERT_TRUE(states) << states.error().message;
  EXPECT_EQ(states->size(), ids.size());
  EXPECT_EQ(states->back().error().code, ErrorCode::invalid);
  EXPECT_TRUE(peer->requests().empty());
}

TEST_F(HttpTrouble, what_is_under_way_ends_with_the_broker) {
  serve([](const PeerRequest&, PeerConnection& connection) { connection.wait_until_gone(); });
  std::promise<ErrorCode> ended;
  broker->put(me, {task("q")}, [&](const Result<std::vector<Result<Put>>>& puts) {
    ended.set_value(puts ? ErrorCode{} : puts.error().code);
  });
  ASSERT_TRUE(peer->wait_for_requests(1));
  broker.reset();
  EXPECT_EQ(ended.get_future().get(), ErrorCode::unavailable);
}

TEST_F(HttpTrouble, tasks_for_who_has_left_are_given_back) {
  serve([&](const PeerRequest& request, PeerConnection& connection) {
    if (request.body.contains("give_back")) {
      return connection.answer(R"({"settled":[{"status":"applied","state":"queued"}],"tasks":[]})");
    }
    connection.answer(
        R"({"tasks":[{"id":"01890a5d-ac96-774b-bcce-b302099a8058","token":"0000000000000001",
        "until":"never","queue":"q"}]})");
  });
  // Answered and left at about the same time: either the connection was cut, or it is told.
  for (int i = 0; i < 50; ++i) {
    const CallerId caller = broker->new_caller();
    WorkOrder order;
    order.takes = {{.worker = "w", .queues = {{std::string("q"), 1}}}};
    auto taken = std::make_shared<std::atomic<bool>>(false);
    broker->work({.caller = caller}, std::move(order),
                 [taken](const Result<WorkResult>&) { *taken = true; });
    broker->leave(caller);
  }
  EXPECT_FALSE(find().has_value());  // it goes on
}

// ---- A server that comes and goes --------------------------------------------------------------

TEST(HttpRestart, a_server_may_come_back) {
  SystemClock clock;
  const auto ok = [](const PeerRequest& request, PeerConnection& connection) {
    if (request.method != "GET") return connection.close();
    connection.answer(R"({"workers":[]})");
  };
  auto peer = std::make_unique<HttpPeer>(ok);
  const std::uint16_t port = peer->port();
  auto broker = must(HttpBroker::open(clock, {.url = fmt::format("http://127.0.0.1:{}", port)}));
  const auto workers = [&] {
    return wait_for_answer<std::vector<WorkerView>>(
        [&](auto done) { broker->workers(me, std::move(done)); });
  };
  EXPECT_TRUE(workers().has_value());
  peer.reset();
  EXPECT_EQ(workers().error().code, ErrorCode::unavailable);
  peer = std::make_unique<HttpPeer>(ok, std::nullopt, port);
  const auto again = workers();
  EXPECT_TRUE(again.has_value()) << again.error().message;
}

}  // namespace
}  // namespace millrace::test
