#include "store/embedded/codec.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "core/crc32c.h"
#include "core/own_keep.h"
#include "store/embedded/bytes.h"
#include "store/embedded/fields.h"

namespace millrace::embedded {

void fields(A<EndedParent> auto& of, const auto& visit) {
  visit(of.id), visit(of.state);
}
void fields(A<Waits> auto& of, const auto& visit) {
  visit(of.open), visit(of.when), visit(of.otherwise), visit(of.ended);
}

namespace {

// A body is: created_at (8 bytes), a bit for each of optional_fields() that is given (2), size of
// the type (1), size of the payload (4, only if anything is given: else the payload is the rest),
// type, payload, and the fields given. Every byte here is paid ten million times.
struct BodyView {
  std::int64_t created_at = 0;
  std::uint16_t given = 0;
  std::string_view type;
  std::string_view payload;
  std::string_view rest;
  bool good = false;
};

BodyView view_body(std::string_view body) {
  BodyView view;
  ByteReader in(body);
  std::uint8_t type_size = 0;
  read(in, view.created_at), read(in, view.given), read(in, type_size);
  std::uint32_t payload_size = 0;
  if (view.given != 0) read(in, payload_size);
  view.type = in.raw(type_size);
  view.payload = in.raw(view.given != 0 ? payload_size : in.left());
  view.rest = in.raw(in.left());
  view.good = in.good();
  return view;
}

// The fields that most tasks leave out. The order numbers the bits and must not change.
void optional_fields(auto& of, const auto& visit) {
  visit(of.content_type), visit(of.start_by), visit(of.timeout), visit(of.max_lost);
  visit(of.retry), visit(of.unique), visit(of.callback), visit(of.keep_for);
  visit(of.client_id), visit(of.request_id), visit(of.group), visit(of.metadata);
  visit(of.tags), visit(of.parent);
}

bool is_given(const std::string& text) {
  return !text.empty();
}
bool is_given(const std::vector<std::string>& list) {
  return !list.empty();
}
bool is_given(const TaskId& id) {
  return !id.value.is_nil();
}
template <class T>
bool is_given(const std::optional<T>& value) {
  return value.has_value();
}

// The bit after those of optional_fields(): behind them are late_fields().
constexpr std::uint16_t has_late_fields = 1U << 14U;

std::uint16_t given_fields(const NewTask& task) {
  std::uint16_t given = 0;
  std::uint16_t bit = 1;
  optional_fields(task, [&](const auto& field) {
    if (is_given(field)) given = static_cast<std::uint16_t>(given | bit);
    bit = static_cast<std::uint16_t>(bit << 1);
  });
  if (late_bits(task) != 0) given |= has_late_fields;
  return given;
}

void write_given(auto& out, const NewTask& task) {
  optional_fields(task, [&](const auto& field) {
    if (is_given(field)) write(out, field);
  });
  if (late_bits(task) != 0) write_late(out, task);
}

// Reads into a Task or a Lease; their fields have the same names. False: the bytes are not a body.
bool decode_into(std::string_view body, auto& into, bool with_payload) {
  const BodyView view = view_body(body);
  into.created_at = TimePoint(Duration(view.created_at));
  into.type = view.type;
  if (with_payload) into.payload = view.payload;
  if (view.given == 0) return view.good;
  ByteReader in(view.rest);
  unsigned given = view.given;
  optional_fields(into, [&](auto& field) {
    if ((given & 1U) != 0) read(in, field);
    given >>= 1;
  });
  if ((view.given & has_late_fields) != 0) read_late(in, into);
  given >>= 1;
  return view.good && in.good() && in.left() == 0 && given == 0;
}

void write_body(auto& out, const NewTask& task, TimePoint created_at, std::uint16_t given) {
  write(out, created_at), write(out, given);
  write(out, static_cast<std::uint8_t>(task.type.size()));
  if (given != 0) write(out, static_cast<std::uint32_t>(task.payload.size()));
  out.raw(task.type.data(), task.type.size());
  out.raw(task.payload.data(), task.payload.size());
  if (given != 0) write_given(out, task);
}

template <class T>
void note_fields(T& of, const auto& visit) {
  visit(of.result), visit(of.error), visit(of.progress), visit(of.delivery);
  visit(of.log), visit(of.history);
}

// Behind them, and only where there are some: since format 2.
template <class T>
void step_fields(T& of, const auto& visit) {
  visit(of.checkpoint), visit(of.answer);
}

void write_notes(auto& out, const Notes& notes) {
  note_fields(notes, [&](const auto& field) { write(out, field); });
  const bool more = notes.has_steps() || notes.waits;
  if (more) step_fields(notes, [&](const auto& field) { write(out, field); });
  if (notes.waits) write(out, *notes.waits);
}

void read_notes(ByteReader& in, Notes& notes) {
  note_fields(notes, [&](auto& field) { read(in, field); });
  if (in.left() != 0) step_fields(notes, [&](auto& field) { read(in, field); });
  if (in.left() != 0) read(in, notes.waits.emplace());
}

}  // namespace

Blob encode_body(Blobs& blobs, const NewTask& task, TimePoint created_at) {
  const std::uint16_t given = given_fields(task);
  Sizer size;
  write_body(size, task, created_at, given);
  const Blob blob = blobs.add(size.size());
  Filler out(Blobs::data(blob));
  write_body(out, task, created_at, given);
  return blob;
}

void decode_body(std::string_view body, Lease& lease) {
  decode_into(body, lease, true);
}

bool decode_body(std::string_view body, Task& task, bool with_payload) {
  return decode_into(body, task, with_payload);
}

Blob encode_notes(Blobs& blobs, const Notes& notes) {
  if (notes == Notes{}) return {};
  Sizer size;
  write_notes(size, notes);
  const Blob blob = blobs.add(size.size());
  Filler out(Blobs::data(blob));
  write_notes(out, notes);
  return blob;
}

Notes decode_notes(std::string_view bytes) {
  Notes notes;
  if (bytes.empty()) return notes;
  ByteReader in(bytes);
  read_notes(in, notes);
  return notes;
}

std::size_t result_end(std::string_view begin, std::size_t size) {
  ByteReader in(begin);
  std::uint32_t result = 0;
  read(in, result);
  return std::min(sizeof(result) + result, size);
}

std::string behind_empty_result(std::string_view behind) {
  std::string notes(sizeof(std::uint32_t), '\0');
  notes += behind.substr(0, longest_brief);
  return notes;
}

std::string without_result(std::string_view notes) {
  return behind_empty_result(notes.substr(result_end(notes, notes.size())));
}

std::optional<Notes> decode_brief(std::string_view bytes) {
  Notes notes;
  if (bytes.empty()) return notes;
  ByteReader in(bytes);
  read(in, notes.result), read(in, notes.error), read(in, notes.progress);
  read(in, notes.delivery);
  return in.good() ? std::optional(std::move(notes)) : std::nullopt;
}

BodyFlags body_flags(std::string_view body) {
  if (const BodyView view = view_body(body); view.given == 0) {
    return {.facts = {.type = name_hash(view.type),
                      .created_at = TimePoint(Duration(view.created_at))}};
  }
  Task task;
  decode_into(body, task, false);
  return {.has_unique = task.unique.has_value(),
          .has_start_by = task.start_by.has_value(),
          .keeps_itself = has_own_keep(task),
          .facts = facts_of(task),
          .group = std::move(task.group)};
}

// "" is 0, so that what most tasks leave out costs nothing.
std::uint32_t name_hash(std::string_view name) {
  return name.empty() ? 0 : crc32c(0, name);
}

namespace {

BodyFacts facts_of_fields(const auto& given, TimePoint created_at) {
  BodyFacts facts{.type = name_hash(given.type),
                  .client = static_cast<std::uint16_t>(name_hash(given.client_id)),
                  .group = static_cast<std::uint16_t>(name_hash(given.group)),
                  .created_at = created_at};
  if (given.timeout) {
    const auto longest = static_cast<Duration::rep>(BodyFacts::long_timeout) - 1;
    facts.timeout = static_cast<std::uint32_t>(std::min(given.timeout->count(), longest)) + 1;
  }
  return facts;
}

}  // namespace

BodyFacts facts_of(const NewTask& task, TimePoint created_at) {
  return facts_of_fields(task, created_at);
}

BodyFacts facts_of(const Task& task) {
  return facts_of_fields(task, task.created_at);
}

BodyLayout body_layout(std::string_view begin, std::size_t size) {
  ByteReader in(begin);
  std::int64_t created_at = 0;
  std::uint16_t given = 0;
  std::uint8_t type_size = 0;
  std::uint32_t payload_size = 0;
  read(in, created_at), read(in, given), read(in, type_size);
  if (given != 0) read(in, payload_size);
  const std::size_t front = begin.size() - in.left() + type_size;
  if (!in.good() || front > size) return {.front = size};
  if (given == 0) return {front, size - front};
  return {front, std::min<std::size_t>(payload_size, size - front)};
}

std::string without_payload(std::string_view front, std::string_view rest) {
  // What follows created_at, the bits and the size of the type.
  constexpr std::size_t payload_size_at = 11;
  std::string body(front);
  body += rest;
  const bool has_size = body.size() >= payload_size_at + 4 && (body[8] != 0 || body[9] != 0);
  if (has_size) std::memset(body.data() + payload_size_at, 0, 4);
  return body;
}

std::string without_payload(std::string_view body) {
  const BodyLayout layout = body_layout(body.substr(0, longest_front), body.size());
  return without_payload(body.substr(0, layout.front), body.substr(layout.front + layout.payload));
}

bool body_is_sound(std::string_view body) {
  const BodyView view = view_body(body);
  if (view.given == 0) return view.good;
  Task task;
  return decode_into(body, task, false);
}

bool notes_are_sound(std::string_view bytes) {
  if (bytes.empty()) return true;
  Notes notes;
  ByteReader in(bytes);
  read_notes(in, notes);
  return in.good() && in.left() == 0;
}

}  // namespace millrace::embedded
