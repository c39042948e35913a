#include "cli/top_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/top_view.h"
#include "tests/support/builders.h"

namespace millrace::cli {
namespace {

using namespace std::chrono_literals;
using test::t0;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

QueueView queue(std::string name, std::uint64_t ready, std::uint64_t dead = 0) {
  QueueView view;
  view.queue.settings.name = std::move(name);
  view.counts.by[static_cast<std::size_t>(TaskState::queued)][5] = ready;
  view.counts.by[static_cast<std::size_t>(TaskState::dead)][5] = dead;
  return view;
}

TopState state_with(std::vector<QueueView> queues) {
  TopState state;
  state.facts = TopFacts{.queues = std::move(queues), .at = t0};
  return state;
}

class TopKeys : public ::testing::Test {
 protected:
  Wish type(std::string_view text) {
    Wish last;
    for (const char each : text) last = press(state_, {.text = std::string(1, each)}, 10, t0);
    return last;
  }
  Wish hit(Key key) { return press(state_, {.key = key}, 10, t0); }
  std::vector<std::string> names() { return keys_of(state_, TopPane::queues); }
  std::string selected() {
    const auto keys = keys_of(state_, state_.pane);
    return keys.empty() ? "" : keys[selected_row(selection_of(state_, state_.pane), keys)];
  }
  Task dead_letter(std::string queue) {
    Task task = test::old_task(std::move(queue), {.state = TaskState::dead});
    state_.facts->dead.push_back(task);
    return task;
  }

  TopState state_ = state_with({queue("b", 5), queue("a", 1, 2), queue("c", 9)});
};

TEST_F(TopKeys, arrows_and_letters_select) {
  EXPECT_EQ(selected(), "a");
  hit(Key::down);
  EXPECT_EQ(selected(), "b");
  type("j");
  EXPECT_EQ(selected(), "c");
  type("j");
  EXPECT_EQ(selected(), "c");
  type("kk");
  EXPECT_EQ(selected(), "a");
  hit(Key::up);
  EXPECT_EQ(selected(), "a");
  type("G");
  EXPECT_EQ(selected(), "c");
  hit(Key::home);
  EXPECT_EQ(selected(), "a");
  hit(Key::page_down);
  EXPECT_EQ(selected(), "c");
}

TEST_F(TopKeys, a_selection_stays_with_its_row_when_rows_move) {
  type("jj");
  EXPECT_EQ(selected(), "c");
  type("s");  // by ready
  EXPECT_THAT(names(), ElementsAre("c", "b", "a"));
  EXPECT_EQ(selected(), "c");
  type("j");
  state_.facts->queues.erase(state_.facts->queues.begin());  // b is gone
  EXPECT_EQ(selected(), "a");                                // who stands there now
  state_.facts->queues.clear();
  EXPECT_EQ(selected(), "");
  type("jkG");
  hit(Key::page_up);
}

TEST_F(TopKeys, sort_goes_through_all_columns_and_back) {
  type("s");
  EXPECT_EQ(state_.sort, QueueColumn::ready);
  type("S");
  EXPECT_EQ(state_.sort, QueueColumn::name);
  type("S");
  EXPECT_EQ(state_.sort, QueueColumn::ran);
  type("s");
  EXPECT_EQ(state_.sort, QueueColumn::name);
  for (std::size_t i = 0; i < queue_column_count; ++i) {
    type("s");
    EXPECT_EQ(names().size(), 3U);
  }
}

TEST_F(TopKeys, the_oldest_come_first_and_queues_without_any_last) {
  state_.facts->queues[0].counts.oldest = t0 - 10s;
  state_.facts->queues[2].counts.oldest = t0 - 20s;
  state_.sort = QueueColumn::oldest;
  EXPECT_THAT(names(), ElementsAre("c", "b", "a"));
}

TEST_F(TopKeys, pausing_asks_first) {
  type("j");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(type("p")));
  EXPECT_EQ(question_of(state_.asked), "Pause queue \"b\"?");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(type("x")));  // neither yes nor no
  EXPECT_EQ(state_.mode, TopMode::asking);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(type("n")));
  EXPECT_EQ(state_.mode, TopMode::watching);
  EXPECT_EQ(state_.message, "nothing was changed");
  type("p");
  hit(Key::escape);
  EXPECT_EQ(state_.mode, TopMode::watching);
  const Wish wish = type("py");
  ASSERT_TRUE(std::holds_alternative<PauseQueue>(wish));
  EXPECT_EQ(std::get<PauseQueue>(wish).queue, "b");
  EXPECT_FALSE(std::get<PauseQueue>(wish).resume);
}

