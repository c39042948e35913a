// Lists: newest first, page by page, filtered.
#include <gmock/gmock.h>
#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "core/transition.h"
#include "store/store.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_P(StoreConformance, a_list_shows_the_newest_first) {
  make_queue("other");
  auto ids = ids_of(put_all({task("q"), task("other"), task("q", {.priority = 9})}));
  std::ranges::reverse(ids);
  EXPECT_THAT(ids_of(list()), ElementsAreArray(ids));
}

TEST_P(StoreConformance, a_list_shows_tasks_of_every_state) {
  const auto tasks = one_in_each_state("q");
  EXPECT_THAT(list(), SizeIs(state_count));
  for (const auto& [state, id] : tasks) {
    EXPECT_THAT(ids_of(list({.states = {state}})), ElementsAre(id));
  }
  EXPECT_THAT(list({.states = {TaskState::failed, TaskState::dead}}), SizeIs(2));
}

TEST_P(StoreConformance, an_empty_list_has_no_next_page) {
  const TaskPage page = must(store().list({}));
  EXPECT_THAT(page.tasks, IsEmpty());
  EXPECT_EQ(page.next, std::nullopt);
}

TEST_P(StoreConformance, pages_of_any_size_show_every_task_once) {
  std::vector<NewTask> batch;
  for (int i = 0; i < 10; ++i) batch.push_back(task("q"));
  auto ids = ids_of(put_all(batch));
  std::ranges::reverse(ids);
  for (const std::uint32_t limit : {1U, 2U, 3U, 9U, 10U, 11U, 1000U}) {
    EXPECT_THAT(ids_of(list({.limit = limit})), ElementsAreArray(ids)) << "limit " << limit;
    EXPECT_LE(must(store().list({.limit = limit})).tasks.size(), limit);
  }
}

TEST_P(StoreConformance, a_list_may_end_at_a_number) {
  make_queue("other");
  const auto puts = put_all({task("q"), task("other"), task("q"), task("other"), task("q")});
  const TaskPage page =
      must(store().list({.before = puts.at(4).number, .from = puts.at(1).number, .limit = 3}));
  EXPECT_THAT(ids_of(page.tasks), ElementsAre(puts.at(3).id, puts.at(2).id, puts.at(1).id));
  EXPECT_EQ(page.next, std::nullopt);
  const TaskPage cut = must(store().list({.from = puts.at(1).number, .limit = 2}));
  EXPECT_EQ(cut.next, TaskNumber{puts.at(2).number.value + 1});
}

TEST_P(StoreConformance, pages_of_several_queues_and_states_are_one_list) {
  make_queue("other");
  std::map<TaskNumber, TaskId> by_number;
  for (const std::string name : {"q", "other"}) {
    for (const auto& [state, id] : one_in_each_state(name)) by_number[find(id).number] = id;
  }
  std::vector<TaskId> ids;
  for (const auto& [number, id] : by_number) ids.insert(ids.begin(), id);
  for (const std::uint32_t limit : {1U, 7U, 100U}) {
    EXPECT_THAT(ids_of(list({.limit = limit})), ElementsAreArray(ids)) << "limit " << limit;
  }
  const auto waiting = list({.states = waiting_states, .limit = 3});
  EXPECT_THAT(waiting, SizeIs(8));
  EXPECT_TRUE(std::ranges::is_sorted(waiting, std::greater{}, &Task::number));
}

TEST_P(StoreConformance, tasks_that_arrive_meanwhile_do_not_disturb_the_pages) {
  const auto puts = put_all({task("q"), task("q"), task("q")});
  const TaskPage first = must(store().list({.limit = 2}));
  put(task("q"));
  ASSERT_TRUE(first.next.has_value());
  const TaskPage second = must(store().list({.before = first.next, .limit = 2}));
  EXPECT_THAT(ids_of(first.tasks), ElementsAre(puts.at(2).id, puts.at(1).id));
  EXPECT_THAT(ids_of(second.tasks), ElementsAre(puts.at(0).id));
  EXPECT_EQ(second.next, std::nullopt);
}

