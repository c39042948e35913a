#include "postgres/prepared.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "postgres/schema.h"

namespace millrace::postgres {

PreparedStatements::PreparedStatements(bool enabled, std::string schema, std::uint64_t token)
    : enabled_(enabled), schema_(std::move(schema)), token_(token) {}

PreparedStatements::Entry& PreparedStatements::find(const Sql& sql, std::span<const Oid> types) {
  auto found = by_name_.find(sql.name);
  if (found == by_name_.end()) found = by_name_.try_emplace(std::string(sql.name)).first;
  for (const auto& entry : found->second) {
    if (std::ranges::equal(entry->types, types)) return *entry;
  }
  auto entry = std::make_unique<Entry>();
  // The server reads 63 bytes of a name, so the part that makes it unique comes first.
  entry->name = fmt::format("m{:016x}_{}_{}", token_, ++made_, sql.name);
  entry->name.resize(std::min<std::size_t>(entry->name.size(), 63));
  entry->text = with_schema(sql.text, schema_);
  entry->types.assign(types.begin(), types.end());
  return *found->second.emplace_back(std::move(entry));
}

void PreparedStatements::give_up() {
  enabled_ = false;
  forget();
}

void PreparedStatements::forget() {
  by_name_.clear();
}

}  // namespace millrace::postgres
