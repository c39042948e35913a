// What is thrown while a connection is served ends that connection and harms no other.
#include <atomic>
#include <stdexcept>

#include "core/clock.h"
#include "tests/support/served.h"

namespace millrace::api {
namespace {

constexpr std::string_view get_a = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::string_view get_parked = "GET /park HTTP/1.1\r\nHost: x\r\n\r\n";

// Every response has a date, so a clock that throws does so in the midst of sending.
class ThrowingClock final : public Clock {
 public:
  TimePoint now() override {
    if (throws.exchange(false)) throw std::runtime_error("what time is it?");
    return real_.now();
  }
  std::chrono::nanoseconds steady() override {
    if (always_throws) throw std::runtime_error("time stands still");
    return real_.steady();
  }

  std::atomic<bool> throws = false;
  bool always_throws = false;

 private:
  SystemClock real_;
};

class ThrowingTest : public ServedTest {
 protected:
  Clock& time() override { return clock; }

  ThrowingClock clock;
};

TEST_F(ThrowingTest, an_answer_that_cannot_be_sent_harms_no_other_connection) {
  serve();
  Client first = connect();
  first.send(get_parked);
  Respond to_first = parked();
  Client second = connect();
  second.send(get_parked);
  Respond to_second = parked();

  clock.throws = true;
  to_first(watched("first"));
  EXPECT_TRUE(first.ends());
  EXPECT_TRUE(eventually([this] { return undelivered_ == 1; })) << "the handler is told";
  EXPECT_FALSE(clock.throws);

  to_second({.body = "second"});
  EXPECT_EQ(second.reply().body, "second");
  EXPECT_EQ(second.ask(get_a).status, 200U) << "and it is read from again";
  EXPECT_EQ(connect().ask(get_a).status, 200U);
}

TEST_F(ThrowingTest, a_request_that_is_answered_at_once_harms_no_other_connection) {
  serve();
  Client parked_one = connect();
  parked_one.send(get_parked);
  Respond respond = parked();

  clock.throws = true;
  Client client = connect();
  client.send(get_a);
  EXPECT_TRUE(client.ends());
  EXPECT_TRUE(eventually([this] { return closed_.size() == 1; })) << "the handler is told";

  respond({.body = "later"});
  EXPECT_EQ(parked_one.reply().body, "later");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(connect().ask(get_a).status, 200U);
}

// A lane without its timer would seem to be alive, but would never time a connection out.
TEST(ThrowingDeathTest, what_is_thrown_outside_of_connections_ends_the_process) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        ThrowingClock clock;
        clock.always_throws = true;
        NoHandler handler;
        auto listener = Listener::start({.port = 0}, handler, clock);
        if (listener) (*listener)->stop();
      },
      "time stands still");
}

}  // namespace
}  // namespace millrace::api