TEST_P(StoreConformance, a_cursor_outlives_the_task_it_points_at) {
  const auto puts = put_all({task("q"), task("q"), task("q")});
  const TaskPage first = must(store().list({.limit = 2}));
  remove(puts.at(1).id);
  EXPECT_THAT(ids_of(must(store().list({.before = first.next})).tasks), ElementsAre(puts.at(0).id));
}

TEST_P(StoreConformance, a_list_leaves_out_the_large_parts_unless_it_is_asked_for_them) {
  const TaskId id = put(task("q", {.type = "t", .payload = "payload", .tags = {"x"}})).id;
  const Lease lease = take_one("q");
  must(try_extend({.id = id, .token = lease.token, .progress = 50, .log = {"line"}}));
  settle(done(lease, "result"));
  const Task everything = find(id);
  EXPECT_THAT(list({.detail = Detail::full}), ElementsAre(everything));
  Task brief = everything;
  brief.payload.clear();
  brief.result.clear();
  brief.log.clear();
  brief.history.clear();
  EXPECT_THAT(list(), ElementsAre(brief));
}

// ---- Filters -----------------------------------------------------------------------------------

// More of a task may be there all the same.
TEST_P(StoreConformance, a_list_of_states_has_what_changes_and_obeys_every_filter) {
  put(task("q", {.type = "other", .tags = {"x"}}));
  put(task("q", {.type = "t", .payload = "payload", .tags = {"x"}}));
  settle(failed(take_one("q")));
  for (const ListRequest& request :
       {ListRequest{.queue = "q", .states = {TaskState::failed, TaskState::queued}},
        ListRequest{.type = "t"}, ListRequest{.tag = "x", .limit = 1}}) {
    ListRequest states = request;
    states.detail = Detail::state;
    const auto usual = list(request);
    const auto brief = list(states);
    ASSERT_EQ(ids_of(brief), ids_of(usual));
    for (std::size_t i = 0; i < usual.size(); ++i) {
      EXPECT_EQ(brief[i].number, usual[i].number);
      EXPECT_EQ(brief[i].version, usual[i].version);
      EXPECT_EQ(brief[i].queue, usual[i].queue);
      EXPECT_EQ(brief[i].state, usual[i].state);
      EXPECT_EQ(brief[i].finished_at, usual[i].finished_at);
    }
  }
}

TEST_P(StoreConformance, a_list_is_filtered_by_each_field) {
  make_queue("other");
  const TaskId by_queue = put(task("other")).id;
  const TaskId by_type = put(task("q", {.type = "t"})).id;
  const TaskId by_client = put(task("q", {.client_id = "c"})).id;
  const TaskId by_group = put(task("q", {.group = "g"})).id;
  const TaskId by_tag = put(task("q", {.tags = {"a", "x", "b"}})).id;
  const TaskId by_priority = put(task("q", {.priority = 0})).id;
  EXPECT_THAT(ids_of(list({.queue = "other"})), ElementsAre(by_queue));
  EXPECT_THAT(ids_of(list({.type = "t"})), ElementsAre(by_type));
  EXPECT_THAT(ids_of(list({.client_id = "c"})), ElementsAre(by_client));
  EXPECT_THAT(ids_of(list({.group = "g"})), ElementsAre(by_group));
  EXPECT_THAT(ids_of(list({.tag = "x"})), ElementsAre(by_tag));
  EXPECT_THAT(ids_of(list({.priority = 0})), ElementsAre(by_priority));
  EXPECT_THAT(list({.type = "nothing has this"}), IsEmpty());
}

TEST_P(StoreConformance, a_list_is_filtered_by_the_moment_of_the_put) {
  std::vector<TaskId> ids;
  for (int i = 0; i < 4; ++i) {
    ids.push_back(put(task("q")).id);
    pass(1s);
  }
  EXPECT_THAT(ids_of(list({.created_from = t0 + 1s})),
              ElementsAre(ids.at(3), ids.at(2), ids.at(1)));
  EXPECT_THAT(ids_of(list({.created_until = t0 + 1s})), ElementsAre(ids.at(0)));
  EXPECT_THAT(ids_of(list({.created_from = t0 + 1s, .created_until = t0 + 3s})),
              ElementsAre(ids.at(2), ids.at(1)));
}

