#include "broker/queue_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/store.h"
#include "tests/support/broker_driver.h"
#include "tests/support/matchers.h"

namespace millrace {
namespace {

using namespace millrace::test;

class QueueBookTest : public ::testing::Test {
 protected:
  std::unique_ptr<Store> store_ = open_memory();
  StoreDriver driver_{*store_};
  QueueBook book_;
};

TEST_F(QueueBookTest, finds_a_queue_by_name_number_and_id) {
  const Queue queue = driver_.make_queue(test::queue("q", {.number = QueueNumber{7}}));
  must(book_.reload(*store_));
  const QueueBook::Reading reading(book_);
  for (const QueueRef& ref :
       {QueueRef("q"), QueueRef(QueueNumber{7}), QueueRef(queue.settings.id)}) {
    ASSERT_NE(reading.find(ref), nullptr);
    EXPECT_EQ(reading.find(ref)->settings.name, "q");
  }
  EXPECT_EQ(reading.find(QueueRef("r")), nullptr);
  EXPECT_EQ(reading.find(QueueRef(QueueNumber{8})), nullptr);
}

TEST_F(QueueBookTest, another_number_replaces_the_old_one) {
  book_.set({.settings = test::queue("q", {.number = QueueNumber{7}})});
  book_.set({.settings = test::queue("q", {.number = QueueNumber{8}})});
  EXPECT_EQ(book_.find(QueueNumber{7}), nullptr);
  EXPECT_NE(book_.find(QueueNumber{8}), nullptr);
  book_.forget("q");
  EXPECT_EQ(book_.find(QueueNumber{8}), nullptr);
}

TEST_F(QueueBookTest, looking_up_follows_the_store) {
  EXPECT_THAT(book_.look_up(*store_, "q"), FailsWith(ErrorCode::not_found));
  driver_.make_queue("q");
  EXPECT_THAT(book_.look_up(*store_, "q"), IsOk());
  EXPECT_NE(book_.find("q"), nullptr);
  must(store_->remove_queue("q", false, t0));
  EXPECT_THAT(book_.look_up(*store_, "q"), FailsWith(ErrorCode::not_found));
  EXPECT_EQ(book_.find("q"), nullptr);
}

TEST_F(QueueBookTest, a_queue_that_is_being_removed_is_nothing_to_rely_on) {
  book_.set({.settings = test::queue("q"), .removing = true});
  EXPECT_EQ(QueueBook::Reading(book_).find(std::string_view("q")), nullptr);
  EXPECT_NE(book_.find("q"), nullptr);
  EXPECT_THAT(book_.removing(), ::testing::ElementsAre("q"));
}

}  // namespace
}  // namespace millrace
