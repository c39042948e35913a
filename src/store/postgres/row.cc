#include "store/postgres/row.h"

#include <utility>

#include "core/transition.h"
#include "store/embedded/bytes.h"
#include "store/embedded/fields.h"

namespace millrace::store_postgres {
namespace {

using embedded::Appender;
using embedded::no_moment;
using embedded::Notes;
using embedded::Reader;
using embedded::Slot;
using postgres::Bytes;
using postgres::Rows;

// The first byte of every value made here, should it ever have to be read differently.
constexpr std::uint8_t format = 1;

// What is rarely given and never looked for by SQL. The order numbers the bits and must not change.
void rare_fields(auto& of, const auto& visit) {
  visit(of.content_type), visit(of.timeout), visit(of.max_lost), visit(of.retry);
  visit(of.callback), visit(of.request_id), visit(of.metadata), visit(of.parent);
}

bool is_given(const std::string& text) {
  return !text.empty();
}
bool is_given(const TaskId& id) {
  return !id.value.is_nil();
}
template <class T>
bool is_given(const std::optional<T>& value) {
  return value.has_value();
}

void read_more(std::string_view bytes, NewTask& task) {
  Reader in(bytes);
  std::uint8_t first = 0;
  std::uint8_t given = 0;
  embedded::read(in, first), embedded::read(in, given);
  unsigned bits = given;
  rare_fields(task, [&](auto& field) {
    if ((bits & 1U) != 0) embedded::read(in, field);
    bits >>= 1U;
  });
}

// Notes are: format, whether the history has the end of the task, too, and what is not in columns
// of its own.
//
// done.sql, which settles most tasks, writes no notes. So the last line of a completed task's
// history is not in there, unless the notes say so: the columns say the same.
struct StoredNotes {
  Notes notes;
  bool whole = false;
};

void note_fields(auto& of, const auto& visit) {
  visit(of.progress), visit(of.delivery), visit(of.log), visit(of.history);
}

std::string write_notes(const Notes& notes, bool whole) {
  std::string bytes;
  Appender out(bytes);
  embedded::write(out, format), embedded::write(out, whole);
  note_fields(notes, [&](const auto& field) { embedded::write(out, field); });
  if (!whole) embedded::write(out, notes.result);
  if (notes.error) {
    embedded::write(out, notes.error->details), embedded::write(out, notes.error->stack);
    embedded::write(out, notes.error->failed_at);
  }
  return bytes;
}

StoredNotes read_notes(std::string_view bytes, std::optional<std::string> error_code,
                       std::optional<std::string> error_message) {
  StoredNotes stored;
  Reader in(bytes);
  std::uint8_t first = 0;
  if (!bytes.empty()) {
    embedded::read(in, first), embedded::read(in, stored.whole);
    note_fields(stored.notes, [&](auto& field) { embedded::read(in, field); });
    if (!stored.whole) embedded::read(in, stored.notes.result);
  }
  if (!error_code) return stored;
  TaskError& error = stored.notes.error.emplace();
  error.code = std::move(*error_code);
  error.message = std::move(error_message).value_or("");
  if (in.left() == 0) return stored;
  embedded::read(in, error.details), embedded::read(in, error.stack);
  embedded::read(in, error.failed_at);
  return stored;
}

// Where the columns are of what a caller has given.
struct GivenPlaces {
  std::size_t priority, start_by, keep_for, unique_window, unique_scope, type, client_id, group,
      tags, unique_key, payload, more;
};
constexpr GivenPlaces in_view = {.priority = 4,
                                 .start_by = 16,
                                 .keep_for = 19,
                                 .unique_window = 20,
                                 .unique_scope = 21,
                                 .type = 23,
                                 .client_id = 24,
                                 .group = 25,
                                 .tags = 26,
                                 .unique_key = 27,
                                 .payload = 28,
                                 .more = 29};
constexpr GivenPlaces in_take = {.priority = 3,
                                 .start_by = 11,
                                 .keep_for = 13,
                                 .unique_window = 14,
                                 .unique_scope = 15,
                                 .type = 16,
                                 .client_id = 17,
                                 .group = 18,
                                 .tags = 19,
                                 .unique_key = 20,
                                 .payload = 21,
                                 .more = 22};

void read_given(const Rows& rows, std::size_t at, const GivenPlaces& places, NewTask& given) {
  given.priority = static_cast<std::uint8_t>(rows.get<std::int16_t>(at, places.priority));
  given.start_by = rows.get<std::optional<TimePoint>>(at, places.start_by);
  if (const auto keep = rows.get<std::optional<std::int64_t>>(at, places.keep_for)) {
    given.keep_for = Duration(*keep);
  }
  if (auto key = rows.get<std::optional<std::string>>(at, places.unique_key)) {
    const auto window = rows.get<std::optional<std::int64_t>>(at, places.unique_window);
    given.unique = UniqueKey{
        .key = std::move(*key),
        .scope = static_cast<UniqueScope>(rows.get<std::int16_t>(at, places.unique_scope)),
        .window = Duration(window.value_or(0))};
  }
  given.type = rows.get<std::string>(at, places.type);
  given.client_id = rows.get<std::optional<std::string>>(at, places.client_id).value_or("");
  given.group = rows.get<std::optional<std::string>>(at, places.group).value_or("");
  given.tags = rows.get<std::optional<std::vector<std::string>>>(at, places.tags)
                   .value_or(std::vector<std::string>());
  given.payload = rows.get<std::string>(at, places.payload);
  if (const auto more = rows.field(at, places.more)) read_more(*more, given);
}

std::uint32_t count_at(const Rows& rows, std::size_t at, std::size_t column) {
  return static_cast<std::uint32_t>(rows.get<std::int32_t>(at, column));
}

// Four columns that stand together.
Counters read_counters(const Rows& rows, std::size_t at, std::size_t first) {
  return {.deliveries = count_at(rows, at, first),
          .attempts = count_at(rows, at, first + 1),
          .retries = count_at(rows, at, first + 2),
          .lost = count_at(rows, at, first + 3)};
}

TimePoint moment_at(const Rows& rows, std::size_t at, std::size_t column) {
  return rows.get<std::optional<TimePoint>>(at, column).value_or(no_moment);
}

std::optional<TimePoint> given_moment(TimePoint moment) {
  return moment == no_moment ? std::nullopt : std::optional(moment);
}

std::optional<std::string_view> some(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<std::string_view>(text);
}

std::optional<std::int64_t> ms(const std::optional<Duration>& duration) {
  return duration ? std::optional<std::int64_t>(duration->count()) : std::nullopt;
}

}  // namespace

Row read_row(const Rows& rows, std::size_t at) {
  Row row;
  Slot& slot = row.slot;
  slot.number = rows.get<std::uint64_t>(at, 0);
  slot.id = {rows.get<Uuid>(at, 1)};
  slot.queue = static_cast<std::uint16_t>(rows.get<std::int32_t>(at, 2));
  slot.state = static_cast<TaskState>(rows.get<std::int16_t>(at, 3));
  slot.priority = static_cast<std::uint8_t>(rows.get<std::int16_t>(at, 4));
  slot.cancel_requested = rows.get<bool>(at, 5);
  slot.version = count_at(rows, at, 6);
  slot.counters = read_counters(rows, at, 7);
  slot.start = rows.get<TimePoint>(at, 11);
  row.created_at = rows.get<TimePoint>(at, 12);
  slot.updated_at = rows.get<TimePoint>(at, 13);
  slot.previous_start = moment_at(rows, at, 14);
  slot.started_at = moment_at(rows, at, 15);
  slot.moment = moment_at(rows, at, 17);
  slot.token = rows.get<std::optional<std::uint64_t>>(at, 18).value_or(0);
  row.worker = rows.get<std::optional<std::string>>(at, 22).value_or("");
  read_given(rows, at, in_view, row.given);
  slot.has_unique = row.given.unique.has_value();
  slot.has_start_by = row.given.start_by.has_value();
  slot.keeps_itself = row.given.keep_for.has_value();
  auto stored = read_notes(rows.field(at, 32).value_or(std::string_view()),
                           rows.get<std::optional<std::string>>(at, 30),
                           rows.get<std::optional<std::string>>(at, 31));
  row.notes = std::move(stored.notes);
  if (is_final(slot.state)) {
    row.notes.result = rows.get<std::optional<std::string>>(at, 33).value_or("");
  }
  if (slot.state == TaskState::completed && !stored.whole) {
    embedded::add_to_history(row.notes,
                             {.started_at = slot.started_at,
                              .ended_at = slot.moment,
                              .event = Event::done,
                              .worker = row.worker},
                             std::nullopt);
  }
  return row;
}

Row read_taken(const Rows& rows, std::size_t at) {
  Row row;
  Slot& slot = row.slot;
  slot.number = rows.get<std::uint64_t>(at, 0);
  slot.id = {rows.get<Uuid>(at, 1)};
  slot.queue = static_cast<std::uint16_t>(rows.get<std::int32_t>(at, 2));
  slot.state = TaskState::processing;
  slot.counters = read_counters(rows, at, 4);
  slot.start = rows.get<TimePoint>(at, 8);
  row.created_at = rows.get<TimePoint>(at, 9);
  slot.previous_start = moment_at(rows, at, 10);
  slot.token = rows.get<std::uint64_t>(at, 12);
  read_given(rows, at, in_take, row.given);
  slot.priority = row.given.priority;
  return row;
}

std::optional<std::string> more_of(const NewTask& task) {
  std::uint8_t given = 0;
  std::uint8_t bit = 1;
  rare_fields(task, [&](const auto& field) {
    if (is_given(field)) given = static_cast<std::uint8_t>(given | bit);
    bit = static_cast<std::uint8_t>(bit << 1U);
  });
  if (given == 0) return std::nullopt;
  std::string bytes;
  Appender out(bytes);
  embedded::write(out, format), embedded::write(out, given);
  rare_fields(task, [&](const auto& field) {
    if (is_given(field)) embedded::write(out, field);
  });
  return bytes;
}

std::optional<std::string> tags_text(const std::vector<std::string>& tags) {
  if (tags.empty()) return std::nullopt;
  std::string text = "{";
  for (const std::string& tag : tags) {
    text += text.size() == 1 ? "\"" : ",\"";
    for (const char c : tag) {
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
    text += '"';
  }
  text += '}';
  return text;
}

Task task_of(const Row& row, const std::string& queue) {
  const Slot& slot = row.slot;
  const NewTask& given = row.given;
  Task task{.id = slot.id,
            .number = {slot.number},
            .version = {slot.version},
            .queue = queue,
            .type = given.type,
            .payload = given.payload,
            .content_type = given.content_type,
            .state = slot.state,
            .priority = slot.priority,
            .cancel_requested = slot.cancel_requested,
            .counters = slot.counters,
            .created_at = row.created_at,
            .updated_at = slot.updated_at,
            .start = slot.start,
            .previous_start = given_moment(slot.previous_start),
            .started_at = given_moment(slot.started_at),
            .start_by = given.start_by,
            .worker = row.worker,
            .timeout = given.timeout,
            .max_lost = given.max_lost,
            .retry = given.retry,
            .unique = given.unique,
            .callback = given.callback,
            .keep_for = given.keep_for,
            .client_id = given.client_id,
            .request_id = given.request_id,
            .group = given.group,
            .metadata = given.metadata,
            .tags = given.tags,
            .parent = given.parent,
            .result = row.notes.result,
            .error = row.notes.error,
            .progress = row.notes.progress,
            .delivery = row.notes.delivery,
            .log = row.notes.log,
            .history = row.notes.history};
  if (is_final(slot.state)) task.finished_at = slot.moment;
  if (slot.state == TaskState::processing) task.lease_until = slot.moment;
  return task;
}

Lease lease_of(Row row, const std::string& queue) {
  const Slot& slot = row.slot;
  NewTask& given = row.given;
  Lease lease{.id = slot.id,
              .number = {slot.number},
              .queue = queue,
              .type = std::move(given.type),
              .payload = std::move(given.payload),
              .content_type = std::move(given.content_type),
              .priority = slot.priority,
              .counters = slot.counters,
              .created_at = row.created_at,
              .start = slot.start,
              .previous_start = given_moment(slot.previous_start),
              .start_by = given.start_by,
              .timeout = given.timeout,
              .max_lost = given.max_lost,
              .retry = given.retry,
              .unique = std::move(given.unique),
              .callback = std::move(given.callback),
              .keep_for = given.keep_for,
              .client_id = std::move(given.client_id),
              .request_id = std::move(given.request_id),
              .group = std::move(given.group),
              .metadata = std::move(given.metadata),
              .tags = std::move(given.tags),
              .parent = given.parent};
  if (slot.started_at != no_moment) lease.started_at = slot.started_at;
  if (slot.state == TaskState::processing) {
    lease.token = {slot.token};
    lease.until = slot.moment;
  }
  return lease;
}

void MutableColumns::push(const Slot& slot, std::optional<TimePoint> start_by, const Notes& notes,
                          std::string_view worker, const Keeping& keeping) {
  ids_.push(slot.id.value);
  queue_.push(slot.queue);
  state_.push(static_cast<std::int16_t>(slot.state));
  priority_.push(slot.priority);
  cancel_requested_.push(slot.cancel_requested);
  version_.push(static_cast<std::int32_t>(slot.version));
  deliveries_.push(static_cast<std::int32_t>(slot.counters.deliveries));
  attempts_.push(static_cast<std::int32_t>(slot.counters.attempts));
  retries_.push(static_cast<std::int32_t>(slot.counters.retries));
  lost_.push(static_cast<std::int32_t>(slot.counters.lost));
  start_.push(slot.start);
  updated_at_.push(slot.updated_at);
  previous_start_.push(given_moment(slot.previous_start));
  started_at_.push(given_moment(slot.started_at));
  start_by_.push(start_by);
  moment_.push(given_moment(slot.moment));
  token_.push(slot.token == 0 ? std::nullopt
                              : std::optional(static_cast<std::int64_t>(slot.token)));
  worker_.push(worker.empty() ? std::nullopt : std::optional(worker));
  if (notes.error) {
    error_code_.push(Bytes{notes.error->code});
    error_message_.push(Bytes{notes.error->message});
  } else {
    error_code_.push_null();
    error_message_.push_null();
  }
  if (notes == Notes{}) {
    notes_.push_null();
  } else {
    notes_.push(Bytes{write_notes(notes, is_final(slot.state))});
  }
  result_.push(notes.result.empty() ? std::nullopt : std::optional(Bytes{notes.result}));
  class_.push(keeping.task_class);
  goes_at_.push(keeping.goes_at);
}

void MutableColumns::add_to(postgres::Params& params) const {
  params.add(ids_), params.add(queue_), params.add(state_), params.add(priority_);
  params.add(cancel_requested_), params.add(version_), params.add(deliveries_);
  params.add(attempts_), params.add(retries_), params.add(lost_), params.add(start_);
  params.add(updated_at_), params.add(previous_start_), params.add(started_at_);
  params.add(start_by_), params.add(moment_), params.add(token_), params.add(worker_);
  params.add(error_code_), params.add(error_message_), params.add(notes_), params.add(result_);
  params.add(class_), params.add(goes_at_);
}

void GivenColumns::push(std::uint64_t number, const NewTask& task, TimePoint created_at) {
  number_.push(static_cast<std::int64_t>(number));
  created_at_.push(created_at);
  keep_for_.push(ms(task.keep_for));
  if (task.unique) {
    unique_window_.push(task.unique->window.count());
    unique_scope_.push(static_cast<std::int16_t>(task.unique->scope));
    unique_key_.push(task.unique->key);
  } else {
    unique_window_.push_null(), unique_scope_.push_null(), unique_key_.push_null();
  }
  type_.push(task.type);
  client_id_.push(some(task.client_id));
  group_.push(some(task.group));
  if (const auto tags = tags_text(task.tags)) {
    tags_.push(*tags);
  } else {
    tags_.push_null();
  }
  payload_.push(Bytes{task.payload});
  if (const auto more = more_of(task)) {
    more_.push(Bytes{*more});
  } else {
    more_.push_null();
  }
}

void GivenColumns::add_to(postgres::Params& params) const {
  params.add(number_), params.add(created_at_), params.add(keep_for_);
  params.add(unique_window_), params.add(unique_scope_), params.add(type_);
  params.add(client_id_), params.add(group_), params.add(tags_), params.add(unique_key_);
  params.add(payload_), params.add(more_);
}

}  // namespace millrace::store_postgres
