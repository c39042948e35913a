// Bodies that are made while they are sent.
#include <algorithm>
#include <atomic>
#include <thread>

#include "api/server/listener.h"
#include "tests/support/served.h"

namespace millrace::api {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view get_a = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::string_view get_park = "GET /park HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::string_view get_push = "GET /push HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::string_view get_endless = "GET /push-endless HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::size_t large = 256 * 1024;

using PushTest = ServedTest;

// Makes so many pieces of 256 KiB, each as soon as it is asked for.
auto pieces(int count, std::atomic<int>& made) {
  return [count, &made](PushStream::Done done) {
    const int now = ++made;
    done(std::string(large, static_cast<char>('a' + now % 26)), now == count);
  };
}

TEST_F(PushTest, pieces_are_sent_as_they_are_made_and_the_connection_goes_on) {
  serve();
  Client client = connect();
  client.send(get_push);
  client.send(get_a);  // waits for its turn
  const std::string head = client.read_until("\r\n\r\n");
  EXPECT_THAT(head, HasSubstr("200 OK"));
  EXPECT_THAT(head, HasSubstr("Transfer-Encoding: chunked"));
  EXPECT_THAT(head, HasSubstr("Content-Type: text/plain"));
  EXPECT_THAT(head, HasSubstr("X-Request-Id: r1"));
  EXPECT_THAT(head, Not(HasSubstr("Content-Length")));
  next_ask()("one", false);
  EXPECT_EQ(client.read_until("one\r\n"), "3\r\none\r\n");
  next_ask()("", false);  // nothing to say after all
  next_ask()("two", false);
  EXPECT_EQ(client.read_until("two\r\n"), "3\r\ntwo\r\n");
  EXPECT_EQ(closed_count(), 0U);
  next_ask()("three", true);
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "5\r\nthree\r\n0\r\n\r\n");
  EXPECT_EQ(client.reply().body, "/a|");
  EXPECT_TRUE(eventually([this] { return forgotten_ == 1; }));
  EXPECT_TRUE(locked([this] { return asks_.empty(); }));
}

TEST_F(PushTest, the_last_piece_may_be_empty) {
  serve();
  Client client = connect();
  client.send(get_push);
  next_ask()("", true);
  EXPECT_EQ(client.reply().body, "");
  EXPECT_EQ(client.ask(get_a).body, "/a|");
}

