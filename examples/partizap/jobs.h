// The jobs of the shop: what each says, as C++ and as JSON.
#pragma once

#include <millrace/fields.h>
#include <millrace/time.h>
#include <millrace/value.h>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace partizap {

// NOLINTBEGIN(readability-identifier-naming): members are called as in the JSON of other programs.

// ---- notifications -----------------------------------------------------------------------------

enum class SmsTemplate { verification, order, reminder };
MILLRACE_NAMES(SmsTemplate, verification, order, reminder)

struct SendSmsJob {
  std::string phone;
  std::string message;
  std::optional<SmsTemplate> template_ = std::nullopt;
};
MILLRACE_FIELDS(SendSmsJob, phone, message, template_)

struct SendEmailJob {
  std::string to;
  std::string subject;
  std::string template_;
  std::map<std::string, millrace::Value> data = {};
};
MILLRACE_FIELDS(SendEmailJob, to, subject, template_, data)

// ---- images ------------------------------------------------------------------------------------

struct ProcessImageJob {
  std::string imageId;
  std::string productId;
  std::string originalKey;
};
MILLRACE_FIELDS(ProcessImageJob, imageId, productId, originalKey)

struct DeleteImagesJob {
  std::vector<std::string> keys;
};
MILLRACE_FIELDS(DeleteImagesJob, keys)

// ---- analytics ---------------------------------------------------------------------------------

enum class Counter { product_views, seller_rating, category_count };
MILLRACE_NAMES(Counter, product_views, seller_rating, category_count)

struct UpdateCountersJob {
  Counter type = Counter::product_views;
  std::string entityId;
};
MILLRACE_FIELDS(UpdateCountersJob, type, entityId)

enum class Table { users, products, categories };
MILLRACE_NAMES(Table, users, products, categories)

// One table is one task, so that one that fails is retried alone.
struct SyncDenormalizedDataJob {
  Table table = Table::users;
};
MILLRACE_FIELDS(SyncDenormalizedDataJob, table)

// What the nightly schedule puts: becomes one of the above for each table.
struct SyncTablesJob {
  std::vector<Table> tables;
};
MILLRACE_FIELDS(SyncTablesJob, tables)

struct WatchQueuesJob {};
MILLRACE_FIELDS(WatchQueuesJob)

// ---- cleanup -----------------------------------------------------------------------------------

struct CleanupExpiredSessionsJob {
  millrace::TimePoint olderThan{};
};
MILLRACE_FIELDS(CleanupExpiredSessionsJob, olderThan)

struct CleanupVerificationCodesJob {
  std::optional<millrace::TimePoint> olderThan = std::nullopt;  // left out: the codes' usual life
};
MILLRACE_FIELDS(CleanupVerificationCodesJob, olderThan)

// ---- reports -----------------------------------------------------------------------------------

struct GenerateReportJob {
  std::string name;
};
MILLRACE_FIELDS(GenerateReportJob, name)

// ---- results -----------------------------------------------------------------------------------

struct ImageResult {
  bool success = false;
  std::uint32_t variants = 0;
};
MILLRACE_FIELDS(ImageResult, success, variants)

struct Removed {
  std::uint64_t removed = 0;
};
MILLRACE_FIELDS(Removed, removed)

struct ReportResult {
  std::string key;
  std::uint64_t rows = 0;
};
MILLRACE_FIELDS(ReportResult, key, rows)

// NOLINTEND(readability-identifier-naming)

}  // namespace partizap
