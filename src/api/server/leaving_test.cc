// How the listener notices that peers leave, and how it stops itself.
#include <thread>

#include "api/server/listener.h"
#include "tests/support/served.h"

namespace millrace::api {
namespace {

using namespace std::chrono_literals;
using ::testing::SizeIs;

constexpr std::string_view get_a = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::string_view get_park = "GET /park HTTP/1.1\r\nHost: x\r\n\r\n";

using LeavingTest = ServedTest;

TEST_F(LeavingTest, a_peer_that_closes_while_it_waits_is_noticed) {
  serve();
  Client client = connect();
  client.send(get_park);
  Respond respond = parked();
  client.close();
  EXPECT_TRUE(eventually([this] { return closed_.size() == 1; }));
  EXPECT_EQ(closed_.front(), callers_.front());
  respond(watched("too late"));
  EXPECT_TRUE(eventually([this] { return undelivered_ == 1; }));
}

TEST_F(LeavingTest, a_peer_that_resets_while_it_waits_is_noticed) {
  serve();
  Client client = connect();
  client.send(get_park);
  Respond respond = parked();
  client.reset();
  EXPECT_TRUE(eventually([this] { return closed_.size() == 1; }));
}

TEST_F(LeavingTest, a_peer_that_only_ended_its_sending_gets_its_answer) {
  serve();
  Client client = connect();
  client.send(get_park);
  client.end_sending();
  Respond respond = parked();
  EXPECT_EQ(client.reply().status, 100U);  // are you still there?
  EXPECT_EQ(closed_count(), 0U);
  respond(watched("answer"));
  EXPECT_EQ(client.reply().body, "answer");
  EXPECT_TRUE(client.ends());
  EXPECT_TRUE(eventually([this] { return closed_.size() == 1; }));
  EXPECT_EQ(undelivered_count(), 0U);
}

TEST_F(LeavingTest, a_peer_that_only_ended_its_sending_may_still_leave) {
  serve();
  Client client = connect();
  client.send(get_park);
  client.end_sending();
  Respond respond = parked();
  EXPECT_EQ(client.reply().status, 100U);
  client.reset();
  EXPECT_TRUE(eventually([this] { return closed_.size() == 1; }));
}

TEST_F(LeavingTest, what_was_sent_before_the_end_is_answered_in_order) {
  serve();
  Client client = connect();
  client.send(std::string(get_a) + std::string(get_a) + std::string(get_a));
  client.end_sending();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.reply().body, "/a|");
  EXPECT_TRUE(client.ends());
}

TEST_F(LeavingTest, http_1_0_gets_its_answer_after_the_end_if_that_comes_soon) {
  serve();
  Client soon = connect();
  soon.send("GET /park HTTP/1.0\r\n\r\n");
  soon.end_sending();
  parked()({.body = "soon"});
  EXPECT_EQ(soon.reply().body, "soon");

  Client later = connect();
  later.send("GET /park HTTP/1.0\r\n\r\n");
  later.end_sending();
  Respond respond = parked();
  // Nothing shows when the listener has seen the end, so the test lets some time pass.
  later.wait_at_most(100ms);
  bool ended = false;
  for (int i = 0; i < 100 && !ended; ++i) {
    clock_.advance(3s);
    ended = later.ends();
  }
  EXPECT_TRUE(ended);
  EXPECT_TRUE(eventually([this] { return closed_.size() == 2; }));
}

TEST_F(LeavingTest, closed_is_called_once_for_each_connection_that_asked) {
  serve();
  {
    const Client silent = connect();
  }
  {
    Client half = connect();
    half.send("GET /a HT");
  }
  {
    Client client = connect();
    client.ask(get_a);
    client.ask(get_a);
  }
  EXPECT_TRUE(eventually([this] { return !closed_.empty(); }));
  listener_->stop();
  EXPECT_THAT(closed_, SizeIs(1));
}

TEST_F(LeavingTest, an_answer_that_cannot_be_sent_is_reported) {
  serve();
  Client client = connect();
  client.shrink_window();
  client.send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_FALSE(client.read_until("\r\n\r\n").empty());
  client.reset();
  EXPECT_TRUE(eventually([this] { return undelivered_ == 1 && closed_.size() == 1; }));
}

TEST_F(LeavingTest, an_answer_after_the_listener_has_gone_is_reported) {
  serve();
  Client client = connect();
  client.send(get_park);
  Respond respond = parked();
  listener_->stop();
  EXPECT_EQ(closed_count(), 1U);
  respond(watched("too late"));
  EXPECT_EQ(undelivered_count(), 1U);
  listener_.reset();
  respond(watched("twice is nothing"));
  EXPECT_EQ(undelivered_count(), 1U);
}

TEST_F(LeavingTest, draining_answers_what_is_under_way_and_closes_the_rest) {
  serve();
  Client idle = connect();
  ASSERT_EQ(idle.ask(get_a).status, 200U);
  Client waiting = connect();
  waiting.send(get_park);
  Respond respond = parked();
  Client half = connect();
  half.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab");
  ASSERT_EQ(idle.ask(get_a).status, 200U);
  const std::uint16_t port = listener_->port();
  listener_->stop_accepting();
  EXPECT_FALSE(Client(port).connected());
  EXPECT_EQ(idle.ask(get_a).status, 200U);  // open connections may stay

  EXPECT_FALSE(listener_->drain(0ms));
  EXPECT_TRUE(idle.ends());
  idle.close();  // it may still have been answering when draining began
  bool all_gone = false;
  std::jthread drainer([&] { all_gone = listener_->drain(10s); });
  respond({.body = "in time"});
  Reply reply = waiting.reply();
  EXPECT_EQ(reply.body, "in time");
  EXPECT_EQ(reply.headers["connection"], "close");
  waiting.close();
  reply = half.ask("cd");
  EXPECT_EQ(reply.body, "/a|abcd");
  EXPECT_EQ(reply.headers["connection"], "close");
  half.close();
  drainer.join();
  EXPECT_TRUE(all_gone);
  listener_->stop();
  EXPECT_THAT(closed_, SizeIs(3));
}

TEST_F(LeavingTest, draining_does_not_wait_long_for_what_peers_leave_unfinished) {
  serve();
  Client head = connect();
  head.send("POST /a HT");
  Client body = connect();
  body.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab");
  Client unread = connect();
  unread.shrink_window();
  unread.send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_FALSE(unread.read_until("\r\n\r\n").empty());
  ASSERT_EQ(connect().ask(get_a).status, 200U);  // so all before it has been read
  EXPECT_FALSE(listener_->drain(0ms));
  clock_.advance(1s);
  EXPECT_FALSE(listener_->drain(50ms));
  EXPECT_EQ(undelivered_count(), 0U);
  clock_.advance(2s);
  EXPECT_EQ(head.reply().status, 408U);
  EXPECT_EQ(body.reply().status, 408U);
  head.close();
  body.close();
  EXPECT_TRUE(listener_->drain(10s));
  EXPECT_EQ(undelivered_count(), 1U);
}

TEST_F(LeavingTest, draining_does_not_wait_for_a_body_that_keeps_coming) {
  serve();
  Client refused = connect();
  refused.send("POST /deny HTTP/1.1\r\nHost: x\r\nContent-Length: 65536\r\n\r\n");
  Client awaited = connect();
  awaited.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 65536\r\n\r\n");
  ASSERT_EQ(connect().ask(get_a).status, 200U);
  EXPECT_FALSE(listener_->drain(0ms));
  for (int i = 0; i < 2; ++i) {
    for (Client* each : {&refused, &awaited}) each->send(std::string(5000, 'x'));
    EXPECT_FALSE(listener_->drain(50ms));
    clock_.advance(1200ms);
  }
  EXPECT_EQ(refused.reply().status, 408U);
  EXPECT_EQ(awaited.reply().status, 408U);
  refused.close();
  awaited.close();
  EXPECT_TRUE(listener_->drain(10s));
}

TEST_F(LeavingTest, draining_ends_streams_after_what_has_come) {
  serve();
  const std::string head = "POST /stream HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  Client begun = connect();
  begun.send(head + "3\r\none\r\n");
  Piece piece = next_piece();
  EXPECT_FALSE(listener_->drain(0ms));
  begun.send("3\r\ntwo\r\n");
  piece.done("1 is put\n");
  EXPECT_FALSE(begun.read_until("1 is put\n\r\n").empty());
  EXPECT_TRUE(begun.ends()) << "and the last chunk is missing, so the peer sees that it ends early";
  begun.close();
  EXPECT_TRUE(listener_->drain(10s));
  EXPECT_EQ(locked([this] { return pieces_.size(); }), 0U);
}

TEST_F(LeavingTest, draining_refuses_a_stream_of_which_nothing_has_come) {
  serve();
  Client silent = connect();
  silent.send("POST /stream HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  ASSERT_EQ(connect().ask(get_a).status, 200U);
  EXPECT_FALSE(listener_->drain(0ms));
  EXPECT_EQ(silent.reply().status, 503U);
  silent.close();
  EXPECT_TRUE(listener_->drain(10s));
}

TEST_F(LeavingTest, stopping_does_not_wait_for_peers) {
  serve({}, {}, 2);
  std::vector<Client> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(connect());
    clients.back().send(i % 2 == 0 ? get_park : "GET /a HT");
  }
  Client stuck = connect();
  stuck.shrink_window();
  stuck.send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_FALSE(stuck.read_until("\r\n\r\n").empty());
  ASSERT_TRUE(eventually([this] { return parked_.size() == 10; }));
  listener_->stop();
  EXPECT_THAT(closed_, SizeIs(11));
  EXPECT_EQ(undelivered_count(), 1U);
  EXPECT_EQ(listener_->counts().open, 0U);
}

}  // namespace
}  // namespace millrace::api
