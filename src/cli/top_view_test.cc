// What `millrace top` shows, held against pictures of it. Time stands still.
#include "cli/top_view.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/top_rows.h"
#include "tests/support/builders.h"

namespace millrace::cli {
namespace {

using namespace std::chrono_literals;
using test::t0;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

void set(QueueView& view, TaskState state, std::uint64_t count) {
  view.counts.by[static_cast<std::size_t>(state)][5] = count;
}

QueueView busy_queue() {
  QueueView view;
  view.queue.settings.name = "emails";
  set(view, TaskState::queued, 1234), set(view, TaskState::processing, 2);
  set(view, TaskState::delayed, 7), set(view, TaskState::retrying, 3);
  set(view, TaskState::dead, 1), set(view, TaskState::failed, 1);
  view.counts.oldest = t0 - 95s;
  view.stats = {.mean_run_seconds = 0.25,
                .mean_wait_seconds = 12,
                .put_rate = 120.4,
                .take_rate = 98.26,
                .finish_rate = 97.5,
                .last_asked = t0 - 1s};
  return view;
}

Uuid id_of(unsigned number) {
  Uuid id{};
  id.bytes = {0x01, 0x9a, 0, 0, 0, 0, 0x70, 0, 0x80};
  id.bytes[15] = static_cast<std::uint8_t>(number);
  return id;
}

Task running(unsigned number, std::string type, std::string worker, Duration since,
             double progress) {
  return {.id = {id_of(number)},
          .number = {number},
          .queue = "emails",
          .type = std::move(type),
          .state = TaskState::processing,
          .started_at = t0 - since,
          .worker = std::move(worker),
          .progress = progress};
}

Task failure(unsigned number, std::string queue, std::string message, Duration since) {
  return {.id = {id_of(number)},
          .number = {number},
          .queue = std::move(queue),
          .type = "welcome",
          .state = TaskState::dead,
          .finished_at = t0 - since,
          .error = TaskError{.message = std::move(message)}};
}

TopState example() {
  TopState state{.url = "http://127.0.0.1:7070"};
  TopFacts facts{.server = {.version = "0.2.0",
                            .store = {.name = "journal", .durability = Durability::synced},
                            .started_at = t0 - 185min,
                            .now = t0,
                            .connections = 12},
                 .at = t0};
  QueueView idle;
  idle.queue.settings.name = "invoices";
  QueueView paused;
  paused.queue.settings.name = "newsletter";
  set(paused, TaskState::queued, 2'345'678);
  paused.queue.settings.paused_until = t0 + 12min;
  paused.counts.oldest = t0 - 26h;
  QueueView lonely;
  lonely.queue.settings.name = "reports";
  set(lonely, TaskState::queued, 3);
  lonely.counts.oldest = t0 - 5min;
  facts.queues = {busy_queue(), idle, paused, lonely};
  facts.running = {running(41, "digest", "build-host:4711", 65s, 62.4),
                   running(42, "", "mail-2:99", 300ms, 0)};
  facts.dead = {failure(40, "emails", "550 no such user", 12s),
                failure(17, "emails", "connection refused\nby mx.example.org", 3h)};
  state.facts = std::move(facts);
  return state;
}

constexpr Look look{.colours = false, .unicode = true, .width = 0};

// Each line without the blanks behind it.
std::string picture(const TopState& state, ScreenSize size, TimePoint now = t0,
                    const Look& with = look) {
  std::string text = "\n";
  for (const Line& each : top_screen(state, size, with, now)) {
    EXPECT_LE(each.width(), size.columns) << each.text();
    std::string line = each.text();
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

// Lines that are too long for a source file go on below, behind a ">".
std::string folded(const std::string& picture) {
  constexpr std::size_t most = 90;
  std::string text;
  std::size_t width = 0;
  for (const char each : picture) {
    const bool begins = (static_cast<unsigned char>(each) & 0xc0U) != 0x80U;
    if (each == '\n') {
      width = 0;
    } else if (begins && ++width > most) {
      text += "\n>";
      width = 1;
    }
    text += each;
  }
  return text;
}

// The paint of the span that holds a text; none: nowhere.
std::optional<Span> span_with(const Screen& screen, std::string_view text) {
  for (const Line& line : screen) {
    for (const Span& span : line.spans()) {
      if (span.text.contains(text)) return span;
    }
  }
  return std::nullopt;
}

TEST(TopView, at_80x24) {
  EXPECT_EQ(picture(example(), {80, 24}), R"(
millrace http://127.0.0.1:7070  0.2.0  journal, synced  up 3h5m  12 connections
2.35M ready  2 running  2 dead  10 later  120 put/s  98.3 taken/s  97.5 done/s
── queues 4 ────────────────────────────────────────────────────────────────────
QUEUE ▲       READY RUNNING  LATER   DEAD  PUT/S DONE/S OLDEST  STATE
emails        1,234       2     10      2    120   97.5  1m35s  active
invoices          0       0      0      0      -      -      -  active
newsletter    2.35M       0      0      0      -      -   1d2h  paused 12m
reports           3       0      0      0      -      -     5m  no worker
── running 2 ───────────────────────────────────────────────────────────────────
TASK       QUEUE      TYPE       WORKER                 RUNS    PROGRESS
#41        emails     digest     build-host:4711        1m5s    █████░░░  62%
#42        emails     -          mail-2:99             300ms    -
── dead letters 2 ──────────────────────────────────────────────────────────────
TASK      QUEUE     TYPE             AGE   ERROR
#40       emails    welcome          12s   550 no such user
#17       emails    welcome           3h   connection refused by mx.example.org







q quit  ? help  Tab pane  p pause  r retry  s sort  / filter  ↑↓ select
)");
}

TEST(TopView, at_120x24) {
  EXPECT_EQ(folded(picture(example(), {120, 24})), R"(
millrace http://127.0.0.1:7070  0.2.0  journal, synced  up 3h5m  12 connections
2.35M ready  2 running  2 dead  10 later  120 put/s  98.3 taken/s  97.5 done/s
── queues 4 ──────────────────────────────────────────────────────────────────────────────
>──────────────────────────────
QUEUE ▲         READY   RUNNING    LATER     DEAD    PUT/S   TAKE/S   DONE/S   OLDEST   WA
>ITED      RAN    STATE
emails          1,234         2       10        2      120     98.3     97.5    1m35s     
> 12s    250ms    active
invoices            0         0        0        0        -        -        -        -     
>   -        -    active
newsletter      2.35M         0        0        0        -        -        -     1d2h     
>   -        -    paused 12m
reports             3         0        0        0        -        -        -       5m     
>   -        -    no worker
── running 2 ─────────────────────────────────────────────────────────────────────────────
>──────────────────────────────
TASK                                   QUEUE      TYPE       WORKER                 RUNS  
>  PROGRESS
019a0000-0000-7000-8000-000000000029   emails     digest     build-host:4711        1m5s  
>  █████░░░  62%
019a0000-0000-7000-8000-00000000002a   emails     -          mail-2:99             300ms  
>  -
── dead letters 2 ────────────────────────────────────────────────────────────────────────
>──────────────────────────────
TASK                                   QUEUE      TYPE              AGE    ERROR
019a0000-0000-7000-8000-000000000028   emails     welcome           12s    550 no such use
>r
019a0000-0000-7000-8000-000000000011   emails     welcome            3h    connection refu
>sed by mx.example.org







q quit  ? help  Tab pane  p pause  r retry  s sort  / filter  ↑↓ select
)");
}

TEST(TopView, at_40x10_the_active_pane_has_all) {
  TopState state = example();
  EXPECT_EQ(picture(state, {40, 10}), R"(
millrace http://127.0.0.1:7070  0.2.0
2.35M ready  2 running  2 dead  10 later
── queues 4 ────────────────────────────
QUEUE ▲         READY   RUNNING     DEAD
emails          1,234         2        2
invoices            0         0        0
newsletter      2.35M         0        0
reports             3         0        0

q quit  ? help  Tab pane  p pause
)");
  state.pane = TopPane::dead;
  EXPECT_EQ(picture(state, {40, 10}), R"(
millrace http://127.0.0.1:7070  0.2.0
2.35M ready  2 running  2 dead  10 later
── dead letters 2 ──────────────────────
TASK     QUEUE       AGE  ERROR
#40      emails      12s  550 no such u…
#17      emails       3h  connection re…



q quit  ? help  Tab pane  p pause
)");
}

TEST(TopView, with_ascii_only) {
  TopState state = example();
  const std::string shown = picture(state, {80, 24}, t0, {.unicode = false});
  EXPECT_THAT(shown,
              AllOf(HasSubstr("-- queues 4 ---"), HasSubstr("#####..."), HasSubstr("QUEUE ^")));
  for (const char each : shown) EXPECT_LT(static_cast<unsigned char>(each), 0x80) << shown;
  state.mode = TopMode::helping;
  for (const char each : picture(state, {80, 24}, t0, {.unicode = false})) {
    EXPECT_LT(static_cast<unsigned char>(each), 0x80);
  }
}

TEST(TopView, every_size_is_filled_and_never_overrun) {
  TopState state = example();
  for (std::size_t i = 0; i < 60; ++i) {
    state.facts->running.push_back(running(100, std::string(i, 't'), "漢字", 5s, 50));
    state.facts->dead.push_back(failure(200, "q", std::string(i * 9, 'e'), 5s));
    QueueView view;
    view.queue.settings.name = std::string(1 + i, 'q');
    state.facts->queues.push_back(view);
  }
  for (const TopMode mode : {TopMode::watching, TopMode::filtering, TopMode::helping}) {
    state.mode = mode;
    for (std::size_t columns = 1; columns < 200; columns += 7) {
      for (std::size_t rows = 1; rows < 70; rows += 5) {
        const Screen screen = top_screen(state, {columns, rows}, look, t0);
        ASSERT_LE(screen.size(), rows);
        for (const Line& each : screen) ASSERT_LE(each.width(), columns) << each.text();
        const bool big = columns >= 40 && rows >= 10;
        ASSERT_TRUE(!big || screen.size() == rows);
      }
    }
  }
}

TEST(TopView, panes_share_the_room_and_none_gets_more_than_it_needs) {
  TopState state = example();
  for (unsigned i = 0; i < 100; ++i) {
    state.facts->running.push_back(running(100 + i, "x", "w", 5s, 0));
  }
  const auto rows_with = [&](std::string_view text) {
    std::size_t count = 0;
    for (const Line& each : top_screen(state, {80, 40}, look, t0)) {
      if (each.text().contains(text)) ++count;
    }
    return count;
  };
  EXPECT_EQ(rows_with("welcome"), 2U);  // both dead letters
  EXPECT_EQ(rows_with(" x "), 40U - 3 - 6 - 4 - 4);
  state.pane = TopPane::running;
  EXPECT_EQ(rows_seen(state, {80, 40}), 25U);
}

TEST(TopView, a_selection_below_the_end_scrolls) {
  TopState state = example();
  state.pane = TopPane::running;
  for (unsigned i = 0; i < 50; ++i) {
    state.facts->running.push_back(running(100 + i, fmt::format("type-{}", i), "w", 5s, 0));
  }
  press(state, {.text = "G"}, 5, t0);
  const Screen screen = top_screen(state, {80, 24}, look, t0);
  const auto last = span_with(screen, "type-49");
  ASSERT_TRUE(last);
  EXPECT_TRUE(last->inverse);
  EXPECT_FALSE(span_with(screen, "digest"));
  // Another pane shows its first rows.
  state.pane = TopPane::queues;
  EXPECT_TRUE(span_with(top_screen(state, {80, 24}, look, t0), "digest"));
}

TEST(TopView, a_silent_server_is_told_and_what_it_said_fades) {
  TopState state = example();
  state.silent_since = t0;
  state.trouble = "connection refused";
  const Screen screen = top_screen(state, {80, 24}, look, t0 + 12s);
  EXPECT_EQ(screen[1].text(), "no answer for 12s, trying again: connection refused");
  EXPECT_EQ(screen[1].spans()[0].paint, Paint::bad);
  for (std::size_t i = 2; i + 1 < screen.size(); ++i) {
    for (const Span& span : screen[i].spans()) EXPECT_EQ(span.paint, Paint::faint);
  }
}

TEST(TopView, colours_mean_something) {
  const Screen screen = top_screen(example(), {120, 40}, look, t0);
  EXPECT_EQ(span_with(screen, "paused 12m")->paint, Paint::warning);
  EXPECT_EQ(span_with(screen, "no worker")->paint, Paint::warning);
  EXPECT_EQ(span_with(screen, "550 no such user")->paint, Paint::bad);
  EXPECT_EQ(span_with(screen, "62%")->paint, Paint::busy);
  EXPECT_EQ(span_with(screen, "invoices")->paint, Paint::none);
  EXPECT_EQ(span_with(screen, "newsletter")->paint, Paint::none);
  // Without room for the state the name tells.
  const Screen narrow = top_screen(example(), {40, 10}, look, t0);
  EXPECT_EQ(span_with(narrow, "newsletter")->paint, Paint::warning);
  EXPECT_EQ(span_with(narrow, "invoices")->paint, Paint::none);
}

TEST(TopView, ages_are_told_by_the_servers_clock) {
  TopState state = example();
  state.facts->ahead = 1h;  // ours is an hour late
  EXPECT_THAT(picture(state, {120, 40}, t0 - 1h), HasSubstr(" 1m35s"));
  // A clock that was set back makes no negative ages.
  EXPECT_THAT(picture(state, {120, 40}, t0 - 2h), Not(HasSubstr("-1")));
}

TEST(TopView, states_of_queues) {
  TopState state = example();
  QueueView& queue = state.facts->queues[0];
  const auto line = [&] {
    for (const Line& each : top_screen(state, {120, 40}, look, t0)) {
      if (each.text().starts_with("emails ")) return each.text();
    }
    return std::string();
  };
  EXPECT_THAT(line(), HasSubstr(" active"));
  queue.stats.last_asked = t0 - 10min;
  EXPECT_THAT(line(), HasSubstr(" no worker"));
  queue.queue.settings.draining = true;
  EXPECT_THAT(line(), HasSubstr(" draining"));
  queue.queue.settings.paused_until = never;
  EXPECT_THAT(line(), HasSubstr(" paused"));
  queue.queue.settings.active = false;
  EXPECT_THAT(line(), HasSubstr(" inactive"));
  queue.queue.removing = true;
  EXPECT_THAT(line(), HasSubstr(" removing"));
}

TEST(TopView, before_the_first_answer_and_with_an_empty_server) {
  TopState state{.url = "http://127.0.0.1:7070"};
  EXPECT_THAT(picture(state, {80, 24}), HasSubstr("asking ..."));
  state.facts = TopFacts{.at = t0};
  EXPECT_THAT(picture(state, {80, 24}), AllOf(HasSubstr("no queues yet"), HasSubstr("nothing runs"),
                                              HasSubstr("no dead letters")));
  state.facts->refused = "this key is for some queues only";
  EXPECT_THAT(picture(state, {80, 24}),
              AllOf(HasSubstr("this key is for some queues only"), Not(HasSubstr("nothing runs"))));
  state.filter = "x";
  EXPECT_THAT(picture(state, {80, 24}), HasSubstr("no queue has that in its name"));
}

TEST(TopView, questions_filters_and_messages_stand_at_the_foot) {
  TopState state = example();
  const auto foot = [&](std::size_t columns = 80) {
    return top_screen(state, {columns, 24}, look, t0).back().text();
  };
  EXPECT_THAT(foot(), StartsWith("q quit  ? help"));
  press(state, {.text = "p"}, 10, t0);
  EXPECT_EQ(foot(), "Pause queue \"emails\"? y / n ");
  state.facts->queues[0].queue.settings.name = std::string(100, 'e');
  press(state, {.text = "n"}, 10, t0);
  EXPECT_EQ(foot(), "nothing was changed");
  press(state, {.text = "p"}, 10, t0);
  EXPECT_THAT(foot(40), AllOf(HasSubstr("… y / n")));  // the answer is always seen
  state.mode = TopMode::filtering;
  state.filter = "mail";
  EXPECT_THAT(foot(), StartsWith("queues with: mail"));
}

TEST(TopView, help_lies_over_the_rest) {
  TopState state = example();
  state.mode = TopMode::helping;
  EXPECT_THAT(picture(state, {80, 24}),
              AllOf(HasSubstr("millrace http"), HasSubstr("│ p              pause or resume"),
                    HasSubstr("╰──")));
}

TEST(TopView, numbers_stay_narrow) {
  EXPECT_EQ(compact(0), "0");
  EXPECT_EQ(compact(99'999), "99,999");
  EXPECT_EQ(compact(100'000), "100k");
  EXPECT_EQ(compact(999'499), "999k");
  EXPECT_EQ(compact(999'500), "1.00M");
  EXPECT_EQ(compact(1'234'567), "1.23M");
  EXPECT_EQ(compact(99'949'999), "99.9M");
  EXPECT_EQ(compact(99'950'000), "100M");
  EXPECT_EQ(compact(1'000'000'000'000), "1.00T");
  EXPECT_EQ(compact(18'446'744'073'709'551'615U), "18.4E");
  EXPECT_EQ(top_rate(9'999.4), "9,999");
  EXPECT_EQ(top_rate(99'999.6), "100k");
}

}  // namespace
}  // namespace millrace::cli
