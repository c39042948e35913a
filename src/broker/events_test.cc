#include "broker/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/driver.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::size_t plenty = 1'000'000;

TaskId id_of(std::uint8_t n) {
  TaskId id;
  id.value.bytes[15] = n;
  return id;
}

void add(EventRing& ring, const EventRing::NewEvent& event) {
  EventRing::Writing(ring).add(event);
}
void add(EventRing& ring, int count) {
  for (int i = 0; i < count; ++i) add(ring, {.at = t0, .queue = "q", .type = "t"});
}

std::vector<std::uint64_t> numbers(const EventPage& page) {
  std::vector<std::uint64_t> found;
  for (const EventRecord& event : page.events) found.push_back(event.number);
  return found;
}

TEST(EventRing, an_event_comes_out_as_it_went_in) {
  EventRing ring(7);
  EXPECT_EQ(ring.boot(), 7U);
  EXPECT_EQ(ring.last(), 0U);
  const EventRecord taken{.number = 1,
                          .at = t0,
                          .what = EventKind::taken,
                          .id = id_of(3),
                          .queue = "emails",
                          .type = "welcome",
                          .client_id = "shop",
                          .state = TaskState::processing,
                          .worker = "w-1"};
  EventRecord retrying{.number = 2,
                       .at = t0 + Duration(5),
                       .what = EventKind::retrying,
                       .id = id_of(4),
                       .queue = "emails",
                       .state = TaskState::retrying,
                       .error_code = "smtp",
                       .progress = 12.5};
  for (const EventRecord& each : {taken, retrying}) {
    add(ring, {.at = each.at,
               .what = each.what,
               .state = each.state,
               .id = each.id,
               .queue = each.queue,
               .type = each.type,
               .client_id = each.client_id,
               .worker = each.worker,
               .error_code = each.error_code,
               .progress = each.progress});
  }
  const EventPage page = ring.read({}, 0, plenty, plenty);
  EXPECT_THAT(page.events, ElementsAre(taken, retrying));
  EXPECT_EQ(page.next, 2U);
  EXPECT_FALSE(page.reset);
  EXPECT_EQ(ring.last(), 2U);
}

TEST(EventRing, pages_go_on_where_the_one_before_ended) {
  EventRing ring(1);
  add(ring, 10);
  EXPECT_THAT(numbers(ring.read({}, 0, 3, plenty)), ElementsAre(1, 2, 3));
  EXPECT_THAT(numbers(ring.read({}, 3, plenty, 4)), ElementsAre(4, 5, 6, 7));
  const EventPage rest = ring.read({}, 7, plenty, plenty);
  EXPECT_THAT(numbers(rest), ElementsAre(8, 9, 10));
  const EventPage none = ring.read({}, rest.next, plenty, plenty);
  EXPECT_THAT(none.events, IsEmpty());
  EXPECT_EQ(none.next, 10U);
  EXPECT_FALSE(none.reset);
}

