// Bodies that go by in pieces.
#include <thread>

#include "api/server/listener.h"
#include "tests/support/served.h"

namespace millrace::api {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view get_a = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::string_view stream_head =
    "POST /stream HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";

using StreamTest = ServedTest;

TEST_F(StreamTest, pieces_are_answered_while_the_body_is_still_coming) {
  serve();
  Client client = connect();
  client.send(stream_head);
  client.send("3\r\none\r\n");
  Piece piece = next_piece();
  EXPECT_EQ(piece.text, "one");
  EXPECT_FALSE(piece.last);
  piece.done("ONE");
  const std::string head = client.read_until("\r\n\r\n");
  EXPECT_THAT(head, HasSubstr("200 OK"));
  EXPECT_THAT(head, HasSubstr("Transfer-Encoding: chunked"));
  EXPECT_THAT(head, HasSubstr("Content-Type: application/x-ndjson"));
  EXPECT_THAT(head, HasSubstr("X-Request-Id: r1"));
  EXPECT_EQ(client.read_until("ONE\r\n"), "3\r\nONE\r\n");
  client.send("3\r\ntwo\r\n0\r\n\r\n");
  piece = next_piece();
  EXPECT_EQ(piece.text, "two");
  EXPECT_TRUE(piece.last);
  piece.done("TWO");
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "3\r\nTWO\r\n0\r\n\r\n");
  EXPECT_EQ(client.ask(get_a).body, "/a|");
}

