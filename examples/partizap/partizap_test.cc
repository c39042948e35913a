// The five queues at work, in virtual time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <webp/decode.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "test_pictures.h"
#include "test_shop.h"
#include "tests/support/matchers.h"

namespace partizap {
namespace {

using millrace::ErrorCode;
using millrace::Put;
using millrace::Task;
using millrace::TaskId;
using millrace::TaskState;
using millrace::TimePoint;
using millrace::test::FailsWith;
using millrace::test::IsLimited;
using millrace::test::IsOk;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PartizapTest : public ::testing::Test {
 protected:
  TestShop s_;

  static std::vector<millrace::Duration> times_of(const std::vector<TestShop::Sent>& sent) {
    std::vector<millrace::Duration> times;
    for (const auto& each : sent) times.push_back(each.at - t0);
    return times;
  }
  // The provider fails so often, then it works.
  void fail_first(std::uint32_t times) {
    s_.provider = [times](millrace::Context& task) {
      if (task.attempt() <= times) throw std::runtime_error("the provider does not answer");
    };
  }
  void upload_original(const std::string& key, const Image& image) {
    ASSERT_THAT(s_.services.storage.upload(key, ppm_of(image)), IsOk());
  }
};

// ---- notifications -----------------------------------------------------------------------------

// S3-015, S3-034, S3-036
TEST_F(PartizapTest, a_verification_sms_is_put_as_the_shop_wants_it) {
  const Put put = s_.shop().send_verification_sms("+7 900", "4711");
  const Task task = s_.find(put.id);
  EXPECT_EQ(task.queue, "notifications");
  EXPECT_EQ(task.type, "send-sms");
  EXPECT_EQ(task.priority, 9);  // BullMQ's 1
  EXPECT_EQ(task.payload, R"({"phone":"+7 900","message":"Ваш код подтверждения: 4711",)"
                          R"("template":"verification"})");
}

// S3-003, S3-009, S3-034, S3-042, S3-043, S3-056
TEST_F(PartizapTest, an_sms_that_fails_twice_goes_out_at_the_third_attempt) {
  fail_first(2);
  const Put put = s_.shop().send_verification_sms("+7 900", "4711");
  s_.step(30s);
  EXPECT_THAT(times_of(s_.sms), ElementsAre(0s, 1s, 3s));
  const std::string id = millrace::to_text(put.id);
  EXPECT_THAT(s_.lines, ElementsAre("SMS failed: the provider does not answer",
                                    "Job " + id + " failed: the provider does not answer",
                                    "SMS failed: the provider does not answer",
                                    "Job " + id + " failed: the provider does not answer",
                                    "SMS sent to +7 900", "Job " + id + " completed"));
  EXPECT_THAT(s_.alerts, IsEmpty());
}

// S3-056, S3-062
TEST_F(PartizapTest, an_sms_has_three_attempts) {
  fail_first(3);
  const Put put = s_.shop().send_verification_sms("+7 900", "4711");
  s_.step(1h);
  EXPECT_THAT(times_of(s_.sms), ElementsAre(0s, 1s, 3s));
  EXPECT_EQ(s_.find(put.id).state, TaskState::dead);
  EXPECT_THAT(s_.alerts, SizeIs(1));
}

// S3-035
TEST_F(PartizapTest, an_sms_that_was_sent_is_forgotten) {
  const Put put = s_.shop().send_verification_sms("+7 900", "4711");
  s_.step(0s);
  EXPECT_THAT(s_.sms, SizeIs(1));
  s_.step(1s);
  EXPECT_THAT(s_.client().find(put.id), FailsWith(ErrorCode::not_found));
}

// S3-035
TEST_F(PartizapTest, the_last_hundred_failures_are_kept) {
  fail_first(3);
  std::vector<TaskId> ids;
  for (int i = 0; i < 105; ++i) {
    ids.push_back(s_.shop().send_verification_sms("+7 900", "4711").id);
    if (i % 50 == 49) s_.step(1min);
  }
  s_.step(1min);
  EXPECT_THAT(s_.dead("notifications"), SizeIs(100));
  EXPECT_THAT(s_.client().find(ids[4]), FailsWith(ErrorCode::not_found));
  EXPECT_THAT(s_.client().find(ids[5]), IsOk());
}

// S3-041
TEST_F(PartizapTest, the_provider_never_gets_more_than_ten_in_a_second) {
  for (int i = 0; i < 35; ++i) s_.shop().send_verification_sms("+7 900", "4711");
  s_.step(400ms);
  for (int i = 0; i < 20; ++i) s_.shop().send_verification_sms("+7 901", "4711");
  s_.step(10s);
  ASSERT_THAT(s_.sms, SizeIs(55));
  for (std::size_t i = 10; i < s_.sms.size(); ++i) {
    EXPECT_GE(s_.sms[i].at - s_.sms[i - 10].at, 1s) << i;
  }
  EXPECT_LE(s_.sms.back().at - t0, 6s);  // nor much fewer
}

// S3-004, S3-037
TEST_F(PartizapTest, a_welcome_email_waits_for_five_seconds) {
  const Put put = s_.shop().send_welcome_email("ann@example.com", "Ann");
  EXPECT_EQ(put.state, TaskState::delayed);
  EXPECT_EQ(s_.find(put.id).priority, 8);  // BullMQ's 2
  s_.step(4999ms);
  EXPECT_THAT(s_.emails, IsEmpty());
  s_.step(1ms);
  ASSERT_THAT(s_.email_jobs, SizeIs(1));
  EXPECT_EQ(s_.email_jobs[0].to, "ann@example.com");
  EXPECT_EQ(s_.email_jobs[0].subject, "Добро пожаловать на AutoParts!");
  EXPECT_EQ(s_.email_jobs[0].template_, "welcome");
  EXPECT_EQ(s_.email_jobs[0].data.at("name"), millrace::Value{"Ann"});
}

// C-08, S3-057, S3-060, S3-062, D-22
TEST_F(PartizapTest, an_email_that_fails_five_times_is_a_dead_letter_with_an_alert) {
  fail_first(99);
  const Put put = s_.shop().send_welcome_email("ann@example.com", "Ann");
  s_.step(1h);
  EXPECT_THAT(times_of(s_.emails), ElementsAre(5s, 7s, 11s, 19s, 35s));

  const auto letters = s_.dead("notifications");
  ASSERT_THAT(letters, SizeIs(1));
  EXPECT_EQ(letters[0].state, TaskState::dead);
  EXPECT_EQ(letters[0].id, put.id);
  EXPECT_THAT(letters[0].payload, HasSubstr("ann@example.com"));
  ASSERT_TRUE(letters[0].error);
  EXPECT_EQ(letters[0].error->message, "the provider does not answer");
  EXPECT_EQ(letters[0].error->failed_at, t0 + 35s);

  ASSERT_THAT(s_.alerts, SizeIs(1));
  EXPECT_EQ(s_.alerts[0].level, "error");
  EXPECT_EQ(s_.alerts[0].message, "Job permanently failed: send-email");
  EXPECT_EQ(s_.alerts[0].data.jobId, put.id);
  EXPECT_EQ(s_.alerts[0].data.error, "the provider does not answer");
  EXPECT_THAT(millrace::encode(s_.alerts[0]),
              HasSubstr(R"("data":{"jobId":")" + millrace::to_text(put.id)));
}

// S3-061, C-08
TEST_F(PartizapTest, a_dead_letter_has_the_stack_that_its_handler_gave) {
  s_.provider = [](millrace::Context&) {
    throw millrace::TaskFailure({.message = "no route", .stack = "send_email\ndeliver"});
  };
  const Put put = s_.shop().send_welcome_email("ann@example.com", "Ann");
  const std::string original = s_.find(put.id).payload;
  s_.step(1h);
  const auto letters = s_.dead("notifications");
  ASSERT_THAT(letters, SizeIs(1));
  EXPECT_EQ(letters[0].id, put.id);
  EXPECT_EQ(letters[0].type, "send-email");
  EXPECT_THAT(letters[0].payload, AllOf(HasSubstr("ann@example.com"), Eq(original)));
  EXPECT_EQ(letters[0].error->message, "no route");
  EXPECT_EQ(letters[0].error->stack, "send_email\ndeliver");
  EXPECT_EQ(letters[0].error->failed_at, t0 + 35s);
}

TEST_F(PartizapTest, a_dead_letter_can_be_sent_again) {
  fail_first(5);
  const Put put = s_.shop().send_welcome_email("ann@example.com", "Ann");
  s_.step(1min);
  ASSERT_EQ(s_.find(put.id).state, TaskState::dead);
  s_.provider = [](millrace::Context&) {};
  EXPECT_THAT(s_.client().retry(put.id), IsOk());
  s_.step(1s);
  EXPECT_THAT(s_.emails, SizeIs(6));
  EXPECT_THAT(s_.dead("notifications"), IsEmpty());
}

// S3-010, S3-034, S3-037
TEST_F(PartizapTest, an_sms_goes_before_an_email) {
  s_.options.processors = 1;
  s_.shop().notifications.send_email({.to = "ann@example.com"}, {.priority = 8});
  s_.shop().send_verification_sms("+7 900", "4711");
  std::vector<std::string> order;
  s_.provider = [&](millrace::Context& task) { order.push_back(task.task().type); };
  s_.step(1s);
  EXPECT_THAT(order, ElementsAre("send-sms", "send-email"));
}

// S3-074
TEST_F(PartizapTest, a_caller_that_puts_too_fast_is_told_to_come_later) {
  s_.step(0s);
  for (int i = 0; i < 100; ++i) s_.shop().send_verification_sms("+7 900", "4711");
  EXPECT_THAT(s_.shop().notifications.send_sms.put({.phone = "+7", .message = "m"}), IsLimited());
  s_.step(1100ms);
  EXPECT_THAT(s_.shop().notifications.send_sms.put({.phone = "+7", .message = "m"}), IsOk());
}

// ---- Any queue ---------------------------------------------------------------------------------

// S3-018, S3-019, S3-020, S3-021, S3-022, S3-032
TEST_F(PartizapTest, queues_are_worked_in_the_order_of_their_priorities) {
  s_.options.order = millrace::QueueOrder::strict;
  s_.options.processors = 1;
  std::vector<std::string> ids(queue_names.size());
  for (std::size_t i = queue_names.size(); i-- > 0;) {
    const auto put = s_.client().put(queue_names[i], 7, {.type = "no-such-job"});
    ASSERT_THAT(put, IsOk());
    ids[i] = "Job " + millrace::to_text(put->id) + " failed: Unknown job: no-such-job";
  }
  s_.step(0s);
  ASSERT_THAT(s_.lines, SizeIs(5));
  EXPECT_EQ(s_.lines[0], ids[0]);
  EXPECT_EQ(s_.lines[1], ids[1]);
  EXPECT_THAT(s_.lines, ::testing::UnorderedElementsAreArray(ids));
}

// S3-038, S3-039, S3-062, D-22
TEST_F(PartizapTest, an_unknown_job_fails_at_once) {
  for (const std::string queue : queue_names) {
    s_.alerts.clear();
    const auto put = s_.client().put(queue, 7, {.type = "send-fax"});
    ASSERT_THAT(put, IsOk());
    s_.step(1s);
    const Task task = s_.find(put->id);
    EXPECT_EQ(task.state, TaskState::failed);
    EXPECT_EQ(task.error->message, "Unknown job: send-fax");
    EXPECT_EQ(task.counters.deliveries, 1U);
    ASSERT_THAT(s_.alerts, SizeIs(1));
    EXPECT_EQ(s_.alerts[0].message, "Job permanently failed: send-fax");
  }
}

// S3-023, S3-024
TEST_F(PartizapTest, a_job_that_says_something_else_fails_at_once) {
  const auto fails = [&](const std::string& type, const std::string& payload) {
    const auto put = s_.client().put({.queue = "notifications", .type = type, .payload = payload});
    EXPECT_THAT(put, IsOk());
    s_.step(1s);
    const Task task = s_.find(put->id);
    EXPECT_EQ(task.state, TaskState::failed);
    EXPECT_EQ(task.counters.deliveries, 1U);
    return task.error->message;
  };
  EXPECT_EQ(fails("send-sms", R"({"phone":"+7 900","code":"4711"})"),  // D-23
            "payload.code is not known; known here are phone, message, template");
  EXPECT_EQ(fails("send-sms", R"({"phone":7,"message":"m"})"),
            "payload.phone must be text, but is 7");
  EXPECT_EQ(fails("send-email", R"({"to":"a@b","subject":"s","data":{}})"),
            "payload.template is missing");
  EXPECT_THAT(s_.sms, IsEmpty());
  EXPECT_THAT(s_.emails, IsEmpty());
  EXPECT_THAT(s_.alerts, SizeIs(3));
}

// S3-074
TEST_F(PartizapTest, a_crowd_in_a_queue_raises_one_alert) {
  s_.step(0s);
  ASSERT_THAT(s_.client().pause("reports"), IsOk());
  for (int i = 0; i < 1000; ++i) s_.shop().reports.generate({"counters"});
  s_.step(5min);
  EXPECT_THAT(s_.alerts, IsEmpty());
  s_.shop().reports.generate({"counters"});
  s_.step(5min);
  ASSERT_THAT(s_.alerts, SizeIs(1));
  EXPECT_EQ(s_.alerts[0].message, "Queue is crowded: reports");
  EXPECT_EQ(s_.alerts[0].data.error, "1001 tasks wait");
  ASSERT_THAT(s_.client().resume("reports"), IsOk());
  s_.step(5min);
  EXPECT_THAT(s_.alerts, SizeIs(1));
}

// ---- images ------------------------------------------------------------------------------------

// S3-002, S3-025, S3-045, S3-046, S3-047, S3-048
TEST_F(PartizapTest, a_picture_becomes_three) {
  upload_original("originals/7/42.ppm", stripes(1600, 900, {red, green, blue}));
  const Put put = s_.shop().process_image({"42", "7", "originals/7/42.ppm"});
  s_.step(0s);
  const Task task = s_.find(put.id);
  EXPECT_EQ(task.state, TaskState::completed);
  EXPECT_EQ(task.result, R"({"success":true,"variants":3})");
  EXPECT_EQ(task.progress, 100);
  EXPECT_EQ(s_.services.database.image_status("42"), "ready");
  EXPECT_THAT(s_.services.storage.keys("products"),
              ElementsAre("products/large/7/42.webp", "products/medium/7/42.webp",
                          "products/thumbnail/7/42.webp"));
  for (const auto& [key, size] :
       {std::pair{"products/large/7/42.webp", 1200}, std::pair{"products/medium/7/42.webp", 600},
        std::pair{"products/thumbnail/7/42.webp", 200}}) {
    const auto file = s_.services.storage.download(key);
    ASSERT_THAT(file, IsOk());
    int width = 0;
    int height = 0;
    ASSERT_NE(WebPGetInfo(file->data(), file->size(), &width, &height), 0);
    EXPECT_EQ(width, size);
    EXPECT_EQ(height, size);
  }
}

// S3-044
TEST_F(PartizapTest, a_picture_says_how_far_it_is) {
  upload_original("o.ppm", stripes(20, 20, {red}));
  std::vector<double> said;
  process_image({"42", "7", "o.ppm"}, s_.services,
                [&](double percent) { said.push_back(percent); });
  EXPECT_THAT(said, ElementsAre(10, 20, 40, 60, 80, 100));
}

// S3-058
TEST_F(PartizapTest, a_picture_that_is_not_there_yet_is_looked_for_again) {
  const Put put = s_.shop().process_image({"42", "7", "late.ppm"});
  s_.step(4999ms);
  EXPECT_EQ(s_.find(put.id).state, TaskState::retrying);
  EXPECT_EQ(s_.services.database.image_status("42"), "");
  upload_original("late.ppm", stripes(20, 20, {red}));
  s_.step(1ms);
  EXPECT_EQ(s_.find(put.id).state, TaskState::completed);
}

// S3-058, S3-060, S3-062, C-08, D-22
TEST_F(PartizapTest, a_picture_has_two_attempts) {
  const Put put = s_.shop().process_image({"42", "7", "never.ppm"});
  s_.step(1h);
  const Task task = s_.find(put.id);
  EXPECT_EQ(task.state, TaskState::dead);
  EXPECT_EQ(task.error->message, "there is no never.ppm");
  ASSERT_THAT(task.history, SizeIs(2));
  EXPECT_EQ(task.history[0].started_at, t0);
  EXPECT_EQ(task.history[1].started_at, t0 + 5s);
  ASSERT_THAT(s_.alerts, SizeIs(1));
  EXPECT_EQ(s_.alerts[0].message, "Job permanently failed: process-image");
}

TEST_F(PartizapTest, a_broken_picture_is_not_tried_twice) {
  ASSERT_THAT(s_.services.storage.upload("o.jpg", Bytes{1, 2, 3}), IsOk());
  const Put broken = s_.shop().process_image({"42", "7", "o.jpg"});
  const Put outside = s_.shop().process_image({"43", "7", "../../etc/passwd"});
  upload_original("o.ppm", stripes(20, 20, {red}));
  const Put escapes = s_.shop().process_image({"44", "../../..", "o.ppm"});
  s_.step(1h);
  for (const Put& put : {broken, outside, escapes}) {
    EXPECT_EQ(s_.find(put.id).state, TaskState::failed);
    EXPECT_EQ(s_.find(put.id).counters.deliveries, 1U);
  }
  EXPECT_EQ(s_.find(broken.id).error->message, "this is no JPEG, PNG or PPM picture");
  EXPECT_THAT(s_.services.storage.keys(""), ElementsAre("o.jpg", "o.ppm"));
}

TEST_F(PartizapTest, a_picture_that_waits_is_not_put_again) {
  const Put first = s_.shop().process_image({"42", "7", "o.ppm"});
  const Put second = s_.shop().process_image({"42", "7", "o.ppm"});
  EXPECT_FALSE(first.existing);
  EXPECT_TRUE(second.existing);
  EXPECT_EQ(second.id, first.id);
}

// S3-026
TEST_F(PartizapTest, pictures_are_removed) {
  upload_original("a.ppm", stripes(2, 2, {red}));
  upload_original("b.ppm", stripes(2, 2, {red}));
  const Put put = s_.shop().images.remove({{"a.ppm", "gone.ppm"}});
  s_.step(0s);
  EXPECT_EQ(s_.find(put.id).result, R"({"removed":1})");
  EXPECT_THAT(s_.services.storage.keys(""), ElementsAre("b.ppm"));
}

// ---- analytics, cleanup, reports ---------------------------------------------------------------

// S3-005, S3-027
TEST_F(PartizapTest, counters_are_summed_up) {
  for (int i = 0; i < 3; ++i) s_.services.database.add_event(Counter::product_views, "7");
  s_.shop().analytics.update_counters({Counter::product_views, "7"});
  s_.step(0s);
  EXPECT_EQ(s_.services.database.counter(Counter::product_views, "7"), 3U);
}

// S3-028
TEST_F(PartizapTest, one_table_can_be_synchronised_alone) {
  s_.shop().analytics.sync_table({Table::products});
  s_.step(0s);
  EXPECT_THAT(s_.services.database.synced(),
              ElementsAre(::testing::Pair(Table::products, ElementsAre(t0))));
}

// S3-059, S3-062
TEST_F(PartizapTest, cleaning_is_not_tried_again) {
  s_.shop();
  s_.services.database.set_available(false);
  const Put put = s_.shop().cleanup.sessions({.olderThan = t0});
  s_.step(10min);
  const Task task = s_.find(put.id);
  EXPECT_EQ(task.state, TaskState::dead);
  EXPECT_EQ(task.error->message, "the database does not answer");
  EXPECT_EQ(task.counters.deliveries, 1U);
  ASSERT_THAT(s_.alerts, SizeIs(1));
  EXPECT_EQ(s_.alerts[0].message, "Job permanently failed: cleanup-sessions");
}

// S3-007, S3-022
TEST_F(PartizapTest, a_report_lists_the_counters) {
  s_.services.database.add_event(Counter::seller_rating, "ann");
  s_.services.database.update_counter(Counter::seller_rating, "ann");
  const Put put = s_.shop().reports.generate({"monday"});
  s_.step(0s);
  EXPECT_EQ(s_.find(put.id).result, R"({"key":"reports/monday.csv","rows":1})");
  const auto file = s_.services.storage.download("reports/monday.csv");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(std::string(file->begin(), file->end()),
            "counter,entity,count\n\"seller_rating\",\"ann\",1\n");
}

}  // namespace
}  // namespace partizap
