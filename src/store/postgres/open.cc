#include "store/postgres/open.h"

#include <fmt/format.h>

#include "postgres/conninfo.h"
#include "postgres/schema.h"

namespace millrace::store_postgres {
namespace {

// No call of a store takes so long on a server that is well; one that does must not keep everybody
// waiting who comes after it.
constexpr Duration statement_timeout = std::chrono::seconds(20);

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

}  // namespace millrace::store_postgres
