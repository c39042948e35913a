// Which statements the server already knows on a connection, and by what name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "postgres/binary.h"
#include "postgres/sql.h"

namespace millrace::postgres {

class PreparedStatements {
 public:
  struct Entry {
    enum class State : std::uint8_t { absent, queued, ready };
    std::string name;  // on the server
    std::string text;  // with the schema
    std::vector<Oid> types;
    State state = State::absent;
  };

  // Names contain `token`. Behind a pooler a session may have another connection's statements; the
  // worst that could happen then is to run a namesake that does something else.
  PreparedStatements(bool enabled, std::string schema, std::uint64_t token);

  // Made on first use; valid until forget(). A statement that is sent with parameters of other
  // types is another one.
  Entry& find(const Sql& sql, std::span<const Oid> types);

  bool enabled() const { return enabled_; }
  // From now on nothing is prepared.
  void give_up();
  // All are prepared anew, under other names.
  void forget();

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  bool enabled_;
  std::string schema_;
  std::uint64_t token_;
  std::uint64_t made_ = 0;
  std::unordered_map<std::string, std::vector<std::unique_ptr<Entry>>, Hash, std::equal_to<>>
      by_name_;
};

}  // namespace millrace::postgres
