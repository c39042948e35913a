// What the listener keeps for peers that read slowly or not at all, and for how long.
#include <thread>

#include "api/server/listener.h"
#include "tests/support/served.h"

namespace millrace::api {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view get_a = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::string_view get_page = "GET /page HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::string_view get_tasks =
    "GET /big HTTP/1.1\r\nHost: x\r\n\r\n";  // undelivered is told
constexpr std::size_t page_bytes = 32U << 20U;

class UnreadTest : public ServedTest {
 protected:
  // A peer that has asked for a large answer and reads nothing but its head.
  Client stuck(std::string_view get) {
    Client client = connect();
    client.shrink_window();
    client.send(get);
    EXPECT_FALSE(client.read_until("\r\n\r\n").empty());
    return client;
  }
};

TEST_F(UnreadTest, the_kernel_keeps_little_of_an_answer_that_is_not_read) {
  serve();
  Client client = connect();
  client.shrink_window();
  client.send("GET /park HTTP/1.1\r\nHost: x\r\n\r\n");
  parked()({.body = std::string(1U << 20U, 'x')});
  EXPECT_FALSE(client.read_until("\r\n\r\n").empty());
  ASSERT_EQ(connect().ask(get_a).status, 200U);  // so all that can be has been written
  EXPECT_GE(listener_->counts().unread, 1U << 20U) << "it waits where it is counted";
}

TEST_F(UnreadTest, a_peer_that_reads_slowly_but_steadily_gets_all_of_its_answer) {
  serve();
  Client client = connect();
  client.send(get_page);
  ASSERT_FALSE(client.read_until("\r\n\r\n").empty());
  std::size_t got = 0;
  // Each 10 s it reads four times as much as it must in 30 s, until four minutes have passed. The
  // listener notices each time, though perhaps not before the next.
  for (int i = 0; i < 24; ++i) {
    const std::size_t came = client.skip(256U * 1024);
    ASSERT_EQ(came, 256U * 1024) << i;
    got += came;
    clock_.advance(10s);
    ASSERT_EQ(connect().ask(get_a).status, 200U);
  }
  EXPECT_EQ(client.skip(page_bytes - got), page_bytes - got);
  EXPECT_EQ(client.ask(get_a).status, 200U);
}

TEST_F(UnreadTest, answers_that_are_not_read_are_bounded_for_all_together) {
  serve({.unread = 80U << 20U});
  std::vector<Client> slow;
  slow.push_back(stuck(get_page));
  // 32 MiB wait for the first; another one would go beyond three quarters of 80 MiB.
  Client other = connect();
  EXPECT_EQ(other.ask(get_page).status, 503U);
  EXPECT_EQ(other.ask(get_a).status, 200U) << "small answers are sent, on the same connection, too";
  EXPECT_GE(listener_->counts().unread, 16U << 20U);
  EXPECT_LE(listener_->counts().unread, 80U << 20U);
  slow.clear();
  ASSERT_TRUE(eventually([this] { return closed_.size() == 1; }));
  EXPECT_EQ(listener_->counts().unread, 0U);
  EXPECT_EQ(other.ask(get_page).status, 200U);
}

TEST_F(UnreadTest, a_slow_reader_makes_room_for_those_who_come_later) {
  serve({.unread = 80U << 20U});
  const Client slow = stuck(get_page);
  Client other = connect();
  EXPECT_EQ(other.ask(get_page).status, 503U) << "the first has had no time to read";
  clock_.advance(2s);
  EXPECT_EQ(other.ask(get_page).body.size(), page_bytes);
  EXPECT_EQ(locked([this] { return closed_; }), std::vector<std::uint64_t>{1});
}

TEST_F(UnreadTest, the_slowest_reader_makes_room_first) {
  serve({.unread = 120U << 20U});
  const Client slowest = stuck(get_page);
  clock_.advance(2s);
  const Client slow = stuck(get_page);
  clock_.advance(2s);
  Client other = connect();
  EXPECT_EQ(other.ask(get_page).status, 200U);
  EXPECT_EQ(locked([this] { return closed_; }), std::vector<std::uint64_t>{1});
}

TEST_F(UnreadTest, an_answer_that_brings_tasks_goes_before_pages_and_not_before_its_like) {
  serve({.unread = 80U << 20U});
  const Client page = stuck(get_page);
  const Client tasks = stuck(get_tasks);
  EXPECT_TRUE(eventually([this] { return closed_.size() == 1; }));
  EXPECT_EQ(undelivered_count(), 0U) << "the page was given up, and no tasks";
  EXPECT_EQ(connect().ask(get_tasks).status, 503U);
  EXPECT_EQ(undelivered_count(), 1U) << "and those who have come first keep theirs";
}

TEST_F(UnreadTest, slow_readers_of_all_threads_make_room) {
  serve({.unread = 80U << 20U}, {}, 2);
  const Client slow = stuck(get_page);
  Client other = connect();  // on the other thread: they take turns
  EXPECT_EQ(other.ask(get_page).status, 503U);
  clock_.advance(2s);
  other.ask(get_page);  // 503 at first: this thread can only ask the other one
  EXPECT_TRUE(eventually([this] { return closed_.size() == 1; }));
  EXPECT_EQ(other.ask(get_page).body.size(), page_bytes);
  EXPECT_EQ(locked([this] { return closed_; }), std::vector<std::uint64_t>{1});
}

}  // namespace
}  // namespace millrace::api
