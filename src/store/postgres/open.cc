#include "store/postgres/open.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "core/clock.h"
#include "core/time_text.h"
#include "postgres/conninfo.h"
#include "postgres/link.h"
#include "postgres/schema.h"

namespace millrace::store_postgres {
namespace {

// No call of a store takes this long on a healthy server; one that does must not keep later callers
// waiting.
constexpr Duration statement_timeout = std::chrono::seconds(20);

constexpr std::chrono::milliseconds ask_again_after(250);

}  // namespace

Result<void> check_options(const PostgresOptions& options) {
  if (auto good = postgres::check_schema(options.schema); !good) {
    good.error().message += "; as in postgres://millrace@localhost/app?schema=jobs";
    return good;
  }
  for (const std::string& url : {options.url, options.listen_url}) {
    if (const auto info = postgres::connect_info({.url = url}); !info) {
      return fail(ErrorCode::invalid, info.error().message);
    }
  }
  return {};
}

postgres::ConnectOptions connect_options(const PostgresOptions& options, std::string_view purpose) {
  return {.url = options.url,
          .application_name = purpose.empty()
                                  ? options.application_name
                                  : fmt::format("{} {}", options.application_name, purpose),
          .schema = options.schema,
          .statement_timeout = statement_timeout,
          .prepare = options.prepare,
          .writes = !options.read_only};
}

bool wait_for_server(const PostgresOptions& options, const Error& why) {
  const auto connect = connect_options(options);
  if (options.wait == Duration::zero() || postgres::answers(connect)) return false;
  if (options.warn) {
    options.warn(fmt::format("{}; waiting for it for {} at most", why.message,
                             format_duration(options.wait)));
  }
  SystemClock real;  // a virtual clock would not move meanwhile
  const auto end = real.steady() + options.wait;
  while (real.steady() < end) {
    std::this_thread::sleep_for(ask_again_after);
    if (postgres::answers(connect)) return true;
  }
  return false;
}

}  // namespace millrace::store_postgres