TEST(EventRing, what_does_not_fit_is_left_out_and_counts_as_looked_at) {
  EventRing ring(1);
  add(ring, {.id = id_of(1), .queue = "a", .type = "x", .client_id = "me"});
  add(ring, {.id = id_of(2), .queue = "b", .type = "x", .client_id = "you"});
  add(ring, {.id = id_of(3), .queue = "a", .type = "y", .client_id = "you"});
  add(ring, {.id = id_of(1), .queue = "a", .type = "x", .client_id = "me"});
  EXPECT_THAT(numbers(ring.read({.queue = "a"}, 0, plenty, plenty)), ElementsAre(1, 3, 4));
  EXPECT_THAT(numbers(ring.read({.type = "x"}, 0, plenty, plenty)), ElementsAre(1, 2, 4));
  EXPECT_THAT(numbers(ring.read({.client_id = "you"}, 0, plenty, plenty)), ElementsAre(2, 3));
  EXPECT_THAT(numbers(ring.read({.id = id_of(1)}, 0, plenty, plenty)), ElementsAre(1, 4));
  EXPECT_THAT(numbers(ring.read({.queue = "a", .type = "y"}, 0, plenty, plenty)), ElementsAre(3));
  add(ring, {.what = EventKind::dead, .id = id_of(5), .queue = "a"});
  const EventKinds bad = bit_of(EventKind::dead) | bit_of(EventKind::failed);
  EXPECT_THAT(numbers(ring.read({.kinds = bad}, 0, plenty, plenty)), ElementsAre(5));
  const EventPage short_look = ring.read({.type = "y"}, 0, plenty, 2);
  EXPECT_THAT(short_look.events, IsEmpty());
  EXPECT_EQ(short_look.next, 2U);
  EventFilter confined;
  confined.allowed = [](std::string_view queue) { return queue == "b"; };
  EXPECT_THAT(numbers(ring.read(confined, 0, plenty, plenty)), ElementsAre(2));
  confined.queue = "a";
  EXPECT_THAT(ring.read(confined, 0, plenty, plenty).events, IsEmpty());
}

TEST(EventRing, internal_queues_must_be_named) {
  EventRing ring(1);
  add(ring, {.id = id_of(9), .queue = "$webhooks"});
  add(ring, {.queue = "q"});
  EXPECT_THAT(numbers(ring.read({}, 0, plenty, plenty)), ElementsAre(2));
  EXPECT_THAT(numbers(ring.read({.id = id_of(9)}, 0, plenty, plenty)), IsEmpty());
  EXPECT_THAT(numbers(ring.read({.queue = "$webhooks"}, 0, plenty, plenty)), ElementsAre(1));
}

TEST(EventRing, only_the_newest_are_kept_and_a_reader_that_missed_some_is_told) {
  EventRing ring(1, {.events = 8});
  add(ring, 20);
  const EventPage page = ring.read({}, 3, plenty, plenty);
  EXPECT_TRUE(page.reset);
  EXPECT_THAT(numbers(page), ElementsAre(13, 14, 15, 16, 17, 18, 19, 20));
  EXPECT_FALSE(ring.read({}, 12, plenty, plenty).reset);
  EXPECT_TRUE(ring.read({}, 11, plenty, plenty).reset);
}

TEST(EventRing, a_number_that_was_never_given_out_resets) {
  EventRing ring(1);
  add(ring, 3);
  const EventPage page = ring.read({}, 1000, plenty, plenty);
  EXPECT_TRUE(page.reset);
  EXPECT_EQ(page.next, 3U);
  EXPECT_THAT(page.events, IsEmpty());
  EXPECT_TRUE(ring.read({}, std::numeric_limits<std::uint64_t>::max(), 1, 1).reset);
}

TEST(EventRing, long_names_cost_events_and_not_memory) {
  EventRing ring(1, {.events = 1000, .bytes = 8192});
  const std::string label(255, 'x');
  for (int i = 0; i < 500; ++i) {
    add(ring, {.queue = std::string(100, 'q'), .client_id = label, .worker = label});
  }
  const EventPage page = ring.read({}, 0, plenty, plenty);
  EXPECT_TRUE(page.reset);
  EXPECT_EQ(page.next, 500U);
  EXPECT_GE(page.events.size(), 8U);
  EXPECT_LE(page.events.size(), 13U);
  for (const EventRecord& event : page.events) EXPECT_EQ(event.worker, label);
}

TEST(EventRing, names_that_are_too_long_lose_their_ends) {
  EventRing ring(1);
  add(ring, {.queue = std::string(300, 'q')});
  EXPECT_EQ(ring.read({}, 0, 1, 1).events.front().queue, std::string(255, 'q'));
}

