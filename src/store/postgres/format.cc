#include "store/postgres/format.h"

#include <utility>

namespace millrace::store_postgres {
namespace {

constexpr std::string_view unreadable_state = "MR002";

}  // namespace

postgres::Failure unreadable(std::string message) {
  return {.state = std::string(unreadable_state), .message = std::move(message)};
}

bool is_unreadable(const postgres::Failure& failure) {
  return failure.state == unreadable_state;
}

}  // namespace millrace::store_postgres
