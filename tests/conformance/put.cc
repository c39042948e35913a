// Adding tasks: what is stored, in which state, and what happens to repeats and bad neighbours.
#include <gmock/gmock.h>

#include "store/store.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

using ::testing::ElementsAre;

NewTask task_with_everything(TimePoint now) {
  return {.id = fresh_id(),
          .queue = "q",
          .type = "email.send",
          .payload = "{\"to\":\"a@example.org\"}",
          .content_type = "application/msgpack",
          .priority = 7,
          .start = now + 5s,
          .start_by = now + 1h,
          .timeout = 90s,
          .max_lost = 4,
          .retry = RetryRules{.base = 7s, .max_retries = 9},
          .unique = UniqueKey{.key = "k", .scope = UniqueScope::window, .window = 10s},
          .callback = Callback{.url = "https://example.org/hook", .events = 3, .max_attempts = 5},
          .keep_for = 2h,
          .client_id = "client",
          .request_id = "request",
          .group = "group",
          .metadata = "{\"a\":1}",
          .tags = {"red", "blue"},
          .parent = fresh_id()};
}

// S0-024, S2-012, S2-013, S1-013, S1-017, S1-019, S1-023, S0-015
TEST_P(StoreConformance, a_put_task_is_found_with_everything_it_was_given) {
  const NewTask given = task_with_everything(now);
  const Put answer = put(given);
  const Task found = find(given.id);
  EXPECT_EQ(answer, (Put{.id = given.id, .number = found.number, .state = TaskState::delayed}));
  const Task expected = {.id = given.id,
                         .number = found.number,
                         .version = found.version,
                         .queue = "q",
                         .type = given.type,
                         .payload = given.payload,
                         .content_type = given.content_type,
                         .state = TaskState::delayed,
                         .priority = 7,
                         .created_at = now,
                         .updated_at = now,
                         .start = now + 5s,
                         .start_by = given.start_by,
                         .timeout = given.timeout,
                         .max_lost = given.max_lost,
                         .retry = given.retry,
                         .unique = given.unique,
                         .callback = given.callback,
                         .keep_for = given.keep_for,
                         .client_id = given.client_id,
                         .request_id = given.request_id,
                         .group = given.group,
                         .metadata = given.metadata,
                         .tags = given.tags,
                         .parent = given.parent};
  EXPECT_EQ(found, expected);
}

// S1-017
TEST_P(StoreConformance, a_payload_is_opaque_bytes) {
  std::string bytes;
  for (int value = 255; value >= 0; --value) bytes.push_back(static_cast<char>(value));
  const Put binary = put(task("q", {.payload = bytes}));
  const Put empty = put(task("q"));
  EXPECT_EQ(find(binary.id).payload, bytes);
  EXPECT_EQ(find(empty.id).payload, "");
  EXPECT_EQ(take_one("q").payload, bytes);
}

// S1-015
// Design 2.1: the store's own increasing number is the order of arrival.
TEST_P(StoreConformance, numbers_are_the_order_of_arrival) {
  const auto first = put_all({task("q"), task("q")});
  make_queue("other");
  const auto second = put_all({task("other"), task("q")});
  EXPECT_GE(first.at(0).number, TaskNumber{1});
  EXPECT_LT(first.at(0).number, first.at(1).number);
  EXPECT_LT(first.at(1).number, second.at(0).number);
  EXPECT_LT(second.at(0).number, second.at(1).number);
}

// S1-015
TEST_P(StoreConformance, a_number_is_never_given_twice) {
  const Put gone = put(task("q"));
  remove(gone.id);
  EXPECT_GT(put(task("q")).number, gone.number);
}

// S0-072, S0-059
TEST_P(StoreConformance, a_task_without_a_start_is_queued_and_ready_now) {
  const Put answer = put(task("q"));
  EXPECT_EQ(answer.state, TaskState::queued);
  EXPECT_EQ(find(answer.id).start, now);
}

