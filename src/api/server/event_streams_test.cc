#include "api/server/event_streams.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <string>

#include "api/wire/events.h"
#include "tests/support/builders.h"

namespace millrace::api {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// A connection: asks for a piece, and for the next when it has one.
struct Reader {
  std::unique_ptr<PushStream> stream;
  bool waits = false;
  bool over = false;
  std::string got = {};
  std::deque<std::string> pieces = {};

  // All there is now.
  std::string read() {
    for (int i = 0; i < 1000 && !waits && !over; ++i) ask();
    return std::exchange(got, {});
  }
  void ask() {
    waits = true;
    stream->more([this](std::string piece, bool last) {
      waits = false;
      over = last;
      got += piece;
    });
  }
};

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t times = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++times;
  return times;
}

class EventStreamsTest : public ::testing::Test {
 protected:
  std::unique_ptr<Reader> open(EventRequest request = {}) {
    auto reader = std::make_unique<Reader>();
    reader->stream = streams.open(ring, std::move(request));
    return reader;
  }
  void tell(std::size_t events, const std::string& queue = "emails",
            EventKind what = EventKind::put) {
    EventRing::Writing writing(ring);
    for (std::size_t i = 0; i < events; ++i) {
      writing.add(
          {.at = clock.now(), .what = what, .id = test::fresh_id(), .queue = queue, .type = "t"});
    }
  }
  void pass(Duration by) {
    clock.advance(by);
    streams.tick();
  }

  ManualClock clock{test::t0};
  EventRing ring{0xb007};
  EventStreams streams{clock, {.keep_time = false}};
};

