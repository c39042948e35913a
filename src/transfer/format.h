// What export and import both know of the format.
//
// Lines of JSON, each an object with one key that says what it is:
//
//   {"millrace_export":{"format":1,"minor":2,"store":"journal","exported_at":"..."}}    first
//   {"queue":{...}}  {"group":{...}}  {"schedule":{...}}  {"memo":{...}}  {"task":{...}}  api/wire
//   {"end":{"queues":1,"schedules":0,"memos":0,"tasks":3}}                              last
//
// A new `minor` may add keys and kinds of lines that a reader can ignore; anything else needs a new
// `format`, which older readers refuse. Minor 1 has checkpoints and answers of tasks; minor 2 has
// rules for groups, what single groups do differently (`group`), and costs of tasks.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace::transfer {

inline constexpr std::string_view header_key = "millrace_export";
inline constexpr std::uint64_t format_number = 1;
inline constexpr std::uint64_t minor_number = 2;

struct Counts {
  std::uint64_t queues = 0;
  std::uint64_t schedules = 0;
  std::uint64_t memos = 0;
  std::uint64_t tasks = 0;
  std::uint64_t groups = 0;  // that do something differently

  friend bool operator==(const Counts&, const Counts&) = default;
};

}  // namespace millrace::transfer