TEST_P(StoreConformance, a_start_in_the_past_is_ready_now) {
  const Put answer = put(task("q", {.start = now - 1h}));
  EXPECT_EQ(answer.state, TaskState::queued);
  EXPECT_EQ(find(answer.id).start, now);
}

TEST_P(StoreConformance, a_start_at_this_very_moment_is_queued) {
  EXPECT_EQ(put(task("q", {.start = now})).state, TaskState::queued);
}

// S1-024, S1-029, S1-020
TEST_P(StoreConformance, a_task_that_starts_later_is_delayed_until_then) {
  const Put answer = put(task("q", {.start = now + 10s}));
  EXPECT_EQ(answer.state, TaskState::delayed);
  EXPECT_EQ(find(answer.id).start, now + 10s);
  pass(10s - 1ms);
  EXPECT_THAT(take("q"), ElementsAre());
  pass(1ms);
  EXPECT_EQ(take_one("q").id, answer.id);
}

// S1-025, S1-029
TEST_P(StoreConformance, a_delay_counts_from_the_put) {
  const Put answer = put(task("q", {.delay = 10s}));
  EXPECT_EQ(answer.state, TaskState::delayed);
  EXPECT_EQ(find(answer.id).start, now + 10s);
  EXPECT_EQ(put(task("q", {.delay = 0s})).state, TaskState::queued);
}

// S0-058
TEST_P(StoreConformance, a_held_task_is_created_and_not_given_out) {
  const Put answer = put(task("q", {.held = true}));
  EXPECT_EQ(answer.state, TaskState::created);
  EXPECT_EQ(put(task("q", {.held = true, .start = now + 1s})).state, TaskState::created);
  pass(1h);
  advance();
  EXPECT_THAT(take("q"), ElementsAre());
}

// Design 2.1: our clients always send ids, so a put may be repeated.
TEST_P(StoreConformance, the_same_id_put_again_returns_the_existing_task_whatever_the_payload) {
  const Put first = put(task("q", {.payload = "one"}));
  const Task before = find(first.id);
  pass(1s);
  make_queue("other");
  const Put there{.id = first.id,
                  .number = first.number,
                  .state = TaskState::queued,
                  .existing = true,
                  .queue = "q"};
  EXPECT_EQ(put(task("q", {.id = first.id, .payload = "two", .priority = 9})), there);
  EXPECT_EQ(put(task("other", {.id = first.id})), there);
  EXPECT_EQ(find(first.id), before);
}

TEST_P(StoreConformance, the_same_id_is_known_in_every_state) {
  for (const auto& [state, id] : one_in_each_state("q")) {
    const Put again = put(task("q", {.id = id}));
    EXPECT_TRUE(again.existing);
    EXPECT_EQ(again.state, state);
  }
}

TEST_P(StoreConformance, the_same_id_is_known_inside_a_batch_and_across_queues) {
  make_queue("other");
  const TaskId id = fresh_id();
  const auto puts = put_all({task("q", {.id = id}), task("other", {.id = id})});
  EXPECT_FALSE(puts.at(0).existing);
  EXPECT_TRUE(puts.at(1).existing);
  EXPECT_EQ(puts.at(1).number, puts.at(0).number);
  EXPECT_EQ(find(id).queue, "q");
}

TEST_P(StoreConformance, a_removed_id_may_be_put_again) {
  const Put first = put(task("q"));
  remove(first.id);
  const Put again = put(task("q", {.id = first.id}));
  EXPECT_FALSE(again.existing);
  EXPECT_GT(again.number, first.number);
}

// Design 2.1: bulk put, per item, in order.
TEST_P(StoreConformance, a_bad_item_of_a_batch_changes_nothing_and_the_others_go_on) {
  const std::vector<NewTask> batch = {task("q"), task("q", {.priority = 10}), task("nowhere"),
                                      task("q")};
  const auto results = must(store().put(batch, now));
  ASSERT_EQ(results.size(), 4U);
  EXPECT_THAT(results.at(0), IsOk());
  EXPECT_THAT(results.at(1), FailsWith(ErrorCode::invalid));
  EXPECT_THAT(results.at(2), FailsWith(ErrorCode::not_found));
  EXPECT_THAT(results.at(3), IsOk());
  EXPECT_EQ(list().size(), 2U);
}