TEST_P(StoreConformance, several_filters_hold_together) {
  const TaskId both = put(task("q", {.type = "t", .tags = {"x"}})).id;
  put(task("q", {.type = "t"}));
  put(task("q", {.tags = {"x"}}));
  cancel(put(task("q", {.type = "t", .tags = {"x"}})).id);
  EXPECT_THAT(ids_of(list({.states = {TaskState::queued}, .type = "t", .tag = "x"})),
              ElementsAre(both));
}

TEST_P(StoreConformance, filtered_pages_show_every_match_once) {
  std::vector<TaskId> matches;
  for (int i = 0; i < 30; ++i) {
    const bool match = i % 3 == 0;
    const TaskId id = put(task("q", {.type = match ? "t" : "u"})).id;
    if (match) matches.push_back(id);
  }
  std::ranges::reverse(matches);
  for (const std::uint32_t limit : {1U, 3U, 10U, 100U}) {
    EXPECT_THAT(ids_of(list({.type = "t", .limit = limit})), ElementsAreArray(matches));
  }
}

// Design 2.1: at most 20,000 entries per page; a page may be short and says how far it looked.
TEST_P(StoreConformance, a_page_looks_at_20000_entries_at_most_and_may_be_short) {
  const TaskId needle = put(task("q", {.type = "needle"})).id;
  const std::size_t batch_size = std::min<std::size_t>(1000, store().traits().batch);
  for (std::size_t stored = 0; stored < 20'500; stored += batch_size) {
    std::vector<NewTask> batch;
    for (std::size_t i = 0; i < batch_size; ++i) batch.push_back(task("q"));
    put_all(batch);
  }
  const TaskPage page = must(store().list({.type = "needle"}));
  EXPECT_LE(page.looked_at, 20'000U);
  EXPECT_THAT(page.tasks, IsEmpty());
  EXPECT_TRUE(page.next.has_value());
  EXPECT_THAT(ids_of(list({.type = "needle"})), ElementsAre(needle));
}

TEST_P(StoreConformance, a_page_of_whole_tasks_is_bounded_in_bytes) {
  std::vector<TaskId> ids;
  for (int i = 0; i < 24; ++i) {
    ids.push_back(put(task("q", {.payload = std::string(900'000, 'x')})).id);
    must(store().flush());
  }
  std::ranges::reverse(ids);
  const TaskPage page = must(store().list({.limit = 1000, .detail = Detail::full}));
  EXPECT_LE(page.tasks.size(), 20U) << "a page ends after 16 MiB";
  EXPECT_TRUE(page.next.has_value());
  EXPECT_THAT(ids_of(list({.limit = 1000, .detail = Detail::full})), ElementsAreArray(ids));
}

// ---- Beside changes ----------------------------------------------------------------------------

TEST_P(StoreConformance, a_list_beside_changes_shows_every_task_once) {
  make_queue("other");
  std::vector<NewTask> batch;
  for (int i = 0; i < 150; ++i) batch.push_back(task(i % 3 == 0 ? "other" : "q"));
  auto ids = ids_of(put_all(batch));
  std::ranges::reverse(ids);
  std::atomic<bool> over = false;
  std::atomic<int> lists = 0;
  std::vector<std::string> wrong;
  std::jthread reader([&] {
    while (wrong.empty() && (!over || lists == 0)) {
      std::vector<TaskId> listed;
      ListRequest request{.limit = 40};
      do {
        const auto page = store().list(request);
        if (!page) return wrong.push_back(page.error().message);
        for (const Task& each : page->tasks) listed.push_back(each.id);
        request.before = page->next;
      } while (request.before);
      if (listed != ids) wrong.push_back(::testing::PrintToString(listed));
      ++lists;
    }
  });
  for (const char* queue : {"q", "other"}) {
    for (auto leases = take(queue, 5); !leases.empty(); leases = take(queue, 5)) {
      for (const Lease& lease : leases) settle(done(lease));
    }
  }
  over = true;
  reader.join();
  EXPECT_THAT(wrong, IsEmpty());
}

}  // namespace
}  // namespace millrace::test