TEST_F(PushTest, http_1_0_gets_a_body_that_ends_with_the_connection) {
  serve();
  Client client = connect();
  client.send("GET /push HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  next_ask()("one", false);
  next_ask()("two", true);
  const std::string all = client.read_to_end();
  EXPECT_THAT(all, HasSubstr("Connection: close"));
  EXPECT_THAT(all, Not(HasSubstr("chunked")));
  EXPECT_TRUE(all.ends_with("\r\n\r\nonetwo")) << all;
}

TEST_F(PushTest, head_is_answered_without_asking_for_anything) {
  serve();
  Client client = connect();
  client.send("HEAD /push HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.reply(true).status, 200U);
  EXPECT_EQ(client.ask(get_a).body, "/a|");
  EXPECT_TRUE(locked([this] { return asks_.empty() && forgotten_ == 1; }));
}

TEST_F(PushTest, large_bodies_arrive_whole) {
  serve();
  Client client = connect();
  client.send(get_park);
  std::atomic<int> made = 0;
  parked()(pushed(pieces(200, made)));
  std::string expected;
  for (int i = 1; i <= 200; ++i) expected.append(large, static_cast<char>('a' + i % 26));
  EXPECT_TRUE(client.reply().body == expected);
  EXPECT_EQ(client.ask(get_a).body, "/a|");
}

TEST_F(PushTest, no_pieces_are_made_ahead_for_a_slow_reader) {
  serve();
  Client client = connect();
  client.shrink_window();
  client.send(get_park);
  std::atomic<int> made = 0;
  Respond respond = parked();
  const std::uint64_t id = locked([this] { return callers_.front(); });
  respond(pushed(pieces(400, made)));
  EXPECT_FALSE(client.read_until("\r\n\r\n").empty());
  ASSERT_EQ(connect().ask(get_a).status, 200U);
  // What the system buffers, and one piece.
  int before = -1;
  while (before != made) {
    before = made;
    for (int i = 0; i < 50; ++i) ASSERT_EQ(connect().ask(get_a).status, 200U);
  }
  EXPECT_LT(made, 60);
  // The connection ends if the peer takes nothing at all for too long.
  const auto ended = [&] { return std::ranges::count(closed_, id) == 1; };
  bool noticed = false;
  for (int i = 0; i < 30 && !noticed; ++i) {
    clock_.advance(31s);  // the system may still move a byte afterwards
    std::unique_lock lock(mutex_);
    noticed = changed_.wait_for(lock, 300ms, ended);
  }
  EXPECT_TRUE(noticed);
  EXPECT_LT(made, 60);
}

TEST_F(PushTest, other_connections_do_not_wait_for_a_body_that_always_has_more) {
  serve();
  Client client = connect();
  client.send(get_park);
  std::atomic<bool> enough = false;
  parked()(pushed([&](PushStream::Done done) { done("", enough); }));
  std::jthread reader([&] { client.reply(); });
  Client other = connect();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(other.ask(get_a).body, "/a|");
  enough = true;
}

TEST_F(PushTest, a_piece_may_be_long_in_coming) {
  serve();
  Client client = connect();
  client.send(get_push);
  PushStream::Done done = next_ask();
  for (int i = 0; i < 10; ++i) {
    clock_.advance(1h);
    ASSERT_EQ(connect().ask(get_a).status, 200U);
  }
  done("late", true);
  EXPECT_EQ(client.reply().body, "late");
}

TEST_F(PushTest, a_peer_that_leaves_is_noticed_while_a_piece_is_waited_for) {
  serve();
  for (const bool by_reset : {false, true}) {
    const std::size_t before = closed_count();
    Client client = connect();
    client.send(get_endless);
    PushStream::Done done = next_ask();
    if (by_reset) {
      client.reset();
    } else {
      client.close();
    }
    EXPECT_TRUE(eventually([&] { return closed_.size() == before + 1; }));
    EXPECT_TRUE(eventually([&] { return forgotten_ == before + 1; }));
    done("too late", false);
  }
  EXPECT_EQ(connect().ask(get_a).body, "/a|");
}

TEST_F(PushTest, a_peer_that_leaves_is_noticed_while_a_piece_is_written) {
  serve();
  Client client = connect();
  client.shrink_window();
  client.send(get_push);
  next_ask()(std::string(32 << 20, 'x'), false);
  EXPECT_FALSE(client.read_until("\r\n\r\n").empty());
  client.reset();
  EXPECT_TRUE(eventually([this] { return closed_.size() == 1 && forgotten_ == 1; }));
}

TEST_F(PushTest, a_peer_that_only_ended_its_sending_gets_a_body_that_has_an_end) {
  serve();
  Client client = connect();
  client.send(get_push);
  client.end_sending();
  for (int i = 0; i < 20; ++i) next_ask()("piece", false);
  next_ask()("last", true);
  const std::string all = client.read_to_end();
  EXPECT_TRUE(all.ends_with("4\r\nlast\r\n0\r\n\r\n")) << all;
}

TEST_F(PushTest, a_body_that_is_broken_off_looks_incomplete) {
  serve();
  Client client = connect();
  client.send(get_push);
  next_ask()("one", false);
  EXPECT_FALSE(client.read_until("one\r\n").empty());
  {
    const PushStream::Done dropped = next_ask();
  }
  EXPECT_EQ(client.read_to_end(), "");  // no last chunk
  EXPECT_TRUE(eventually([this] { return closed_.size() == 1 && forgotten_ == 1; }));

  Client other = connect();
  other.send(get_park);
  parked()(pushed([](const PushStream::Done&) { throw std::runtime_error("on purpose"); }));
  const std::string all = other.read_to_end();
  EXPECT_TRUE(all.ends_with("\r\n\r\n")) << all;
  EXPECT_FALSE(all.ends_with("0\r\n\r\n")) << all;
}

TEST_F(PushTest, draining_ends_an_endless_body_at_once) {
  serve();
  Client waiting = connect();
  waiting.send(get_endless);
  PushStream::Done asked = next_ask();
  Client writing = connect();
  writing.send(get_endless);
  next_ask()(std::string(32 << 20, 'x'), false);
  bool all_gone = false;
  std::jthread drainer([&] { all_gone = listener_->drain(10s); });
  EXPECT_EQ(waiting.reply().body, "");
  waiting.close();
  EXPECT_EQ(writing.reply().body.size(), 32U << 20);
  writing.close();
  drainer.join();
  EXPECT_TRUE(all_gone);
  EXPECT_TRUE(locked([this] { return asks_.empty() && forgotten_ == 2; }));
  asked("too late", false);
}

TEST_F(PushTest, draining_waits_for_a_body_that_has_an_end) {
  serve();
  Client client = connect();
  client.send(get_push);
  PushStream::Done done = next_ask();
  EXPECT_FALSE(listener_->drain(0ms));
  bool all_gone = false;
  std::jthread drainer([&] { all_gone = listener_->drain(10s); });
  done("one", false);
  next_ask()("two", true);
  EXPECT_EQ(client.reply().body, "onetwo");
  client.close();
  drainer.join();
  EXPECT_TRUE(all_gone);
}

TEST_F(PushTest, stopping_does_not_wait_for_a_piece) {
  serve();
  Client client = connect();
  client.send(get_push);
  PushStream::Done done = next_ask();
  listener_->stop();
  EXPECT_TRUE(locked([this] { return forgotten_ == 1 && closed_.size() == 1; }));
  listener_.reset();
  done("too late", true);
}

TEST_F(PushTest, pieces_may_come_from_any_thread_and_in_crowds) {
  serve({}, {}, 2);
  std::vector<Client> clients;
  for (int i = 0; i < 50; ++i) {
    clients.push_back(connect());
    clients.back().send(get_push);
  }
  std::jthread maker([this] {
    for (int i = 0; i < 50 * 20; ++i) next_ask()("piece", false);
    for (int i = 0; i < 50; ++i) next_ask()("last", true);
  });
  maker.join();
  std::size_t total = 0;
  for (Client& client : clients) {
    const std::string body = client.reply().body;
    EXPECT_TRUE(body.ends_with("last"));
    total += body.size();
  }
  EXPECT_EQ(total, 50U * 20 * 5 + 50 * 4);
}

}  // namespace
}  // namespace millrace::api
