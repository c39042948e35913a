// The path and the query of a request.
#pragma once

#include <millrace/ids.h>
#include <millrace/result.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/wire/input.h"
#include "broker/broker.h"

namespace millrace::api {

// %41 is A. nullopt: a % without two digits behind it, or a NUL. A plus stays a plus unless it
// stands for a space, as in queries.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space);

// The parts of a path between its slashes, at most eight, still encoded.
struct Segments {
  std::array<std::string_view, 8> parts = {};
  std::size_t count = 0;
  bool too_many = false;
};
Segments segments_of(std::string_view path);

// A queue as paths and queries name it: all digits are its number, a UUID is its UUID, anything
// else is its name.
QueueRef queue_from_text(std::string_view text);
// A task by its id or, all digits, by its number.
Result<TaskRef> task_from_text(std::string_view text);

// A route asks for parameters one by one. The first error is kept; at the end, parameters that the
// route did not ask for are errors, too.
class Query {
 public:
  Query() = default;
  explicit Query(std::string_view text);

  std::optional<std::string> text(std::string_view name);
  std::optional<std::uint64_t> number(std::string_view name, std::uint64_t least,
                                      std::uint64_t most);
  std::optional<Duration> duration(std::string_view name, Duration most);
  std::optional<TimePoint> moment(std::string_view name);
  bool flag(std::string_view name);
  // The parameter may be repeated, and may have several values with commas between them.
  std::vector<std::string> list(std::string_view name);

  // Says that a value makes no sense.
  void refuse(std::string_view name, std::string why);
  // nullopt: all is well.
  std::optional<wire::Refusal> finish();

 private:
  struct Parameter {
    std::string name = {};
    std::string value = {};
    bool asked = false;
  };

  std::vector<Parameter> given_;
  std::vector<std::string_view> known_;
  std::optional<wire::Refusal> error_;
};

// GET /v1/tasks: which tasks, and which page of them.
ListRequest list_from(Query& query);
// GET /v1/dead: dead letters only.
ListRequest dead_from(Query& query);

}  // namespace millrace::api