TEST_F(TopKeys, a_paused_queue_is_resumed_and_one_whose_pause_is_over_is_paused) {
  state_.facts->queues[1].queue.settings.paused_until = never;
  EXPECT_TRUE(std::get<PauseQueue>(type("py")).resume);
  state_.facts->queues[1].queue.settings.paused_until = t0 - 1s;
  EXPECT_FALSE(std::get<PauseQueue>(type("py")).resume);
  // The server's clock counts, not ours.
  state_.facts->ahead = -5s;
  EXPECT_TRUE(std::get<PauseQueue>(type("py")).resume);
}

TEST_F(TopKeys, dead_letters_are_retried_one_by_one_or_all_of_a_queue) {
  Wish wish = type("ry");
  ASSERT_TRUE(std::holds_alternative<RetryQueue>(wish));
  EXPECT_EQ(std::get<RetryQueue>(wish).count, 2U);
  const Task task = dead_letter("a");
  hit(Key::tab), hit(Key::tab);
  EXPECT_EQ(state_.pane, TopPane::dead);
  wish = type("ry");
  ASSERT_TRUE(std::holds_alternative<RetryTask>(wish));
  EXPECT_EQ(std::get<RetryTask>(wish).id, task.id);
  EXPECT_TRUE(std::holds_alternative<RetryQueue>(type("Ry")));
  type("R");
  EXPECT_EQ(question_of(state_.asked), "Retry 2 dead letters of \"a\"?");
}

TEST_F(TopKeys, nothing_to_act_on_is_said_and_nothing_is_asked) {
  type("jr");
  EXPECT_EQ(state_.mode, TopMode::watching);
  EXPECT_EQ(state_.message, "\"b\" has no dead letters");
  hit(Key::back_tab);
  type("r");
  EXPECT_EQ(state_.message, "there is no dead letter to retry");
  state_.facts->queues.clear();
  hit(Key::tab);
  type("p");
  EXPECT_EQ(state_.message, "there is no queue to pause");
  state_.facts.reset();
  EXPECT_TRUE(std::holds_alternative<std::monostate>(type("pyryRyjk")));
  EXPECT_EQ(state_.mode, TopMode::watching);
}

TEST_F(TopKeys, a_filter_narrows_while_it_is_typed_and_escape_takes_it_back) {
  state_.facts->queues.push_back(queue("Emails-é", 1));
  dead_letter("a"), dead_letter("Emails-é");
  type("/MAI");
  EXPECT_THAT(names(), ElementsAre("Emails-é"));
  EXPECT_EQ(dead_of(state_).size(), 1U);
  type("q");  // a character now
  EXPECT_THAT(names(), IsEmpty());
  hit(Key::backspace);
  EXPECT_THAT(names(), ElementsAre("Emails-é"));
  hit(Key::enter);
  EXPECT_EQ(state_.mode, TopMode::watching);
  type("/x");
  hit(Key::escape);
  EXPECT_EQ(state_.filter, "MAI");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(hit(Key::escape)));  // widens first
  EXPECT_EQ(state_.filter, "");
  EXPECT_TRUE(std::holds_alternative<Quit>(hit(Key::escape)));
}

TEST_F(TopKeys, backspace_removes_a_whole_character_and_filters_have_an_end) {
  type("/");
  press(state_, {.text = "é"}, 10, t0);
  hit(Key::backspace);
  EXPECT_EQ(state_.filter, "");
  hit(Key::backspace);
  type(std::string(1000, 'x'));
  EXPECT_EQ(state_.filter.size(), 100U);
}

TEST_F(TopKeys, quitting_works_everywhere) {
  EXPECT_TRUE(std::holds_alternative<Quit>(type("q")));
  type("/");
  EXPECT_TRUE(std::holds_alternative<Quit>(hit(Key::interrupt)));
  state_.mode = TopMode::watching;
  type("p");
  EXPECT_TRUE(std::holds_alternative<Quit>(hit(Key::interrupt)));
  state_.mode = TopMode::watching;
  type("?");
  EXPECT_EQ(state_.mode, TopMode::helping);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(hit(Key::escape)));
  EXPECT_EQ(state_.mode, TopMode::watching);
  type("?");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(type("q"))) << "q closes the box only";
  EXPECT_EQ(state_.mode, TopMode::watching);
}

}  // namespace
}  // namespace millrace::cli
