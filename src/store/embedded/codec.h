// The bytes of a task's two blobs.
//
// The body is what was put, and stays as it is unless another put replaces it: a fixed head, type,
// payload, then only the fields that were given. The notes are what came of it. Both go into the
// journal as they are, so their layout is part of its format (docs/journal-format.md).
#pragma once

#include <millrace/task.h>
#include <millrace/work.h>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/values.h"
#include "store/embedded/blobs.h"
#include "store/embedded/slot.h"

namespace millrace::embedded {

// What a task waits for.
struct Waits {
  std::string open;  // a bit for each of `after.tasks`, set while it counts
  AfterWhen when = AfterWhen::completed;
  Otherwise otherwise = Otherwise::cancel;
  std::optional<EndedParent> ended;  // the task is to be cancelled because of this one

  static Waits of(const After& after) {
    return {.open = std::string((after.tasks.size() + 7) / 8, '\0'),
            .when = after.when,
            .otherwise = after.otherwise};
  }
  bool is_open(std::size_t place) const {
    return (static_cast<std::uint8_t>(open[place / 8]) >> (place % 8) & 1U) != 0;
  }
  void set_open(std::size_t place, bool on) {
    const auto bit = static_cast<std::uint8_t>(1U << (place % 8));
    const auto old = static_cast<std::uint8_t>(open[place / 8]);
    open[place / 8] = static_cast<char>(on ? old | bit : old & ~bit);
  }
  bool any_open() const { return open.find_first_not_of('\0') != std::string::npos; }
  // Whether a parent that ended so no longer counts.
  bool passes(TaskState ended_as) const {
    return ended_as == TaskState::completed || when == AfterWhen::ended ||
           otherwise == Otherwise::run;
  }

  friend bool operator==(const Waits&, const Waits&) = default;
};

// What came of a task.
struct Notes {
  std::string result;
  std::optional<TaskError> error;
  double progress = 0;
  std::optional<DeliveryNote> delivery;
  std::vector<LogLine> log;
  std::vector<Attempt> history;
  std::string checkpoint;
  std::optional<std::string> answer;
  std::optional<Waits> waits;

  bool has_steps() const { return !checkpoint.empty() || answer; }

  friend bool operator==(const Notes&, const Notes&) = default;
};

Blob encode_body(Blobs& blobs, const NewTask& task, TimePoint created_at);

// Reads the fields given at the put into the value's fields of the same names. A task gets its
// payload only if it is wanted, because the payload is most of the bytes.
void decode_body(std::string_view body, Lease& lease);
bool decode_body(std::string_view body, Task& task, bool with_payload);  // false: it is none

// What the indexes must know of a body.
struct BodyFlags {
  bool has_unique = false;
  bool has_start_by = false;
  bool keeps_itself = false;
  BodyFacts facts = {};
  std::string group = {};
};
BodyFlags body_flags(std::string_view body);
BodyFacts facts_of(const NewTask& task, TimePoint created_at);
BodyFacts facts_of(const Task& task);
// The hash of a name, as in BodyFacts.
std::uint32_t name_hash(std::string_view name);

// A body is its front, the payload, and the rest. Most of the bytes are the payload, so a reader
// that does not want it reads the other two and puts them together: that is a body without a
// payload.
struct BodyLayout {
  std::size_t front = 0;
  std::size_t payload = 0;
};
inline constexpr std::size_t longest_front = 270;
// Of a body of `size` bytes that begins with `begin`: all of it, or longest_front bytes.
BodyLayout body_layout(std::string_view begin, std::size_t size);
std::string without_payload(std::string_view front, std::string_view rest);
std::string without_payload(std::string_view body);

// Whether these bytes, read from outside, can be decoded.
bool body_is_sound(std::string_view body);
bool notes_are_sound(std::string_view bytes);

// "No bytes" for empty notes.
Blob encode_notes(Blobs& blobs, const Notes& notes);
Notes decode_notes(std::string_view bytes);

// Notes begin with the result, which may be most of the bytes. What lists show follows it (error,
// progress, delivery), within longest_brief bytes. Notes without a result are these bytes behind an
// empty result.
inline constexpr std::size_t longest_brief = 36U << 10U;
// How many bytes the result takes with its length, of notes of `size` bytes that begin with
// `begin`.
std::size_t result_end(std::string_view begin, std::size_t size);
// `behind` is what follows the result.
std::string behind_empty_result(std::string_view behind);
std::string without_result(std::string_view notes);
// Only what lists show. nullopt: the bytes are no notes.
std::optional<Notes> decode_brief(std::string_view bytes);

}  // namespace millrace::embedded