TEST_P(StoreConformance, an_empty_batch_is_no_error) {
  EXPECT_TRUE(must(store().put({}, now)).empty());
  const WorkResult nothing = must(store().work({}, {}, {}, now));
  EXPECT_TRUE(nothing.settled.empty() && nothing.extended.empty() && nothing.taken.empty());
  EXPECT_TRUE(must(store().cancel({}, now)).empty());
  EXPECT_TRUE(must(store().retry({}, now)).empty());
  EXPECT_TRUE(must(store().remove({}, now)).empty());
  EXPECT_TRUE(must(store().update({}, now)).empty());
}

// ---- The order of the checks -------------------------------------------------------------------

TEST_P(StoreConformance, bad_values_are_refused_before_the_same_id_is_looked_for) {
  const Put first = put(task("q"));
  EXPECT_THAT(try_put(task("q", {.id = first.id, .priority = 10})), FailsWith(ErrorCode::invalid));
}

TEST_P(StoreConformance, the_same_id_is_looked_for_before_the_unique_key) {
  const Put holder = put(task("q", {.unique = UniqueKey{.key = "k"}}));
  const Put other = put(task("q"));
  const Put again = put(task("q", {.id = other.id, .unique = UniqueKey{.key = "k"}}));
  EXPECT_EQ(again.id, other.id);
  EXPECT_NE(again.id, holder.id);
}

TEST_P(StoreConformance, existing_tasks_are_found_before_the_queue_is_asked) {
  QueueSettings settings = queue("gate", {.max_depth = 1, .put_rate = Rate{1, 1h}});
  make_queue(settings);
  const Put holder = put(task("gate", {.unique = UniqueKey{.key = "k"}}));
  settings.active = false;
  make_queue(settings);
  EXPECT_TRUE(put(task("gate", {.id = holder.id})).existing);
  EXPECT_TRUE(put(task("gate", {.unique = UniqueKey{.key = "k"}})).existing);
}

TEST_P(StoreConformance, an_inactive_queue_says_so_before_its_limits_do) {
  QueueSettings settings = queue("gate", {.max_depth = 1, .put_rate = Rate{1, 1h}});
  make_queue(settings);
  put(task("gate"));
  settings.active = false;
  make_queue(settings);
  EXPECT_THAT(try_put(task("gate")), FailsWith(ErrorCode::conflict));
}

TEST_P(StoreConformance, a_put_over_the_depth_uses_nothing_of_the_rate) {
  make_queue(queue("gate", {.max_depth = 1, .put_rate = Rate{2, 1h}}));
  put(task("gate"));
  EXPECT_THAT(try_put(task("gate")), IsLimited());
  take_one("gate");
  EXPECT_THAT(try_put(task("gate")), IsOk());
}

// ---- Time --------------------------------------------------------------------------------------

TEST_P(StoreConformance, moments_need_not_increase_from_call_to_call) {
  const Put late = put(task("q"));
  pass(-1h);
  const Put early = put(task("q"));
  EXPECT_EQ(early.state, TaskState::queued);
  EXPECT_EQ(find(early.id).start, now);
  EXPECT_EQ(take_one("q").id, early.id);
  pass(1h);
  EXPECT_EQ(take_one("q").id, late.id);
}

TEST_P(StoreConformance, the_version_grows_by_one_with_every_change) {
  const TaskId id = put(task("q")).id;
  Version version = find(id).version;
  const auto grown = [&] {
    ++version.value;
    return find(id).version == version;
  };
  update({.id = id, .priority = 1});
  EXPECT_TRUE(grown());
  const Lease lease = take_one("q");
  EXPECT_TRUE(grown());
  extend(lease, 90s);
  EXPECT_TRUE(grown());
  settle(done(lease));
  EXPECT_TRUE(grown());
}

}  // namespace
}  // namespace millrace::test
