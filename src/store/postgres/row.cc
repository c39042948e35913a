#include "store/postgres/row.h"

#include <utility>

#include "core/own_keep.h"
#include "core/transition.h"
#include "core/uuid.h"
#include "store/embedded/bytes.h"
#include "store/embedded/fields.h"
#include "store/embedded/verbs.h"
#include "store/postgres/format.h"
#include "store/postgres/session.h"

namespace millrace::store_postgres {
namespace {

using embedded::Appender;
using embedded::ByteReader;
using embedded::no_moment;
using embedded::Notes;
using embedded::Slot;
using embedded::Waits;
using postgres::Answer;
using postgres::Bytes;
using postgres::Rows;
using sql::RowColumns;
using sql::TakenColumns;

// Fields that are rarely given and that SQL never looks for. The order numbers the bits and must
// not change.
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

Answer<void> read_more(std::string_view bytes, const TaskId& id, NewTask& task) {
  const auto name = [&] { return "fields of task " + to_text(id.value); };
  return read_value(bytes, name, [&](embedded::ByteReader& in) {
    std::uint8_t given = 0;
    embedded::read(in, given);
    unsigned bits = given;
    rare_fields(task, [&](auto& field) {
      if ((bits & 1U) != 0) embedded::read(in, field);
      bits >>= 1U;
    });
    if (in.left() != 0) embedded::read_late(in, task);  // since format 2
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

// What a task waits for: format, the parents that still count, and the one because of which it is
// to be cancelled. The rest of it is what was given.
std::string write_waits(const Waits& waits) {
  std::string bytes;
  Appender out(bytes);
  embedded::write(out, first_format), embedded::write(out, waits.open);
  embedded::write(out, waits.ended.has_value());
  if (waits.ended) embedded::write(out, waits.ended->id), embedded::write(out, waits.ended->state);
  return bytes;
}

Answer<std::optional<Waits>> read_waits(const Rows& rows, std::size_t at, const TaskId& id,
                                        const NewTask& given) {
  const auto bytes = rows.field(at, RowColumns::waits);
  if (!bytes) return std::nullopt;
  Waits waits = Waits::of(given.after.value_or(After{}));
  const std::size_t size = waits.open.size();
  const auto name = [&] { return "parents of task " + to_text(id.value); };
  auto read = read_value(*bytes, name, [&](ByteReader& in) {
    bool ended = false;
    embedded::read(in, waits.open), embedded::read(in, ended);
    if (ended) waits.ended.emplace();
    if (ended) embedded::read(in, waits.ended->id), embedded::read(in, waits.ended->state);
    if (!given.after || waits.open.size() != size) in.spoil();
  });
  if (!read) return std::unexpected(std::move(read.error()));
  return waits;
}

// Checkpoint, answer and waits have columns of their own.
void note_fields(auto& of, const auto& visit) {
  visit(of.progress), visit(of.delivery), visit(of.log), visit(of.history);
}

// Of what is not in columns of its own.
bool has_none(const Notes& notes) {
  if (!notes.waits) return notes == Notes{};
  Notes others = notes;
  others.waits.reset();
  return others == Notes{};
}

std::string write_notes(const Notes& notes, bool whole) {
  std::string bytes;
  Appender out(bytes);
  embedded::write(out, first_format), embedded::write(out, whole);
  note_fields(notes, [&](const auto& field) { embedded::write(out, field); });
  if (!whole) embedded::write(out, notes.result);
  if (notes.error) {
    embedded::write(out, notes.error->details), embedded::write(out, notes.error->stack);
    embedded::write(out, notes.error->failed_at);
  }
  return bytes;
}

Answer<StoredNotes> read_notes(const Rows& rows, std::size_t at, const TaskId& id) {
  StoredNotes stored;
  Notes& notes = stored.notes;
  if (auto code = rows.get<std::optional<std::string>>(at, RowColumns::error_code)) {
    auto message = rows.get<std::optional<std::string>>(at, RowColumns::error_message);
    notes.error = TaskError{.code = std::move(*code), .message = std::move(message).value_or("")};
  }
  const auto bytes = rows.field(at, RowColumns::notes);
  if (!bytes) return stored;
  const auto name = [&] { return "notes of task " + to_text(id.value); };
  auto read = read_value(*bytes, name, [&](embedded::ByteReader& in) {
    embedded::read(in, stored.whole);
    note_fields(notes, [&](auto& field) { embedded::read(in, field); });
    if (!stored.whole) embedded::read(in, notes.result);
    if (!notes.error || in.left() == 0) return;
    embedded::read(in, notes.error->details), embedded::read(in, notes.error->stack);
    embedded::read(in, notes.error->failed_at);
  });
  if (!read) return std::unexpected(std::move(read.error()));
  return stored;
}

// The fields that a caller has given, in the columns of Columns.
template <class Columns>
Answer<void> read_given(const Rows& rows, std::size_t at, const TaskId& id, NewTask& given) {
  given.priority = static_cast<std::uint8_t>(rows.get<std::int16_t>(at, Columns::priority));
  given.start_by = rows.get<std::optional<TimePoint>>(at, Columns::start_by);
  if (const auto keep = rows.get<std::optional<std::int64_t>>(at, Columns::keep_for)) {
    given.keep_for = Duration(*keep);
  }
  if (auto key = rows.get<std::optional<std::string>>(at, Columns::unique_key)) {
    const auto window = rows.get<std::optional<std::int64_t>>(at, Columns::unique_window);
    given.unique = UniqueKey{
        .key = std::move(*key),
        .scope = static_cast<UniqueScope>(rows.get<std::int16_t>(at, Columns::unique_scope)),
        .window = Duration(window.value_or(0))};
  }
  given.type = rows.get<std::string>(at, Columns::type);
  given.client_id = rows.get<std::optional<std::string>>(at, Columns::client_id).value_or("");
  given.group = rows.get<std::optional<std::string>>(at, Columns::group).value_or("");
  given.tags = rows.get<std::optional<std::vector<std::string>>>(at, Columns::tags)
                   .value_or(std::vector<std::string>());
  given.payload = rows.get<std::string>(at, Columns::payload);
  const auto more = rows.field(at, Columns::more);
  if (!more) return {};
  auto read = read_more(*more, id, given);
  // Then the column has the rule for one of the ends.
  if (given.keep_completed || given.keep_dead) given.keep_for.reset();
  return read;
}

std::uint32_t count_at(const Rows& rows, std::size_t at, std::size_t column) {
  return static_cast<std::uint32_t>(rows.get<std::int32_t>(at, column));
}

template <class Columns>
Counters read_counters(const Rows& rows, std::size_t at) {
  return {.deliveries = count_at(rows, at, Columns::deliveries),
          .attempts = count_at(rows, at, Columns::attempts),
          .retries = count_at(rows, at, Columns::retries),
          .lost = count_at(rows, at, Columns::lost)};
}

template <class Columns>
void read_steps(const Rows& rows, std::size_t at, Row& row) {
  using Text = std::optional<std::string>;
  row.notes.checkpoint = rows.get<Text>(at, Columns::checkpoint).value_or("");
  row.notes.answer = rows.get<Text>(at, Columns::answer);
  row.slot.has_steps = row.notes.has_steps();
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
  using At = RowColumns;
  Row row;
  Slot& slot = row.slot;
  slot.number = rows.get<std::uint64_t>(at, At::number);
  slot.id = {rows.get<Uuid>(at, At::id)};
  slot.queue = static_cast<std::uint16_t>(rows.get<std::int32_t>(at, At::queue));
  slot.state = static_cast<TaskState>(rows.get<std::int16_t>(at, At::state));
  slot.priority = static_cast<std::uint8_t>(rows.get<std::int16_t>(at, At::priority));
  slot.cancel_requested = rows.get<bool>(at, At::cancel_requested);
  slot.version = count_at(rows, at, At::version);
  slot.counters = read_counters<At>(rows, at);
  slot.start = rows.get<TimePoint>(at, At::start);
  row.created_at = rows.get<TimePoint>(at, At::created_at);
  slot.updated_at = rows.get<TimePoint>(at, At::updated_at);
  slot.previous_start = moment_at(rows, at, At::previous_start);
  slot.started_at = moment_at(rows, at, At::started_at);
  slot.moment = moment_at(rows, at, At::moment);
  slot.token = rows.get<std::optional<std::uint64_t>>(at, At::token).value_or(0);
  row.worker = rows.get<std::optional<std::string>>(at, At::worker).value_or("");
  if (auto given = read_given<At>(rows, at, slot.id, row.given); !given) {
    row.unreadable = std::move(given.error().message);
  }
  slot.has_unique = row.given.unique.has_value();
  slot.has_start_by = row.given.start_by.has_value();
  slot.keeps_itself = has_own_keep(row.given);
  auto stored = read_notes(rows, at, slot.id);
  if (!stored) {
    row.unreadable = std::move(stored.error().message);
    return row;
  }
  row.notes = std::move(stored->notes);
  read_steps<At>(rows, at, row);
  if (row.unreadable.empty()) {
    auto waits = read_waits(rows, at, slot.id, row.given);
    if (!waits) {
      row.unreadable = std::move(waits.error().message);
    } else {
      row.notes.waits = std::move(*waits);
    }
  }
  if (is_final(slot.state)) {
    row.notes.result = rows.get<std::optional<std::string>>(at, At::result).value_or("");
  }
  if (slot.state == TaskState::completed && !stored->whole) {
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
  using At = TakenColumns;
  Row row;
  Slot& slot = row.slot;
  slot.number = rows.get<std::uint64_t>(at, At::number);
  slot.id = {rows.get<Uuid>(at, At::id)};
  slot.queue = static_cast<std::uint16_t>(rows.get<std::int32_t>(at, At::queue));
  slot.state = TaskState::processing;
  slot.counters = read_counters<At>(rows, at);
  slot.start = rows.get<TimePoint>(at, At::start);
  row.created_at = rows.get<TimePoint>(at, At::created_at);
  slot.previous_start = moment_at(rows, at, At::previous_start);
  slot.token = rows.get<std::uint64_t>(at, At::token);
  if (auto given = read_given<At>(rows, at, slot.id, row.given); !given) {
    row.unreadable = std::move(given.error().message);
  }
  read_steps<At>(rows, at, row);
  slot.priority = row.given.priority;
  return row;
}

std::unexpected<Error> unreadable_task(const Row& row, std::string_view doing) {
  return std::unexpected(to_error(unreadable(row.unreadable), doing));
}

std::optional<std::int64_t> kept_for(const NewTask& task, TaskState state) {
  return ms(own_keep(task, is_final(state) ? state : TaskState::completed));
}

std::optional<std::string> more_of(const NewTask& task) {
  std::uint8_t given = 0;
  std::uint8_t bit = 1;
  rare_fields(task, [&](const auto& field) {
    if (is_given(field)) given = static_cast<std::uint8_t>(given | bit);
    bit = static_cast<std::uint8_t>(bit << 1U);
  });
  const bool late = embedded::late_bits(task) != 0;
  if (given == 0 && !late) return std::nullopt;
  std::string bytes;
  Appender out(bytes);
  embedded::write(out, late ? newest_format : first_format), embedded::write(out, given);
  rare_fields(task, [&](const auto& field) {
    if (is_given(field)) embedded::write(out, field);
  });
  if (late) embedded::write_late(out, task);
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

void push_text(postgres::Array<std::string_view>& to, const std::optional<std::string>& text) {
  if (text) {
    to.push(*text);
  } else {
    to.push_null();
  }
}

void push_bytes(postgres::Array<Bytes>& to, const std::optional<std::string>& bytes) {
  if (bytes) {
    to.push(Bytes{*bytes});
  } else {
    to.push_null();
  }
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
            .cost = given.cost,
            .after = given.after,
            .waits_for = embedded::open_parents(given.after, row.notes.waits),
            .keep_completed = given.keep_completed,
            .keep_dead = given.keep_dead,
            .result = row.notes.result,
            .error = row.notes.error,
            .progress = row.notes.progress,
            .delivery = row.notes.delivery,
            .log = row.notes.log,
            .history = row.notes.history,
            .checkpoint = row.notes.checkpoint,
            .answer = row.notes.answer};
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
              .parent = given.parent,
              .cost = given.cost,
              .after = std::move(given.after),
              .keep_completed = given.keep_completed,
              .keep_dead = given.keep_dead,
              .checkpoint = std::move(row.notes.checkpoint),
              .answer = std::move(row.notes.answer)};
  if (slot.started_at != no_moment) lease.started_at = slot.started_at;
  if (slot.state == TaskState::processing) {
    lease.token = {slot.token};
    lease.until = slot.moment;
  }
  return lease;
}

void push_changed(sql::ChangedArrays& to, const Row& row, const Keeping& keeping) {
  const Slot& slot = row.slot;
  const Notes& notes = row.notes;
  to.id.push(slot.id.value);
  to.queue.push(slot.queue);
  to.state.push(static_cast<std::int16_t>(slot.state));
  to.priority.push(slot.priority);
  to.cancel_requested.push(slot.cancel_requested);
  to.version.push(static_cast<std::int32_t>(slot.version));
  to.deliveries.push(static_cast<std::int32_t>(slot.counters.deliveries));
  to.attempts.push(static_cast<std::int32_t>(slot.counters.attempts));
  to.retries.push(static_cast<std::int32_t>(slot.counters.retries));
  to.lost.push(static_cast<std::int32_t>(slot.counters.lost));
  to.start.push(slot.start);
  to.updated_at.push(slot.updated_at);
  to.previous_start.push(given_moment(slot.previous_start));
  to.started_at.push(given_moment(slot.started_at));
  to.start_by.push(row.given.start_by);  // empty in a second life
  to.moment.push(given_moment(slot.moment));
  to.token.push(slot.token == 0 ? std::nullopt
                                : std::optional(static_cast<std::int64_t>(slot.token)));
  to.worker.push(some(row.worker));
  if (notes.error) {
    to.error_code.push(Bytes{notes.error->code});
    to.error_message.push(Bytes{notes.error->message});
  } else {
    to.error_code.push_null();
    to.error_message.push_null();
  }
  // A completed task without notes would be read as one that done.sql has settled.
  if (has_none(notes) && slot.state != TaskState::completed) {
    to.notes.push_null();
  } else {
    to.notes.push(Bytes{write_notes(notes, is_final(slot.state))});
  }
  to.checkpoint.push(notes.checkpoint.empty() ? std::nullopt
                                              : std::optional(Bytes{notes.checkpoint}));
  push_bytes(to.answer, notes.answer);
  push_bytes(to.waits, notes.waits ? std::optional(write_waits(*notes.waits)) : std::nullopt);
  to.orphaned.push(notes.waits && notes.waits->ended ? std::optional(true) : std::nullopt);
  to.result.push(notes.result.empty() ? std::nullopt : std::optional(Bytes{notes.result}));
  to.class_.push(keeping.task_class);
  to.goes_at.push(keeping.goes_at);
  to.own_keep.push(kept_for(row.given, slot.state));
}

void NewRows::push(const Row& row, const Keeping& keeping) {
  const NewTask& task = row.given;
  push_changed(changed, row, keeping);
  given.number.push(static_cast<std::int64_t>(row.slot.number));
  given.created_at.push(row.created_at);
  given.keep_for.push(kept_for(task, row.slot.state));
  if (task.unique) {
    given.unique_window.push(task.unique->window.count());
    given.unique_scope.push(static_cast<std::int16_t>(task.unique->scope));
    given.unique_key.push(task.unique->key);
  } else {
    given.unique_window.push_null(), given.unique_scope.push_null();
    given.unique_key.push_null();
  }
  given.type.push(task.type);
  given.client_id.push(some(task.client_id));
  given.group.push(some(task.group));
  push_text(tags, tags_text(task.tags));
  given.payload.push(Bytes{task.payload});
  push_bytes(given.more, more_of(task));
}

}  // namespace millrace::store_postgres