TEST_F(StreamTest, a_stream_may_have_a_length_be_empty_or_answer_nothing) {
  serve();
  Client client = connect();
  client.send("POST /stream HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
  Piece piece = next_piece();
  EXPECT_EQ(piece.text, "abc");
  EXPECT_TRUE(piece.last);
  piece.done("");
  Reply reply = client.reply();
  EXPECT_EQ(reply.status, 200U);
  EXPECT_EQ(reply.body, "");

  client.send("POST /stream HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
  piece = next_piece();
  EXPECT_EQ(piece.text, "");
  EXPECT_TRUE(piece.last);
  piece.done("end");
  EXPECT_EQ(client.reply().body, "end");
}

TEST_F(StreamTest, an_answer_may_be_over_before_the_body_is) {
  serve();
  Client client = connect();
  client.send(stream_head);
  client.send("3\r\none\r\n");
  next_piece().done("no more", true);
  Reply reply = client.reply();
  EXPECT_EQ(reply.body, "no more");
  EXPECT_EQ(reply.headers["connection"], "close");
  client.send("3\r\ntwo\r\n");
  EXPECT_TRUE(client.ends());
  client.close();
  EXPECT_TRUE(eventually([this] { return closed_.size() == 1; }));
  EXPECT_TRUE(locked([this] { return pieces_.empty(); }));
}

TEST_F(StreamTest, a_stream_may_wait_for_100_continue) {
  serve();
  Client client = connect();
  const Reply interim = client.ask(
      "POST /stream HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(interim.status, 100U);
  client.send("ab");
  Piece piece = next_piece();
  EXPECT_EQ(piece.text, "ab");
  piece.done("x");
  EXPECT_EQ(client.reply().body, "x");
}

TEST_F(StreamTest, http_1_0_gets_an_answer_that_ends_with_the_connection) {
  serve();
  Client client = connect();
  client.send("POST /stream HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabc");
  next_piece().done("answer");
  const std::string all = client.read_to_end();
  EXPECT_THAT(all, HasSubstr("Connection: close"));
  EXPECT_TRUE(all.ends_with("\r\n\r\nanswer")) << all;
}

TEST_F(StreamTest, everything_comes_back_in_order) {
  serve();
  Client client = connect();
  std::string body;
  for (int i = 0; body.size() < 6U << 20; ++i) body += fmt::format("line {}\n", i);
  std::jthread sender([&] {
    client.send("POST /stream-echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (std::size_t at = 0; at < body.size(); at += 70'001) {
      const std::string part = body.substr(at, 70'001);
      client.send(fmt::format("{:x}\r\n{}\r\n", part.size(), part));
    }
    client.send("0\r\n\r\n");
  });
  EXPECT_TRUE(client.reply().body == body);
  sender.join();
  EXPECT_EQ(client.ask(get_a).body, "/a|");
}

TEST_F(StreamTest, nothing_is_read_ahead_without_bound_while_a_piece_is_worked_on) {
  serve();
  Client client = connect();
  client.wait_at_most(200ms);
  const std::string body(64 << 20, 'x');
  client.send(
      fmt::format("POST /stream HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", body.size()));
  std::size_t sent = client.send_until_stuck(body);
  EXPECT_LT(sent, body.size());  // what the system buffers, and a little of ours
  Piece piece = next_piece();
  EXPECT_LE(piece.text.size(), 256U * 1024);
  EXPECT_TRUE(locked([this] { return pieces_.empty(); }));
  // It goes on as pieces are done.
  std::size_t got = 0;
  client.wait_at_most(10s);
  std::jthread sender([&] { client.send(std::string_view(body).substr(sent)); });
  for (;;) {
    EXPECT_LE(piece.text.size(), 256U * 1024);
    got += piece.text.size();
    const bool last = piece.last;
    piece.done(last ? "end" : "");
    if (last) break;
    piece = next_piece();
    ASSERT_TRUE(piece.done.done != nullptr);
  }
  EXPECT_EQ(got, body.size());
  EXPECT_EQ(client.reply().body, "end");
}

TEST_F(StreamTest, a_stream_whose_answers_are_not_read_is_ended) {
  serve();
  Client client = connect();
  client.shrink_window();
  client.wait_at_most(200ms);
  const std::string body(64 << 20, 'x');
  client.send(fmt::format("POST /stream-echo HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n",
                          body.size()));
  EXPECT_LT(client.send_until_stuck(body), body.size());
  clock_.advance(31s);
  EXPECT_TRUE(eventually([this] { return closed_.size() == 1; }));
}

TEST_F(StreamTest, a_stream_whose_answers_are_read_slowly_but_steadily_goes_on) {
  serve();
  Client client = connect();
  client.wait_at_most(200ms);
  const std::string body(64 << 20, 'x');
  client.send(fmt::format("POST /stream-echo HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n",
                          body.size()));
  ASSERT_LT(client.send_until_stuck(body), body.size());
  client.wait_at_most(10s);
  // The listener notices each time that something is read, though perhaps not before the next.
  for (int i = 0; i < 12; ++i) {
    ASSERT_EQ(client.skip(256U * 1024), 256U * 1024) << i;
    clock_.advance(10s);
    ASSERT_EQ(connect().ask(get_a).status, 200U);
  }
  EXPECT_THAT(locked([this] { return closed_; }), Not(Contains(1U))) << "it is still open";
}

TEST_F(StreamTest, a_stream_that_goes_silent_is_ended) {
  serve();
  Client before = connect();
  before.send(stream_head);
  Client after = connect();
  after.send(stream_head);
  after.send("3\r\none\r\n");
  next_piece().done("ONE");
  EXPECT_FALSE(after.read_until("ONE\r\n").empty());
  ASSERT_EQ(connect().ask(get_a).status, 200U);  // so both are being waited for
  clock_.advance(31s);
  EXPECT_EQ(before.reply().status, 408U);
  EXPECT_TRUE(after.ends());  // the answer has begun, so it can only be cut off
  EXPECT_TRUE(eventually([this] { return closed_.size() >= 2; }));
}

TEST_F(StreamTest, a_stream_that_breaks_off_is_ended) {
  serve();
  Client client = connect();
  client.send(stream_head);
  client.send("3\r\none\r\n");
  Piece piece = next_piece();
  client.close();
  piece.done("ONE");
  EXPECT_TRUE(eventually([this] { return closed_.size() == 1; }));

  Client broken = connect();
  broken.send(stream_head);
  broken.send("this is no chunk\r\n");
  EXPECT_EQ(broken.reply().status, 400U);
}

TEST_F(StreamTest, a_stream_whose_handler_forgets_its_piece_is_ended) {
  serve();
  Client client = connect();
  client.send(stream_head);
  client.send("3\r\none\r\n");
  {
    const Piece forgotten = next_piece();
  }
  EXPECT_TRUE(eventually([this] { return closed_.size() == 1; }));
}

}  // namespace
}  // namespace millrace::api
