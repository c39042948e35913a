#include "store/postgres/format.h"

#include <utility>

namespace millrace::store_postgres {

postgres::Failure unreadable(std::string message) {
  return {.state = std::string(postgres::unreadable_state), .message = std::move(message)};
}

bool is_unreadable(const postgres::Failure& failure) {
  return failure.state == postgres::unreadable_state;
}

}  // namespace millrace::store_postgres