TEST_F(EventStreamsTest, a_stream_begins_with_a_comment_and_tells_what_happens_from_now_on) {
  tell(3);
  const auto reader = open();
  const std::string greeting = reader->read();
  EXPECT_TRUE(greeting.starts_with(": ")) << greeting;
  EXPECT_THAT(greeting, HasSubstr("retry: 2000\n"));
  EXPECT_THAT(greeting, HasSubstr("id: b007-3\n\n"));
  EXPECT_THAT(greeting, Not(HasSubstr("event:")));
  tell(1);
  const std::string news = reader->read();
  EXPECT_TRUE(news.starts_with("id: b007-4\nevent: put\ndata: {\"id\":\"")) << news;
  EXPECT_THAT(news, HasSubstr(R"("queue":"emails","type":"t","state":"queued","at":")"));
  EXPECT_TRUE(news.ends_with("}\n\n")) << news;
  EXPECT_EQ(streams.sent(), 1U);
}

TEST_F(EventStreamsTest, after_news_it_rests_so_that_more_come_together) {
  const auto reader = open();
  reader->read();
  tell(1);
  EXPECT_EQ(count(reader->read(), "event: put"), 1U);
  for (int i = 0; i < 10; ++i) tell(1);
  EXPECT_THAT(reader->read(), IsEmpty());
  EXPECT_TRUE(reader->waits);
  pass(49ms);
  EXPECT_THAT(reader->read(), IsEmpty());
  pass(1ms);
  EXPECT_EQ(count(reader->read(), "event: put"), 10U);
}

TEST_F(EventStreamsTest, every_fifteen_seconds_of_silence_there_is_a_comment_with_the_place) {
  const auto reader = open({.filter = {.queue = "emails"}});
  reader->read();
  for (int i = 0; i < 3; ++i) {
    tell(5, "others");
    pass(14900ms);
    EXPECT_THAT(reader->read(), IsEmpty());
    pass(100ms);
    const std::string beat = reader->read();
    EXPECT_EQ(beat, fmt::format(":\nid: b007-{}\n\n", 5 * (i + 1)));
  }
}

TEST_F(EventStreamsTest, a_reader_that_comes_back_goes_on_after_its_last_event) {
  tell(10);
  const auto reader = open({.after = 7});
  const std::string text = reader->read();
  EXPECT_EQ(count(text, "event: put"), 3U);
  EXPECT_THAT(text, HasSubstr("id: b007-8\n"));
  EXPECT_THAT(text, Not(HasSubstr("reset")));
}

TEST_F(EventStreamsTest, a_reader_that_missed_events_is_told_so) {
  const auto other_boot = open({.reset = true});
  EXPECT_EQ(count(other_boot->read(), "id: b007-0\nevent: reset\ndata: {}\n\n"), 1U);

  tell(70'000);
  const auto too_old = open({.filter = {.queue = "nothing"}, .after = 5});
  std::string text = too_old->read();
  EXPECT_EQ(count(text, "event: reset"), 1U) << text;
  const auto from_the_future = open({.after = 1'000'000});
  EXPECT_EQ(count(from_the_future->read(), "event: reset"), 1U);
  // And afterwards they go on.
  tell(1);
  pass(1s);
  EXPECT_EQ(count(other_boot->read(), "event: skipped\ndata: {\"count\":70001}"), 1U);
  EXPECT_EQ(count(from_the_future->read(), "event: put"), 1U);
}

TEST_F(EventStreamsTest, five_hundred_per_second_are_told_and_the_rest_is_counted) {
  const auto reader = open();
  reader->read();
  tell(800);
  std::string text = reader->read();
  EXPECT_EQ(count(text, "event: put"), 500U);
  EXPECT_EQ(count(text, "id: b007-800\nevent: skipped\ndata: {\"count\":300}\n\n"), 1U) << text;
  // The second slides: there is no room before it is over.
  pass(500ms);
  tell(100);
  pass(50ms);
  text = reader->read();
  EXPECT_EQ(count(text, "event: put"), 0U);
  pass(500ms);
  tell(50);
  pass(100ms);
  text = reader->read();
  EXPECT_THAT(text, HasSubstr("event: skipped\ndata: {\"count\":100}\n\n"));
  EXPECT_EQ(count(text, "event: put"), 50U);
  EXPECT_EQ(streams.skipped(), 400U);
  EXPECT_EQ(streams.sent(), 550U);
}

TEST_F(EventStreamsTest, a_stream_may_lower_its_limit_and_not_raise_it) {
  const auto few = open({.events_per_second = 2});
  const auto many = open({.events_per_second = 9999});
  few->read();
  many->read();
  tell(800);
  EXPECT_EQ(count(few->read(), "event: put"), 2U);
  EXPECT_EQ(count(many->read(), "event: put"), 500U);
}

TEST_F(EventStreamsTest, never_more_than_five_hundred_in_any_second) {
  const auto reader = open();
  reader->read();
  std::deque<std::pair<Duration, std::size_t>> sent;
  Duration now{};
  for (int i = 0; i < 600; ++i) {
    tell(i % 7 == 0 ? 90 : 3);
    pass(10ms);
    now += 10ms;
    sent.emplace_back(now, count(reader->read(), "event: put"));
    while (sent.front().first <= now - 1s) sent.pop_front();
    std::size_t in_a_second = 0;
    for (const auto& [at, n] : sent) in_a_second += n;
    ASSERT_LE(in_a_second, 500U);
  }
  EXPECT_GT(streams.sent(), 2000U);
}

TEST_F(EventStreamsTest, a_reader_that_does_not_ask_costs_nothing_and_loses_what_the_ring_forgets) {
  const auto reader = open();
  reader->read();
  reader->ask();  // once, and not again
  tell(200'000);
  EXPECT_FALSE(reader->waits);  // it was told that there is something
  const std::string text = reader->read();
  EXPECT_EQ(count(text, "event: put"), 0U);
  EXPECT_THAT(text, HasSubstr("id: b007-200000\nevent: skipped\ndata: {\"count\":200000}\n\n"));
  tell(1);
  pass(1s);
  EXPECT_EQ(count(reader->read(), "event: put"), 1U);
}

TEST_F(EventStreamsTest, filters_and_queues_that_may_not_be_seen) {
  const auto by_queue = open({.filter = {.queue = "emails"}});
  const auto some =
      open({.filter = {.allowed = [](std::string_view queue) { return queue == "shop.a"; }}});
  by_queue->read(), some->read();
  tell(1, "emails"), tell(1, "shop.a"), tell(1, "$webhooks");
  EXPECT_EQ(count(by_queue->read(), "\"queue\":\"emails\""), 1U);
  const std::string seen = some->read();
  EXPECT_EQ(count(seen, "event:"), 1U);
  EXPECT_THAT(seen, HasSubstr("shop.a"));
}

TEST_F(EventStreamsTest, a_busy_ring_is_read_in_pieces_whatever_the_filter) {
  const auto reader = open({.filter = {.queue = "rare"}});
  reader->read();
  tell(30'000, "common");
  tell(1, "rare");
  tell(30'000, "common");
  EXPECT_EQ(count(reader->read(), "rare"), 1U);
}

TEST_F(EventStreamsTest, a_stream_ends_when_its_key_is_no_longer_good) {
  bool allowed = true;
  const auto reader = open({.still_allowed = [&] { return allowed; }});
  reader->read();
  pass(15s);
  EXPECT_THAT(reader->read(), Not(IsEmpty()));
  EXPECT_FALSE(reader->over);
  allowed = false;
  pass(15s);
  reader->read();
  EXPECT_TRUE(reader->over);

  // A stream that has something to tell tells nothing more.
  allowed = true;
  const auto busy = open({.still_allowed = [&] { return allowed; }});
  busy->read();
  tell(1);
  EXPECT_EQ(count(busy->read(), "event: put"), 1U);
  allowed = false;
  tell(1);
  pass(50ms);
  EXPECT_THAT(busy->read(), IsEmpty());
  EXPECT_TRUE(busy->over);
}

TEST_F(EventStreamsTest, the_number_of_streams_is_limited) {
  EventStreams few(clock, {.most = 2, .keep_time = false});
  auto one = few.open(ring, {});
  auto two = few.open(ring, {});
  EXPECT_EQ(few.open(ring, {}), nullptr);
  EXPECT_EQ(few.count(), 2U);
  one.reset();
  EXPECT_EQ(few.count(), 1U);
  EXPECT_NE(few.open(ring, {}), nullptr);
}

TEST_F(EventStreamsTest, a_stream_that_is_destroyed_is_forgotten_at_once) {
  auto reader = open();
  reader->read();
  EXPECT_EQ(ring.waiting(), 1U);
  reader->stream.reset();
  EXPECT_EQ(ring.waiting(), 0U);
  EXPECT_EQ(streams.count(), 0U);
  tell(1);
  pass(20s);
}

TEST_F(EventStreamsTest, streams_can_keep_time_by_themselves) {
  SystemClock real;
  EventStreams own(real, {.beat = 1ms, .rest = 1ms});
  Reader reader{.stream = own.open(ring, {})};
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t pieces = 0;
  std::move_only_function<void()> ask = [&] {
    reader.stream->more([&](std::string, bool) {
      const std::lock_guard lock(mutex);
      ++pieces;
      changed.notify_all();
    });
  };
  for (std::size_t i = 1; i < 6; ++i) {
    ask();
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, 10s, [&] { return pieces == i; }));
  }
  reader.stream.reset();
}

}  // namespace
}  // namespace millrace::api
