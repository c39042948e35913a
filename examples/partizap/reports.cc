// Tables for people in the office.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "queues.h"

namespace partizap {

using millrace::App;

Reports add_reports(App& app, Services& services) {
  add_queue(app, services, "reports", {.concurrency = 1, .priority = low});

  const auto generate =
      [&services](const GenerateReportJob& job) -> millrace::Result<ReportResult> {
    std::string text = "counter,entity,count\n";
    const auto rows = services.database.counters();
    for (const auto& [which, count] : rows) {
      text += fmt::format("{},{},{}\n", millrace::encode(which.first),
                          millrace::encode(which.second), count);
    }
    ReportResult done{.key = fmt::format("reports/{}.csv", job.name), .rows = rows.size()};
    const auto written = services.storage.upload(
        done.key, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    if (!written) return std::unexpected(written.error());
    return done;
  };
  return {.generate = app.handle_type<GenerateReportJob>("reports", "generate-report", generate)};
}

}  // namespace partizap
