// The eight jobs of a shop, as its code would describe them.
#include <millrace/fields.h>

#include <gtest/gtest.h>

namespace partizap {

enum class SmsTemplate { verification, order, reminder };
MILLRACE_NAMES(SmsTemplate, verification, order, reminder)

struct SendSmsJob {
  std::string phone;
  std::string message;
  std::optional<SmsTemplate> template_;
};
MILLRACE_FIELDS(SendSmsJob, phone, message, template_)

struct SendEmailJob {
  std::string to;
  std::string subject;
  std::string template_;
  std::map<std::string, millrace::Value> data;
};
MILLRACE_FIELDS(SendEmailJob, to, subject, template_, data)

struct ProcessImageJob {
  std::string imageId;  // NOLINT: as the JSON has it
  std::string productId;
  std::string originalKey;
};
MILLRACE_FIELDS(ProcessImageJob, imageId, productId, originalKey)

struct DeleteImagesJob {
  std::vector<std::string> keys;
};
MILLRACE_FIELDS(DeleteImagesJob, keys)

enum class Counter { product_views, seller_rating, category_count };
MILLRACE_NAMES(Counter, product_views, seller_rating, category_count)

struct UpdateCountersJob {
  Counter type = Counter::product_views;
  std::string entityId;
};
MILLRACE_FIELDS(UpdateCountersJob, type, entityId)

enum class Table { users, products, categories };
MILLRACE_NAMES(Table, users, products, categories)

struct SyncDenormalizedDataJob {
  Table table = Table::users;
};
MILLRACE_FIELDS(SyncDenormalizedDataJob, table)

struct CleanupExpiredSessionsJob {
  millrace::TimePoint olderThan;
};
MILLRACE_FIELDS(CleanupExpiredSessionsJob, olderThan)

struct CleanupVerificationCodesJob {
  millrace::TimePoint olderThan;
};
MILLRACE_FIELDS(CleanupVerificationCodesJob, olderThan)

}  // namespace partizap

namespace {

using millrace::decode;
using millrace::encode;
using namespace partizap;

template <class Job>
std::string refusal(std::string_view payload) {
  return decode<Job>(payload).error().message;
}

// S3-023
TEST(Jobs, send_sms) {
  const auto job = decode<SendSmsJob>(R"({"phone":"+7","message":"m","template":"order"})");
  EXPECT_EQ(job->template_, SmsTemplate::order);
  EXPECT_EQ(encode(*job), R"({"phone":"+7","message":"m","template":"order"})");
  EXPECT_EQ(encode(SendSmsJob{"+7", "m", {}}), R"({"phone":"+7","message":"m"})");
  EXPECT_EQ(refusal<SendSmsJob>(R"({"phone":"+7","message":"m","template":"x"})"),
            R"(payload.template must be verification, order or reminder, but is "x")");
  EXPECT_EQ(refusal<SendSmsJob>(R"({"phone":7,"message":"m"})"),
            "payload.phone must be text, but is 7");
}

// S3-024, S2-037
TEST(Jobs, send_email) {
  const std::string text = R"({"to":"a@b","subject":"s","template":"t","data":{"n":1,"l":[true]}})";
  const auto job = decode<SendEmailJob>(text);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->data.at("n"), millrace::Value{std::int64_t{1}});
  EXPECT_EQ(encode(*job), R"({"to":"a@b","subject":"s","template":"t","data":{"l":[true],"n":1}})");
  EXPECT_EQ(refusal<SendEmailJob>(R"({"to":"a","subject":"s","data":{}})"),
            "payload.template is missing");
}

// S3-025
TEST(Jobs, process_image) {
  const std::string text = R"({"imageId":"i","productId":"p","originalKey":"k"})";
  const auto job = decode<ProcessImageJob>(text);
  EXPECT_EQ(job->originalKey, "k");
  EXPECT_EQ(encode(*job), text);
  EXPECT_EQ(refusal<ProcessImageJob>(R"({"imageID":"i"})"),
            "payload.imageID is not known; did you mean imageId?");
}

// S3-026
TEST(Jobs, delete_images) {
  EXPECT_EQ(decode<DeleteImagesJob>(R"({"keys":["a","b"]})")->keys,
            (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(encode(DeleteImagesJob{}), R"({"keys":[]})");
  EXPECT_EQ(refusal<DeleteImagesJob>(R"({"keys":"a"})"),
            R"(payload.keys must be a list, but is "a")");
}

// S3-027
TEST(Jobs, update_counters) {
  const std::string text = R"({"type":"category_count","entityId":"7"})";
  EXPECT_EQ(decode<UpdateCountersJob>(text)->type, Counter::category_count);
  EXPECT_EQ(encode(*decode<UpdateCountersJob>(text)), text);
}

// S3-028
TEST(Jobs, sync_denormalized_data) {
  EXPECT_EQ(decode<SyncDenormalizedDataJob>(R"({"table":"products"})")->table, Table::products);
  EXPECT_EQ(encode(SyncDenormalizedDataJob{Table::categories}), R"({"table":"categories"})");
}

// S3-029, S3-030
TEST(Jobs, clean_up) {
  const millrace::TimePoint moment{std::chrono::milliseconds(1767323045678)};
  const std::string text = R"({"olderThan":"2026-01-02T03:04:05.678Z"})";
  EXPECT_EQ(decode<CleanupExpiredSessionsJob>(text)->olderThan, moment);
  EXPECT_EQ(encode(CleanupExpiredSessionsJob{moment}), text);
  EXPECT_EQ(decode<CleanupVerificationCodesJob>(R"({"olderThan":1767323045678})")->olderThan,
            moment);
  EXPECT_EQ(encode(CleanupVerificationCodesJob{moment}), text);
}

}  // namespace
