#include "postgres/rows.h"

#include <libpq-fe.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/ensure.h"

namespace millrace::postgres {

namespace {

thread_local const char* first_misread = nullptr;

}  // namespace

void note_misread(const char* what) noexcept {
  if (first_misread == nullptr) first_misread = what;
}

const char* take_misread() noexcept {
  return std::exchange(first_misread, nullptr);
}

std::int64_t read_integer(std::string_view bytes, std::size_t widest) {
  if (bytes.size() > widest)
    return misread<std::int64_t>("a column is wider than what it is read as");
  switch (bytes.size()) {
    case 1:
      return static_cast<signed char>(bytes[0]);
    case 2:
      return read_number<std::int16_t>(bytes.data());
    case 4:
      return read_number<std::int32_t>(bytes.data());
    case 8:
      return read_number<std::int64_t>(bytes.data());
    default:
      return misread<std::int64_t>("a column that is not an integer is read as one");
  }
}

double read_double(std::string_view bytes) {
  if (bytes.size() == 4) return std::bit_cast<float>(read_number<std::int32_t>(bytes.data()));
  if (bytes.size() != 8) return misread<double>("a column that is not a number is read as one");
  return std::bit_cast<double>(read_number<std::int64_t>(bytes.data()));
}

Uuid read_uuid(std::string_view bytes) {
  Uuid id;
  if (bytes.size() != id.bytes.size()) {
    return misread<Uuid>("a column that is not a uuid is read as one");
  }
  std::memcpy(id.bytes.data(), bytes.data(), id.bytes.size());
  return id;
}

std::vector<Field> read_array(std::string_view bytes) {
  constexpr std::size_t head = 20;
  std::vector<Field> elements;
  if (bytes.size() < head) return elements;  // an empty array has no dimension
  if (read_number<std::int32_t>(bytes.data()) != 1) {
    return misread<std::vector<Field>>("an array has more than one dimension");
  }
  const auto count = static_cast<std::size_t>(read_number<std::int32_t>(bytes.data() + 12));
  std::size_t at = head;
  while (elements.size() < count && at + 4 <= bytes.size()) {
    const auto length = read_number<std::int32_t>(bytes.data() + at);
    at += 4;
    if (length < 0) {
      elements.emplace_back();
      continue;
    }
    elements.emplace_back(bytes.substr(at, static_cast<std::size_t>(length)));
    at += static_cast<std::size_t>(length);
  }
  return elements;
}

Rows::Rows(pg_result* result)
    : result_(result), size_(static_cast<std::size_t>(PQntuples(result))) {}

void Rows::Clear::operator()(pg_result* result) const {
  PQclear(result);
}

std::size_t Rows::columns() const {
  return result_ ? static_cast<std::size_t>(PQnfields(result_.get())) : 0;
}

std::uint64_t Rows::affected() const {
  if (!result_) return 0;
  const std::string_view text = PQcmdTuples(result_.get());
  std::uint64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

bool Rows::is_null(std::size_t row, std::size_t column) const {
  return !field(row, column).has_value();
}

Field Rows::field(std::size_t row, std::size_t column) const {
  ensure(row < size_ && column < columns(), "there is no such field in the rows");
  const int at_row = static_cast<int>(row);
  const int at_column = static_cast<int>(column);
  if (PQgetisnull(result_.get(), at_row, at_column) != 0) return std::nullopt;
  return std::string_view(PQgetvalue(result_.get(), at_row, at_column),
                          static_cast<std::size_t>(PQgetlength(result_.get(), at_row, at_column)));
}

}  // namespace millrace::postgres