// Records of all sizes over the same bytes: what is read is always what was written.
TEST(EventRing, whatever_the_sizes_the_newest_are_there_as_written) {
  std::mt19937 random(5);
  EventRing ring(1, {.events = 50, .bytes = 5000});
  std::vector<std::string> written = {""};
  for (int i = 1; i < 5000; ++i) {
    written.emplace_back(random() % 256, static_cast<char>('a' + i % 26));
    add(ring, {.queue = "q", .client_id = written.back()});
    const EventPage page = ring.read({}, 0, plenty, plenty);
    ASSERT_EQ(page.next, static_cast<std::uint64_t>(i));
    ASSERT_GE(page.events.size(), std::min<std::size_t>(static_cast<std::size_t>(i), 14));
    ASSERT_LE(page.events.size(), 50U);
    ASSERT_EQ(page.events.front().number + page.events.size(), static_cast<std::uint64_t>(i) + 1);
    for (const EventRecord& event : page.events) ASSERT_EQ(event.client_id, written[event.number]);
  }
}

TEST(EventRing, a_reader_that_waits_is_woken_once_by_what_is_newer) {
  EventRing ring(1);
  int woken = 0;
  EXPECT_NE(ring.wait(0, [&] { ++woken; }), 0U);
  EXPECT_EQ(woken, 0);
  {
    const EventRing::Writing nothing(ring);
  }
  EXPECT_EQ(woken, 0);
  add(ring, 2);
  EXPECT_EQ(woken, 1);
  // There is something newer already.
  EXPECT_EQ(ring.wait(1, [&] { ++woken; }), 0U);
  EXPECT_EQ(woken, 2);
  // A number from elsewhere: the reader must be told to reset.
  ring.wait(77, [&] { ++woken; });
  EXPECT_EQ(woken, 3);
  EXPECT_EQ(ring.waiting(), 0U);
}

TEST(EventRing, a_reader_that_is_forgotten_is_not_woken) {
  EventRing ring(1);
  int woken = 0;
  const std::uint64_t ticket = ring.wait(0, [&] { woken += 1; });
  ring.wait(0, [&] { woken += 10; });
  ring.forget(ticket);
  ring.forget(ticket);
  ring.forget(12345);
  add(ring, 1);
  EXPECT_EQ(woken, 10);
}

TEST(EventRing, a_wake_may_wait_again) {
  EventRing ring(1);
  int woken = 0;
  std::function<void()> wake = [&] {
    ++woken;
    ring.wait(ring.last(), wake);
  };
  ring.wait(0, wake);
  add(ring, 3);
  EXPECT_EQ(woken, 3);
}

TEST(EventRing, every_name_is_known_and_found_again) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < event_kind_count; ++i) {
    const auto what = static_cast<EventKind>(i);
    names.insert(name_of(what));
    EXPECT_EQ(event_kind_from_name(name_of(what)), what);
  }
  EXPECT_THAT(names, SizeIs(event_kind_count));
  EXPECT_EQ(name_of(static_cast<EventKind>(99)), "unknown");
  EXPECT_EQ(event_kind_from_name("unknown"), std::nullopt);
  EXPECT_EQ(event_kind_from_name(""), std::nullopt);
}

TEST(EventRing, readers_and_writers_on_many_threads_miss_nothing) {
  EventRing ring(1);
  std::atomic<bool> done = false;
  std::vector<std::thread> threads;
  for (int w = 0; w < 2; ++w) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) add(ring, {.queue = "q", .type = "t"});
    });
  }
  std::uint64_t seen = 0;
  std::atomic<std::uint64_t> wakes = 0;
  std::thread reader([&] {
    while (!done || seen < ring.last()) {
      ring.forget(ring.wait(seen, [&] { ++wakes; }));
      const EventPage page = ring.read({}, seen, 100, 100);
      for (const EventRecord& event : page.events) ASSERT_EQ(event.number, ++seen);
    }
  });
  for (std::thread& thread : threads) thread.join();
  done = true;
  reader.join();
  EXPECT_EQ(seen, 10'000U);
}

}  // namespace
}  // namespace millrace
