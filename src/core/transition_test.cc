#include "core/transition.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace millrace {
namespace {

template <class Visit>
void for_every_pair(Visit visit) {
  for (std::size_t s = 0; s < state_count; ++s) {
    for (std::size_t e = 0; e < event_count; ++e) visit(TaskState(s), Event(e));
  }
}

std::string rendered() {
  std::string list;
  for_every_pair([&list](TaskState from, Event event) {
    const auto to = next_state(from, event);
    if (to) list += fmt::format("{} --{}--> {}\n", name_of(from), name_of(event), name_of(*to));
  });
  return list;
}

// What stands between the markers of docs/states.md, without the fence.
std::string documented() {
  std::ifstream file("docs/states.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  const std::string begin = "<!-- transitions: written by core/transition_test.cc -->\n```\n";
  const std::string end = "```\n<!-- end of transitions -->\n";
  const std::size_t from = page.find(begin);
  const std::size_t to = page.find(end);
  if (from == std::string::npos || to == std::string::npos) return "the markers are missing";
  return page.substr(from + begin.size(), to - from - begin.size());
}

// S0-058 S0-059 S0-060 S0-061 S0-062 S0-063 S0-064 S0-065
TEST(Transition, the_page_in_the_docs_is_the_table) {
  EXPECT_EQ(documented(), rendered())
      << "put the second text between the markers of docs/states.md";
}

// S0-066
TEST(Transition, the_main_path_leads_from_created_to_completed) {
  EXPECT_EQ(next_state(TaskState::created, Event::release), TaskState::queued);
  EXPECT_EQ(next_state(TaskState::queued, Event::take), TaskState::processing);
  EXPECT_EQ(next_state(TaskState::processing, Event::done), TaskState::completed);
}

// S0-067
TEST(Transition, a_failure_leads_to_a_retry_or_to_a_dead_letter) {
  EXPECT_EQ(next_state(TaskState::processing, Event::retry), TaskState::retrying);
  EXPECT_EQ(next_state(TaskState::retrying, Event::become_due), TaskState::queued);
  EXPECT_EQ(next_state(TaskState::processing, Event::fail), TaskState::failed);
  EXPECT_EQ(next_state(TaskState::processing, Event::exhaust), TaskState::dead);
}

// S0-068: cancelled is a state of its own, and never becomes failed.
TEST(Transition, cancelled_is_final_and_never_becomes_failed) {
  EXPECT_TRUE(is_final(TaskState::cancelled));
  for (std::size_t e = 0; e < event_count; ++e) {
    EXPECT_NE(next_state(TaskState::cancelled, Event(e)), TaskState::failed);
  }
}

// S1-040
TEST(Transition, a_taken_task_goes_back_by_loss_and_later_by_retry_or_snooze) {
  EXPECT_EQ(next_state(TaskState::processing, Event::lose), TaskState::queued);
  EXPECT_EQ(next_state(TaskState::processing, Event::give_back), TaskState::queued);
  EXPECT_EQ(next_state(TaskState::processing, Event::snooze), TaskState::delayed);
  EXPECT_EQ(next_state(TaskState::delayed, Event::become_due), TaskState::queued);
}

TEST(Transition, what_is_due_may_be_taken_whether_promoted_or_not) {
  for (const TaskState from : {TaskState::queued, TaskState::delayed, TaskState::retrying}) {
    EXPECT_EQ(next_state(from, Event::take), TaskState::processing) << name_of(from);
  }
  EXPECT_EQ(next_state(TaskState::created, Event::take), std::nullopt);
}

TEST(Transition, every_state_is_waiting_or_running_or_final) {
  for (std::size_t s = 0; s < state_count; ++s) {
    const auto state = TaskState(s);
    const bool running = state == TaskState::processing;
    EXPECT_EQ(int(is_waiting(state)) + int(is_final(state)) + int(running), 1) << name_of(state);
  }
}

TEST(Transition, waiting_tasks_may_be_cancelled_and_may_expire_and_running_ones_may_not_expire) {
  for (std::size_t s = 0; s < state_count; ++s) {
    const auto state = TaskState(s);
    EXPECT_EQ(next_state(state, Event::cancel).has_value(), !is_final(state)) << name_of(state);
    EXPECT_EQ(next_state(state, Event::expire).has_value(), is_waiting(state)) << name_of(state);
  }
}

TEST(Transition, events_that_end_a_lease_happen_only_while_there_is_one) {
  for (const Event event : {Event::done, Event::retry, Event::fail, Event::exhaust, Event::snooze,
                            Event::give_back, Event::lose}) {
    for (std::size_t s = 0; s < state_count; ++s) {
      EXPECT_EQ(next_state(TaskState(s), event).has_value(), TaskState(s) == TaskState::processing)
          << name_of(TaskState(s)) << ' ' << name_of(event);
    }
  }
}

TEST(Transition, every_state_but_completed_can_still_reach_completed) {
  std::set<TaskState> reaching = {TaskState::completed};
  for (std::size_t round = 0; round < state_count; ++round) {
    for_every_pair([&reaching](TaskState from, Event event) {
      const auto to = next_state(from, event);
      if (to && reaching.contains(*to)) reaching.insert(from);
    });
  }
  EXPECT_EQ(reaching.size(), state_count);
}

TEST(Transition, a_task_waits_as_delayed_until_its_ready_moment) {
  const TimePoint now{Duration(1000)};
  EXPECT_EQ(waiting_state(now + Duration(1), now), TaskState::delayed);
  EXPECT_EQ(waiting_state(now, now), TaskState::queued);
  EXPECT_EQ(waiting_state(now - Duration(1), now), TaskState::queued);
  EXPECT_EQ(waiting_state(never, now), TaskState::delayed);
}

TEST(Transition, names_lead_back_to_their_states) {
  std::set<std::string_view> names;
  for (std::size_t s = 0; s < state_count; ++s) {
    EXPECT_EQ(state_from_name(name_of(TaskState(s))), TaskState(s));
    names.insert(name_of(TaskState(s)));
  }
  EXPECT_EQ(names.size(), state_count);
  for (const std::string_view bad : {"", "Queued", "queue", "queued ", "unknown"}) {
    EXPECT_EQ(state_from_name(bad), std::nullopt) << bad;
  }
}

TEST(Transition, every_event_has_a_name_of_its_own_and_unknown_numbers_have_none) {
  std::set<std::string_view> names;
  for (std::size_t e = 0; e < event_count; ++e) names.insert(name_of(Event(e)));
  EXPECT_EQ(names.size(), event_count);
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_EQ(name_of(Event(event_count)), "unknown");
  EXPECT_EQ(name_of(TaskState(state_count)), "unknown");
}

TEST(TransitionDeathTest, an_event_that_cannot_happen_ends_the_process) {
  EXPECT_EQ(state_after(TaskState::queued, Event::take), TaskState::processing);
  EXPECT_DEATH(state_after(TaskState::completed, Event::take),
               "transition_test.cc:[0-9]+: an event");
}

}  // namespace
}  // namespace millrace
