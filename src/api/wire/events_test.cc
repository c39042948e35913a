#include "api/wire/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/builders.h"

namespace millrace::wire {
namespace {

using test::t0;
using ::testing::HasSubstr;

EventRecord some_event() {
  return {.number = 7,
          .at = t0,
          .what = EventKind::retrying,
          .id = test::fresh_id(),
          .queue = "emails",
          .type = "line\nbreak",
          .client_id = "c",
          .state = TaskState::retrying,
          .worker = "w",
          .error_code = "timeout",
          .progress = 0.5};
}

TEST(EventsText, events_come_back_as_they_were) {
  EventRecord event = some_event();
  for (std::size_t what = 0; what < event_kind_count; ++what) {
    event.what = static_cast<EventKind>(what);
    std::string text;
    append_event(text, 0xab, event);
    EXPECT_TRUE(text.starts_with("id: ab-7\nevent: ")) << text;
    EXPECT_TRUE(text.ends_with("}\n\n")) << text;
    const std::size_t name = text.find("event: ") + 7;
    const std::size_t data = text.find("\ndata: ");
    const auto back = event_from("ab-7", text.substr(name, data - name),
                                 text.substr(data + 7, text.size() - data - 9));
    ASSERT_TRUE(back.has_value()) << back.error().message;
    EXPECT_EQ(*back, event);
  }
}

TEST(EventsText, an_event_is_one_line_of_data_with_what_there_is) {
  EventRecord event{.number = 1, .at = t0, .id = test::fresh_id(), .queue = "q"};
  EXPECT_THAT(text_of(some_event()), HasSubstr(R"(line\nbreak)"));
  EXPECT_THAT(text_of(event), ::testing::Not(HasSubstr("worker")));
  EXPECT_THAT(text_of(event), HasSubstr(R"("state":"queued")"));
}

TEST(EventsText, ids_are_read_strictly) {
  const auto good = event_id_from("ab-12");
  ASSERT_TRUE(good.has_value());
  EXPECT_EQ(good->boot, 0xabU);
  EXPECT_EQ(good->number, 12U);
  EXPECT_EQ(event_id_from(event_id(~0ULL, ~0ULL))->number, ~0ULL);
  for (const auto* wrong : {"", "-", "ab", "ab-", "-1", "xy-1", "ab-1 ", "ab-x", "ab--1", " ab-1",
                            "ab-99999999999999999999999", "fffffffffffffffff-1"}) {
    EXPECT_FALSE(event_id_from(wrong).has_value()) << wrong;
  }
}

TEST(EventsText, nonsense_is_refused) {
  EXPECT_FALSE(event_from("ab-1", "put", "{}").has_value());
  EXPECT_FALSE(event_from("ab-1", "exploded", text_of(some_event())).has_value());
  EXPECT_FALSE(skipped_from("{}").has_value());
  EXPECT_EQ(skipped_from(R"({"count":5})").value(), 5U);
}

TEST(EventsText, a_stream_is_read_however_it_is_cut) {
  std::string stream = ": millrace\nretry: 2000\nid: ab-6\n\n";
  append_event(stream, 0xab, some_event());
  stream += ":\nid: ab-9\n\n";
  stream += "id: ab-10\nevent: skipped\ndata: {\"count\":5}\n\n";
  stream += "id: cd-0\r\nevent: reset\r\ndata: {}\r\n\r\n";
  for (const std::size_t size : {std::size_t{1}, std::size_t{7}, stream.size()}) {
    EventReader reader;
    std::vector<StreamedEvent> all;
    for (std::size_t at = 0; at < stream.size(); at += size) {
      reader.feed(std::string_view(stream).substr(at, size));
      for (;;) {
        auto news = reader.next();
        ASSERT_TRUE(news.has_value()) << news.error().message;
        if (!*news) break;
        all.push_back(std::move(**news));
      }
    }
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].id, "ab-7");
    ASSERT_TRUE(all[0].event.has_value());
    EXPECT_EQ(all[0].event->error_code, "timeout");
    EXPECT_EQ(all[1].skipped, 5U);
    EXPECT_TRUE(all[2].reset);
    EXPECT_EQ(reader.last_id(), "cd-0");
  }
}

// A newer server tells more than this client knows.
TEST(EventsText, events_of_unknown_names_are_passed_over) {
  EventReader reader;
  reader.feed("id: ab-5\nevent: exploded\ndata: {\"anything\":[1]}\n\n");
  const auto nothing = reader.next();
  ASSERT_TRUE(nothing.has_value()) << nothing.error().message;
  EXPECT_FALSE(nothing->has_value());
  EXPECT_EQ(reader.last_id(), "ab-5");
  std::string stream;
  append_event(stream, 0xab, some_event());
  reader.feed(stream);
  const auto news = reader.next();
  ASSERT_TRUE(news.has_value() && news->has_value());
  EXPECT_EQ((*news)->id, "ab-7");
}

TEST(EventsText, a_stream_of_nonsense_ends) {
  EventReader wrong;
  wrong.feed("event: put\ndata: {\n\n");
  EXPECT_FALSE(wrong.next().has_value());
  EventReader endless;
  endless.feed(std::string(2 << 20, 'x'));
  EXPECT_FALSE(endless.next().has_value());
}

}  // namespace
}  // namespace millrace::wire
