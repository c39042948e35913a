#include "api/server/import_lines.h"

#include <fmt/format.h>
#include <algorithm>
#include <utility>
#include <variant>

#include "api/server/handlers.h"
#include "api/wire/put.h"
#include "api/wire/text_writer.h"
#include "core/group_rules.h"
#include "core/limits.h"
#include "core/mutex.h"
#include "transfer/line_fields.h"
#include "transfer/line_reader.h"

namespace millrace::api {
namespace {

constexpr std::size_t import_batch_bytes = std::size_t{2} << 20U;
constexpr std::size_t most_under_way = 3;
constexpr std::size_t most_kept_back = 1000;

// An import is an operator's act, and may use the names that are reserved for the server.
Ask internal(const Call& call) {
  Ask ask = call.ask();
  ask.internal = true;
  return ask;
}

}  // namespace

ImportLines::ImportLines(CallPtr call)
    : call_(std::move(call)), lines_(transfer::LineReader::longest_line) {}

// ---- Coming in ---------------------------------------------------------------------------------

void ImportLines::feed(std::string piece, bool last, Done done) {
  const auto problem = call_->ended();
  last = last || problem;
  {
    const Lock lock(mutex_);
    last_ = last;
  }
  began();  // for as long as lines are read here
  if (problem) {
    tasks_.clear(), places_.clear();
    failed(lines_.number() + 1, {ErrorCode::invalid, problem->detail}, problem->code);
  }
  if (!is_over()) lines_.feed(std::move(piece), last);
  while (!is_over()) {
    const auto line = lines_.next();
    if (!line) break;
    if (line->too_long) {
      failed(lines_.number(),
             {ErrorCode::too_large, fmt::format("it has more than {} bytes", lines_.longest())});
    } else if (line->text.find_first_not_of(" \t\r") != std::string_view::npos) {
      read_line(line->text);
    }
  }
  if (last && !is_over()) check_end();
  if (last || is_over()) send_batch();  // what came before a bad line is sound
  {
    const Lock lock(mutex_);
    done_ = std::move(done);
  }
  ended();
}

void ImportLines::read_line(std::string_view text) {
  if (ended_) {
    return failed(lines_.number(), {ErrorCode::invalid, "there are lines after the closing line"});
  }
  if (tasks_.capacity() == 0) tasks_.reserve(limits::max_batch);
  const auto task = transfer::read_task_line(text, newer_, tasks_.emplace_back());
  if (!task || !*task) tasks_.pop_back();
  if (!task) return failed(lines_.number(), task.error());
  if (*task) {
    bytes_ += text.size();
    return task_read();
  }
  auto line = transfer::read_line(text, newer_);
  if (!line) return failed(lines_.number(), std::move(line.error()));
  bytes_ += text.size();
  std::visit([this](auto& what) { add(what); }, *line);
}

void ImportLines::add(const transfer::Header& header) {
  if (lines_.number() != 1) {
    return failed(lines_.number(),
                  {ErrorCode::invalid, "the opening line of an export is not its first"});
  }
  newer_ = header.newer;
  begun_ = true;
}

void ImportLines::add(const transfer::End& end) {
  ended_ = true;
  if (auto same = transfer::compare(end.counts, read_); !same && begun_) {
    failed(lines_.number(), std::move(same.error()));
  }
}

// An export has a last line of its own; lines written by hand need none.
void ImportLines::check_end() {
  if (lines_.number() == 0) {
    failed(0, {ErrorCode::invalid, "the body is empty; send the lines of an export"});
  } else if (begun_ && !ended_) {
    failed(0, transfer::cut_short(lines_.number()));
  }
}

void ImportLines::add(Queue& queue) {
  ++read_.queues;
  send_batch();
  std::string name = queue.settings.name;
  auto done = counted<Queue>(&transfer::Counts::queues, lines_.number());
  // Another queue may have its number or UUID, which is a conflict as well.
  auto look = [self = shared_from_this(), name,
               done = std::move(done)](Result<Queue> made) mutable {
    if (made || made.error().code != ErrorCode::conflict) return done(std::move(made));
    self->call_->broker->queues(internal(*self->call_), name,
                                [made = std::move(made), done = std::move(done)](
                                    const Result<std::vector<QueueView>>& found) mutable {
                                  if (!found) made.error().code = ErrorCode::invalid;
                                  done(std::move(made));
                                });
  };
  call_->broker->put_queue(internal(*call_), std::move(queue.settings), PutQueue::create,
                           std::move(look));
}

void ImportLines::add(PutGroup& group) {
  ++read_.groups;
  send_batch();
  if (!counts(*group.now, call_->broker->now())) {
    const Lock lock(mutex_);
    ++report_.expired;
    return;
  }
  auto change = [to = std::move(*group.now)](GroupOverride& override) -> Result<void> {
    if (override != GroupOverride{}) return fail(ErrorCode::conflict, "it has an override already");
    override = to;
    return {};
  };
  call_->broker->change_group(internal(*call_), std::move(group.queue), std::move(group.name),
                              std::move(change),
                              counted<Group>(&transfer::Counts::groups, lines_.number()));
}

void ImportLines::add(Schedule& schedule) {
  ++read_.schedules;
  send_batch();
  call_->broker->put_schedule(internal(*call_), std::move(schedule), PutQueue::create,
                              counted<Schedule>(&transfer::Counts::schedules, lines_.number()));
}

void ImportLines::add(Memo& memo) {
  ++read_.memos;
  const TimePoint now = call_->broker->now();
  if (memo.expires && *memo.expires <= now) {
    const Lock lock(mutex_);
    ++report_.expired;
    return;
  }
  if (memo.key.starts_with(access::memo_prefix)) return add_key(memo);
  remember(std::move(memo), counted<Memo>(&transfer::Counts::memos, lines_.number()));
}

// A key that cannot be read would close the server to every caller.
void ImportLines::add_key(Memo& memo) {
  const auto key = access::from_memo(memo);
  if (!key) return failed(lines_.number(), {ErrorCode::invalid, key.error().message});
  const bool manages = key->about.scopes.allow(Scope::admin) && !key->expired(call_->broker->now());
  if (!manages && !may_add_keys()) return keep_back(std::move(memo));
  auto done = counted<Memo>(&transfer::Counts::memos, lines_.number());
  if (!manages) return remember(std::move(memo), std::move(done));
  // Another memo of that name may exist, and then the key is not stored.
  remember(std::move(memo),
           [self = shared_from_this(), done = std::move(done)](Result<Memo> stored) mutable {
             if (stored) self->can_manage_ = true;
             done(std::move(stored));
           });
}

bool ImportLines::may_add_keys() const {
  return can_manage_ || call_->options.keys->book().has_admin(call_->broker->now());
}

void ImportLines::keep_back(Memo memo) {
  if (kept_back_.size() >= most_kept_back) {
    return failed(lines_.number(),
                  {ErrorCode::invalid,
                   fmt::format("no key may manage keys yet, and {} keys came that may not either: "
                               "make one with the scope admin first",
                               most_kept_back)});
  }
  kept_back_.emplace_back(lines_.number(), std::move(memo));
}

void ImportLines::remember(Memo memo, Completion<Memo> done) {
  memos_ = true;
  call_->broker->remember(internal(*call_), transfer::as_new(std::move(memo), call_->broker->now()),
                          std::move(done));
}

// Adds a task whose line is written otherwise than an export writes it.
void ImportLines::add(Task& task) {
  tasks_.push_back(std::move(task));
  task_read();
}

void ImportLines::task_read() {
  ++read_.tasks;
  places_.push_back(lines_.number());
  if (tasks_.size() >= limits::max_batch || bytes_ >= import_batch_bytes) send_batch();
}

void ImportLines::send_batch() {
  bytes_ = 0;
  if (tasks_.empty()) return;
  std::vector<TaskId> ids;
  ids.reserve(tasks_.size());
  for (const Task& task : tasks_) ids.push_back(task.id);
  began();
  call_->broker->restore(
      internal(*call_), std::exchange(tasks_, {}),
      [self = shared_from_this(), ids = std::move(ids), lines = std::exchange(places_, {})](
          const Result<std::vector<Result<Put>>>& puts) { self->restored(ids, lines, puts); });
}

// ---- Answers -----------------------------------------------------------------------------------

template <class T>
Completion<T> ImportLines::counted(std::uint64_t transfer::Counts::* kind, std::uint64_t line) {
  began();
  return [self = shared_from_this(), kind, line](Result<T> result) {
    if (result) {
      const Lock lock(self->mutex_);
      ++(self->report_.added.*kind);
    } else if (result.error().code == ErrorCode::conflict) {
      const Lock lock(self->mutex_);
      ++(self->report_.existing.*kind);
    } else {
      self->failed(line, std::move(result.error()));
    }
    self->ended();
  };
}

void ImportLines::restored(const std::vector<TaskId>& ids, const std::vector<std::uint64_t>& lines,
                           const Result<std::vector<Result<Put>>>& puts) {
  if (!puts) {
    failed(lines.front(), puts.error());
    return ended();
  }
  transfer::ImportReport sum;
  for (std::size_t i = 0; i < puts->size(); ++i) {
    const Result<Put>& put = (*puts)[i];
    if (!put) {
      failed(lines[i], put.error());
    } else if (!put->existing) {
      ++sum.added.tasks;
    } else {
      ++(put->id == ids[i] ? sum.existing.tasks : sum.key_held);
    }
  }
  {
    const Lock lock(mutex_);
    report_.added.tasks += sum.added.tasks;
    report_.existing.tasks += sum.existing.tasks;
    report_.key_held += sum.key_held;
  }
  ended();
}

// The error with the lowest line number is reported.
void ImportLines::failed(std::uint64_t line, Error error, std::string code) {
  const Lock lock(mutex_);
  if (report_.error && wrong_line_ <= line) return;
  wrong_line_ = line;
  wrong_code_ = std::move(code);
  report_.error = std::move(error);
  over_ = true;
}

void ImportLines::began() {
  const Lock lock(mutex_);
  ++under_way_;
}

void ImportLines::ended() {
  Done done;
  {
    const Lock lock(mutex_);
    --under_way_;
    const bool enough = last_ ? under_way_ == 0 : under_way_ < most_under_way;
    if (!done_ || !enough) return;
    if (!last_) done = std::exchange(done_, {});
  }
  if (done) return done({}, false);
  finish();
}

// True: keys that were kept back are being stored, and finish() is called again.
bool ImportLines::release_kept_back() {
  auto kept_back = std::exchange(kept_back_, {});
  if (kept_back.empty() || is_over()) return false;
  if (!may_add_keys()) {
    failed(kept_back.front().first,
           {ErrorCode::invalid,
            "no key may manage keys yet, and with this one every caller would need a key: make one "
            "with the scope admin first"});
    return false;
  }
  began();
  for (auto& [line, memo] : kept_back) {
    remember(std::move(memo), counted<Memo>(&transfer::Counts::memos, line));
  }
  ended();
  return true;
}

// Everything before has been answered.
void ImportLines::finish() {
  if (release_kept_back()) return;
  if (!memos_) return answer_the_last();
  // Keys may be among the memos.
  call_->options.keys->reload(*call_->broker,
                              [self = shared_from_this()](const Result<void>& read) {
                                if (!read) self->failed(0, read.error());
                                self->answer_the_last();
                              });
}

void ImportLines::answer_the_last() {
  std::string text = answer();
  Done done;
  {
    const Lock lock(mutex_);
    done = std::exchange(done_, {});
  }
  done(std::move(text), true);
}

std::string ImportLines::answer() {
  call_->note_stream();
  const Lock lock(mutex_);
  std::string out;
  wire::TextWriter writer(out);
  wire::TextWriter imported(writer.key("imported"));
  wire::append(imported.key("added"), report_.added);
  wire::append(imported.key("existing"), report_.existing);
  wire::append(imported.key("key_held"), report_.key_held);
  wire::append(imported.key("expired"), report_.expired);
  imported.close();
  if (report_.error) {
    if (wrong_code_.empty()) {
      wire::append_error(writer.key("error"), *report_.error);
    } else {
      wire::TextWriter error(writer.key("error"));
      error("code", wrong_code_), error("message", report_.error->message);
      error.close();
    }
    out.pop_back();
    out += fmt::format(R"(,"line":{}}})", wrong_line_);
  }
  writer.close();
  out += '\n';
  return out;
}

BodyPlan plan_import(CallPtr call) {
  if (call->restricted()) {
    return response_of({.status = 403,
                        .code = "forbidden",
                        .detail = "this key is for some queues only, and an import is for all"},
                       call->request_id);
  }
  if (const auto wrong = call->query.finish()) {
    return response_of(problem_of(*wrong), call->request_id);
  }
  const std::string request_id = call->request_id;
  auto lines = std::make_shared<ImportLines>(std::move(call));
  return BodyStream{.content_type = "application/json",
                    .headers = {{"X-Request-Id", request_id}},
                    .feed = [lines](std::string piece, bool last, ImportLines::Done done) {
                      lines->feed(std::move(piece), last, std::move(done));
                    }};
}

}  // namespace millrace::api
