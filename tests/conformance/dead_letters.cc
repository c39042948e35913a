// Queues that send their dead letters to another one. What is sent, and when, the broker decides.
#include <gmock/gmock.h>

#include "store/store.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_P(StoreConformance, a_dead_letter_queue_is_kept_and_may_be_changed_and_taken_away) {
  make_queue("bin");
  make_queue("other");
  QueueSettings settings = queue("sender", {.dead_letter_queue = "bin"});
  make_queue(settings);
  EXPECT_EQ(find_queue("sender").settings.dead_letter_queue, "bin");
  for (const char* to : {"other", ""}) {
    settings.dead_letter_queue = to;
    must(store().put_queue(settings, PutQueue::replace, now));
    EXPECT_EQ(find_queue("sender").settings.dead_letter_queue, to);
  }
}

TEST_P(StoreConformance, a_dead_letter_queue_survives_a_restart) {
  if (!can_reopen()) GTEST_SKIP() << "the store keeps nothing";
  make_queue("bin");
  make_queue(queue("sender", {.dead_letter_queue = "bin"}));
  must(store().flush());
  reopen();
  EXPECT_EQ(find_queue("sender").settings.dead_letter_queue, "bin");
}

TEST_P(StoreConformance, a_dead_letter_queue_that_cannot_be_is_refused) {
  make_queue("bin");
  const auto refused = [&](const QueueSettings& settings, ErrorCode code, const char* says) {
    expect_unchanged([&] {
      const auto answer = store().put_queue(settings, PutQueue::replace, now);
      ASSERT_THAT(answer, FailsWith(code, HasSubstr(says)));
      EXPECT_EQ(answer.error().field, "dead_letter_queue");
    });
  };
  refused(queue("new", {.dead_letter_queue = "none"}), ErrorCode::not_found, "create it first");
  refused(queue("new", {.dead_letter_queue = "new"}), ErrorCode::invalid, "its own");
  refused(queue("new", {.dead_letter_queue = "$webhooks"}), ErrorCode::invalid, "internal");
  refused(queue("new", {.dead_letter_queue = "a b"}), ErrorCode::invalid, "' '");
  refused(queue("new", {.dead_letters = false, .dead_letter_queue = "bin"}), ErrorCode::invalid,
          "dead_letters is false");
  put(task("bin"));
  take_one("bin");
  must(store().remove_queue("bin", true, now));
  refused(queue("new", {.dead_letter_queue = "bin"}), ErrorCode::conflict, "being removed");
}

TEST_P(StoreConformance, dead_letters_that_would_come_back_are_refused_with_their_path) {
  make_queue("c");
  make_queue(queue("b", {.dead_letter_queue = "c"}));
  make_queue(queue("a", {.dead_letter_queue = "b"}));
  for (const auto& [name, path] : {std::pair("b", "b -> a -> b"), {"c", "c -> a -> b -> c"}}) {
    expect_unchanged([&] {
      QueueSettings settings = find_queue(name).settings;
      settings.dead_letter_queue = "a";
      const auto answer = store().put_queue(settings, PutQueue::replace, now);
      ASSERT_THAT(answer, FailsWith(ErrorCode::conflict, HasSubstr(path)));
      EXPECT_EQ(answer.error().field, "dead_letter_queue");
    });
  }
  QueueSettings settings = find_queue("b").settings;
  settings.dead_letter_queue = "";
  must(store().put_queue(settings, PutQueue::replace, now));
  settings = find_queue("c").settings;
  settings.dead_letter_queue = "a";
  EXPECT_THAT(store().put_queue(settings, PutQueue::replace, now), IsOk()) << "c -> a -> b";
}

TEST_P(StoreConformance, a_queue_that_gets_dead_letters_is_not_removed) {
  make_queue("bin");
  make_queue(queue("sender", {.dead_letter_queue = "bin"}));
  for (const bool forced : {false, true}) {
    expect_unchanged([&] {
      EXPECT_THAT(store().remove_queue("bin", forced, now),
                  FailsWith(ErrorCode::conflict,
                            AllOf(HasSubstr("\"sender\""), HasSubstr("change that first"))));
    });
  }
  must(store().remove_queue("sender", false, now));
  EXPECT_THAT(store().remove_queue("bin", false, now), IsOk());
}

}  // namespace
}  // namespace millrace::test
