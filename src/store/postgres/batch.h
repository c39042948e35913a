// Statements with their parameters, in the order in which they are to be sent. add() returns where
// the answer will be among those of the batch.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "postgres/connection.h"
#include "postgres/params.h"
#include "postgres/sql.h"

namespace millrace::store_postgres {

class Batch {
 public:
  // One call of a statement: sql::Done{.ids = ids, ...}.
  template <class Call>
    requires requires(const Call& call, postgres::Params& params) { call.add_to(params); }
  std::size_t add(const Call& call) {
    return add(call, call.its_sql());
  }
  // The same of another variant of it.
  template <class Call>
  std::size_t add(const Call& call, const postgres::Sql& variant) {
    call.add_to(parts_.emplace_back(Part{.sql = &variant, .params = {}}).params);
    return parts_.size() - 1;
  }
  // A statement that has no parameters.
  std::size_t add(const postgres::Sql& sql) {
    parts_.push_back({.sql = &sql, .params = {}});
    return parts_.size() - 1;
  }

  // Good until the next change.
  std::vector<postgres::Statement> statements() const {
    std::vector<postgres::Statement> all;
    all.reserve(parts_.size());
    for (const Part& part : parts_) all.push_back({.sql = part.sql, .params = &part.params});
    return all;
  }
  std::size_t size() const { return parts_.size(); }
  void clear() { parts_.clear(); }

 private:
  struct Part {
    const postgres::Sql* sql;
    postgres::Params params;
  };
  std::deque<Part> parts_;
};

// A batch of one.
template <class Call>
Batch batch_of(const Call& call) {
  Batch batch;
  batch.add(call);
  return batch;
}

}  // namespace millrace::store_postgres
