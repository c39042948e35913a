// What the listener does with peers that send too much, too slowly, or nonsense.
#include <sys/resource.h>
#include <unistd.h>

#include <thread>

#include "api/server/listener.h"
#include "tests/support/served.h"

namespace millrace::api {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr std::string_view get_a = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";

using LimitsTest = ServedTest;

void expect_end(test::RawClient& client, test::Reply reply, unsigned status,
                std::string_view detail) {
  EXPECT_EQ(reply.status, status) << reply.head;
  EXPECT_THAT(reply.body, HasSubstr(std::string(detail)));
  EXPECT_EQ(reply.headers["connection"], "close");
  EXPECT_TRUE(client.ends());
}

TEST_F(LimitsTest, a_body_that_is_announced_too_large_is_refused_before_it_comes) {
  serve();
  Client client = connect();
  expect_end(client, client.ask("POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 17\r\n\r\n"),
             413, "16 bytes at most here, and has 17");
  Client fits = connect();
  EXPECT_EQ(
      fits.ask("POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 16\r\n\r\n0123456789abcdef")
          .status,
      200U);
}

TEST_F(LimitsTest, the_answer_413_arrives_although_the_body_is_being_sent) {
  serve();
  Client client = connect();
  const std::string body(4 << 20, 'x');
  client.send(
      fmt::format("POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", body.size()));
  client.send(body);
  expect_end(client, client.reply(), 413, "16 bytes");
}

TEST_F(LimitsTest, a_chunked_body_is_refused_when_it_becomes_too_large) {
  serve();
  const std::string head = "POST /small HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  Client at_once = connect();
  expect_end(at_once, at_once.ask(head + "ffffffffffffffff\r\n"), 413, "16 bytes");
  Client bit_by_bit = connect();
  expect_end(bit_by_bit, bit_by_bit.ask(head + "8\r\n01234567\r\n8\r\n01234567\r\n1\r\n"), 413,
             "16 bytes");
}

// Whether the listener has received so many bytes of unfinished bodies. Each answer to another peer
// gives it a turn to read.
bool receives(const Listener& listener, std::uint64_t least, std::uint64_t most) {
  for (int turn = 0; turn < 10'000; ++turn) {
    const std::uint64_t now = listener.counts().bodies;
    if (now >= least && now <= most) return true;
    EXPECT_EQ(test::RawClient(listener.port()).ask(get_a).status, 200U);
  }
  return false;
}

// The head and all but the last bytes of a body, which have come when it returns.
test::RawClient half_sent(const Listener& listener, std::size_t bytes) {
  test::RawClient client(listener.port());
  client.send(fmt::format("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", bytes));
  client.send(std::string(bytes - 4, 'x'));
  EXPECT_TRUE(receives(listener, bytes - 4, 2 * bytes));
  return client;
}

TEST_F(LimitsTest, bodies_that_are_being_received_are_bounded_for_all_together) {
  serve({.bodies = 16U << 20U});
  Client first = half_sent(*listener_, 8U << 20U);
  Client second = connect();
  second.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 8388608\r\n\r\n");
  second.send(std::string((8U << 20U) - 4, 'x'));
  expect_end(second, second.reply(), 503, "too many large requests");
  EXPECT_LE(listener_->counts().bodies, 16U << 20U);
  Client small = connect();
  EXPECT_EQ(small.ask("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n0123").status, 200U);
  EXPECT_EQ(first.ask("last").status, 200U) << "what has come first is read to its end";
  EXPECT_EQ(listener_->counts().bodies, 0U);
  EXPECT_EQ(first.ask(get_a).status, 200U);
}

TEST_F(LimitsTest, a_body_whose_peer_leaves_gives_its_room_back) {
  serve({.bodies = 16U << 20U});
  {
    const Client leaves = half_sent(*listener_, 8U << 20U);
  }
  EXPECT_TRUE(receives(*listener_, 0, 0));
}

TEST_F(LimitsTest, a_large_head_is_refused_however_it_comes) {
  serve({.header_bytes = 8192});
  Client one_header = connect();
  one_header.send("GET /a HTTP/1.1\r\nHost: x\r\nA: " + std::string(9000, 'a'));
  expect_end(one_header, one_header.reply(), 431, "8192 bytes");
  Client one_target = connect();
  one_target.send("GET /" + std::string(9000, 'a'));
  expect_end(one_target, one_target.reply(), 431, "8192 bytes");
  // Each header is read as it comes, so that all of them together have to be counted.
  Client many = connect();
  many.send("GET /a HTTP/1.1\r\nHost: x\r\n");
  for (int i = 0; i < 200; ++i) many.send("A: " + std::string(50, 'a') + "\r\n");
  expect_end(many, many.reply(), 431, "8192 bytes");
  Client blank = connect();
  blank.send(std::string(9000, '\n'));
  expect_end(blank, blank.reply(), 431, "8192 bytes");
  // Just under the limit is fine.
  Client fits = connect();
  EXPECT_EQ(
      fits.ask("GET /a HTTP/1.1\r\nHost: x\r\nA: " + std::string(8100, 'a') + "\r\n\r\n").status,
      200U);
  EXPECT_EQ(fits.ask(get_a).status, 200U);
}

TEST_F(LimitsTest, an_endless_line_inside_a_chunked_body_is_refused) {
  serve();
  Client client = connect();
  client.send("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;");
  std::jthread sender([&] { client.send(std::string(100'000, 'x')); });
  EXPECT_EQ(client.reply().status, 400U);
}

// S0: a peer that sends a byte now and then holds nothing for long.
TEST_F(LimitsTest, a_head_must_come_in_time_even_if_bytes_keep_coming) {
  serve();
  Client client = connect();
  client.send("GET /a HT");
  EXPECT_EQ(connect().ask(get_a).status, 200U);  // so the bytes before it have been read
  for (int i = 0; i < 9; ++i) {
    clock_.advance(1s);
    client.send("T");
  }
  client.wait_at_most(50ms);
  EXPECT_EQ(client.reply().status, 0U);
  client.wait_at_most(10s);
  clock_.advance(2s);
  expect_end(client, client.reply(), 408, "head");
}

TEST_F(LimitsTest, a_body_must_make_progress) {
  serve();
  Client silent = connect();
  silent.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
  Client trickling = connect();
  trickling.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
  Client slow = connect();
  slow.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
  ASSERT_EQ(connect().ask(get_a).status, 200U);
  for (int i = 0; i < 3; ++i) {
    clock_.advance(9s);
    trickling.send("x");
    slow.send(std::string(25'000, 'x'));
    ASSERT_EQ(connect().ask(get_a).status, 200U);
  }
  clock_.advance(9s);
  expect_end(silent, silent.reply(), 408, "body");
  expect_end(trickling, trickling.reply(), 408, "body");
  slow.send(std::string(25'000, 'x'));
  EXPECT_EQ(slow.reply().status, 200U);
}

TEST_F(LimitsTest, idle_connections_are_closed_and_parked_ones_are_not) {
  serve();
  Client fresh = connect();
  Client used = connect();
  EXPECT_EQ(used.ask(get_a).status, 200U);
  Client parked_one = connect();
  parked_one.send("GET /park HTTP/1.1\r\nHost: x\r\n\r\n");
  Respond respond = parked();
  clock_.advance(74s);
  EXPECT_EQ(used.ask(get_a).status, 200U);
  ASSERT_EQ(connect().ask(get_a).status, 200U);  // so the one before is idle again
  clock_.advance(2s);
  EXPECT_TRUE(fresh.ends());
  EXPECT_EQ(used.ask(get_a).status, 200U);
  ASSERT_EQ(connect().ask(get_a).status, 200U);
  clock_.advance(76s);
  EXPECT_TRUE(used.ends());
  respond({.body = "late"});
  EXPECT_EQ(parked_one.reply().body, "late");
}

// Only a real timer would show that a limit also works without a test's clock.
TEST_F(LimitsTest, limits_work_with_the_clock_of_the_machine) {
  SystemClock clock;
  NoHandler handler;
  auto started =
      Listener::start({.port = 0, .limits = {.idle = 60ms, .header = 50ms}}, handler, clock);
  ASSERT_TRUE(started.has_value());
  Client idle((*started)->port());
  Client slow((*started)->port());
  slow.send("GET");
  EXPECT_TRUE(idle.ends());
  EXPECT_EQ(slow.reply().status, 408U);
}

TEST_F(LimitsTest, a_peer_that_does_not_read_is_given_up) {
  serve();
  Client client = connect();
  client.shrink_window();
  client.send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_FALSE(client.read_until("\r\n\r\n").empty());
  ASSERT_EQ(connect().ask(get_a).status, 200U);
  clock_.advance(31s);
  EXPECT_TRUE(eventually([this] { return undelivered_ == 1; }));
  EXPECT_TRUE(eventually([this] { return closed_.size() == 2; }));
}

TEST_F(LimitsTest, an_answer_larger_than_all_buffers_arrives_whole) {
  serve();
  Client client = connect();
  Reply reply = client.ask("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(reply.body.size(), 32U << 20);
  EXPECT_EQ(client.ask(get_a).status, 200U);
  EXPECT_EQ(undelivered_count(), 0U);
}

TEST_F(LimitsTest, connections_over_the_limit_are_told_so) {
  serve({.connections = 3});
  std::vector<Client> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(connect());
    ASSERT_EQ(clients.back().ask(get_a).status, 200U);
  }
  Client over = connect();
  over.send(get_a);
  expect_end(over, over.reply(), 503, "too many connections");
  EXPECT_EQ(listener_->counts().refused, 1U);
  over.close();
  clients.pop_back();
  ASSERT_TRUE(eventually([this] { return closed_.size() == 1; }));
  // The refused connection counts until the listener has seen it leave.
  for (int i = 0; i < 1000; ++i) {
    if (connect().ask(get_a).status == 200U) return;
  }
  FAIL() << "no connection was let in again";
}

TEST(Files, connections_leave_those_that_are_reserved) {
  const auto fitted = [](std::size_t wanted, std::uint64_t files, std::uint64_t reserved) {
    ListenerLimits limits{.connections = wanted};
    fit_into_files(limits, files, reserved);
    return std::pair(limits.connections, limits.refusals);
  };
  EXPECT_EQ(fitted(20'000, 1'048'576, 424), std::pair(std::size_t{20'000}, std::size_t{256}));
  EXPECT_EQ(fitted(20'000, 1024, 424), std::pair(std::size_t{525}, std::size_t{75}));
  EXPECT_EQ(fitted(300, 1024, 424), std::pair(std::size_t{300}, std::size_t{256}));
  EXPECT_EQ(fitted(400, 1024, 424), std::pair(std::size_t{400}, std::size_t{75}));
  EXPECT_EQ(fitted(20'000, 64, 424), std::pair(std::size_t{28}, std::size_t{4}));
  EXPECT_EQ(fitted(20'000, 1, 424).first, 1U);
}

TEST_F(LimitsTest, connections_far_over_the_limit_are_closed_without_a_word) {
  serve({.connections = 1, .refusals = 1});
  Client one = connect();
  ASSERT_EQ(one.ask(get_a).status, 200U);
  Client told = connect();
  EXPECT_EQ(told.reply().status, 503U);
  Client untold = connect();
  EXPECT_TRUE(untold.ends());
  EXPECT_EQ(listener_->counts().refused, 2U);
  EXPECT_EQ(one.ask(get_a).status, 200U);
}

TEST_F(LimitsTest, when_files_run_out_connections_wait_until_there_are_some) {
  serve();
  Client first = connect();
  ASSERT_EQ(first.ask(get_a).status, 200U);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(first.socket()) + 40;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  std::vector<int> fillers;
  for (int file = ::dup(first.socket()); file >= 0; file = ::dup(first.socket())) {
    fillers.push_back(file);
  }
  ASSERT_FALSE(fillers.empty());
  ::close(fillers.back());  // one file for the client's end, none for the server's
  fillers.pop_back();
  Client waiting = connect();
  waiting.send(get_a);
  waiting.wait_at_most(50ms);
  EXPECT_EQ(waiting.reply().status, 0U);
  EXPECT_EQ(first.ask(get_a).status, 200U);
  for (const int file : fillers) ::close(file);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  waiting.wait_at_most(10s);
  EXPECT_EQ(waiting.reply().status, 200U);
  EXPECT_EQ(connect().ask(get_a).status, 200U);
}

TEST_F(LimitsTest, what_is_not_http_is_answered_400) {
  serve();
  const std::string host = "Host: x\r\n";
  for (const std::string& bad : std::vector<std::string>{
           "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello of TLS\r\n\r\n",
           "hello\r\n\r\n",
           "GET /a HTTP/2.0\r\n" + host + "\r\n",
           "GET /a HTTP/1.1\r\n\r\n",                     // no Host
           "GET /a HTTP/1.1\r\n" + host + host + "\r\n",  // two of them
           "GET /a HTTP/1.1\r\n" + host + "Bad Name: x\r\n\r\n",
           "GET /a HTTP/1.1\r\n" + host + "A : x\r\n\r\n",
           "GET /a HTTP/1.1\r\n" + host + "A: x\ny\r\n\r\n",
           "GET /a b HTTP/1.1\r\n" + host + "\r\n",
           "POST /a HTTP/1.1\r\n" + host + "Content-Length: -1\r\n\r\n",
           "POST /a HTTP/1.1\r\n" + host + "Content-Length: 1x\r\n\r\n",
           "POST /a HTTP/1.1\r\n" + host + "Content-Length: 99999999999999999999\r\n\r\n",
           "POST /a HTTP/1.1\r\n" + host + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
           "POST /a HTTP/1.1\r\n" + host +
               "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
           "POST /a HTTP/1.1\r\n" + host +
               "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
           "POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
           "POST /a HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
           "POST /a HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcde\r\n",
           "GET /a HTTP/1.1\r\n" + host + "Authorization: a\r\nAuthorization: b\r\n\r\n",
       }) {
    Client client = connect();
    expect_end(client, client.ask(bad), 400, "");
  }
  EXPECT_EQ(locked([this] { return requests_.size(); }), 0U);
}

TEST_F(LimitsTest, unknown_encodings_and_expectations_are_refused_with_the_reason) {
  serve();
  Client encoded = connect();
  expect_end(encoded,
             encoded.ask("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
             501, "chunked");
  Client expecting = connect();
  expect_end(expecting, expecting.ask("POST /a HTTP/1.1\r\nHost: x\r\nExpect: 200-ok\r\n\r\n"), 417,
             "100-continue");
}

TEST_F(LimitsTest, a_trailer_changes_nothing) {
  serve();
  Client client = connect();
  client.ask(
      "POST /a HTTP/1.1\r\nHost: x\r\nAuthorization: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "0\r\nAuthorization: b\r\nX-Request-Id: c\r\n\r\n");
  ASSERT_TRUE(eventually([this] { return requests_.size() == 1; }));
  EXPECT_EQ(requests_.front().authorization, "a");
  EXPECT_EQ(requests_.front().request_id, "");
}

TEST_F(LimitsTest, requests_that_end_early_are_answered_400) {
  serve();
  for (const std::string_view part :
       {"GET /a HTTP/1.1\r\nHo", "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabc"}) {
    Client client = connect();
    client.send(part);
    client.end_sending();
    EXPECT_EQ(client.reply().status, 400U);
  }
}

}  // namespace
}  // namespace millrace::api
