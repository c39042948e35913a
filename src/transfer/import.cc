#include "transfer/import.h"

#include <fmt/format.h>
#include <utility>

#include "core/group_rules.h"
#include "core/seed.h"
#include "core/uuid.h"
#include "store/store.h"
#include "transfer/batch.h"
#include "transfer/kind.h"
#include "transfer/line.h"
#include "transfer/line_reader.h"
#include "transfer/queue_state.h"

namespace millrace::transfer {
namespace {

Result<void> passed_on(const auto& result) {
  if (result) return {};
  return std::unexpected(result.error());
}

class Import {
 public:
  Import(std::istream& in, Store& store, TimePoint now, const ImportOptions& options)
      : lines_(in), store_(store), now_(now), options_(options), batch_(store, now, report_) {}

  ImportReport run() {
    Result<void> done = recognise();
    // Tasks before the error are sound, so they are restored.
    Result<void> rest = batch_.finish();
    if (done) done = std::move(rest);
    if (Result<void> durable = store_.flush(); done) done = std::move(durable);
    if (!done) report_.error = std::move(done.error());
    tell();
    return report_;
  }

 private:
  Result<void> recognise() {
    const auto beginning = lines_.peek(look_ahead);
    if (!beginning) return std::unexpected(beginning.error());
    const auto kind = kind_of(*beginning);
    if (!kind) return std::unexpected(kind.error());
    return *kind == Kind::lines ? read_lines() : read_document();
  }

  void tell() {
    if (options_.progress) options_.progress(report_, lines_.bytes());
  }

  // ---- Lines ----

  Result<void> read_lines() {
    while (true) {
      const auto line = lines_.next();
      if (!line) return std::unexpected(line.error());
      if (!*line) break;
      if ((*line)->empty()) continue;
      if (auto done = read_line(**line); !done) {
        return fail(done.error().code, fmt::format("{}: {}", place(), done.error().message));
      }
      // An error from here names its place itself; it may be that of an earlier task.
      if (auto done = add_pending((*line)->size()); !done) return done;
      if (lines_.line() % 1000 == 0) tell();
    }
    if (ended_) return {};
    return std::unexpected(cut_short(lines_.line()));
  }

  std::string place() const { return fmt::format("line {}", lines_.line()); }

  Result<void> read_line(std::string_view text) {
    if (lines_.line() == 1 && text.starts_with(byte_order_mark)) {
      text.remove_prefix(byte_order_mark.size());
    }
    if (ended_) return fail(ErrorCode::invalid, "there are lines after the closing line");
    auto line = transfer::read_line(text, newer_);
    if (!line) return std::unexpected(std::move(line.error()));
    return std::visit([this](auto& what) { return add(what); }, *line);
  }

  Result<void> add(Unknown&) { return {}; }

  Result<void> add(const Header& header) {
    if (lines_.line() != 1) {
      return fail(ErrorCode::invalid, "the opening line of an export is not its first");
    }
    newer_ = header.newer;
    return {};
  }

  Result<void> add(const Queue& queue) {
    ++read_.queues;
    return add_queue(queue.settings);
  }

  Result<void> add_queue(const QueueSettings& settings) {
    const auto found = store_.queues(QueueRef(settings.name));
    if (found) {
      ++report_.existing.queues;
      return {};
    }
    if (found.error().code != ErrorCode::not_found) return std::unexpected(found.error());
    auto put = store_.put_queue(settings, PutQueue::create, now_);
    if (put) ++report_.added.queues;
    return passed_on(put);
  }

  Result<void> add(const PutGroup& group) {
    ++read_.groups;
    if (!counts(*group.now, now_)) {
      ++report_.expired;
      return {};
    }
    const auto stored = store_.put_group(group, now_);  // if it does nothing differently yet
    if (stored) {
      ++report_.added.groups;
    } else if (stored.error().code == ErrorCode::conflict) {
      ++report_.existing.groups;
    } else {
      return std::unexpected(stored.error());
    }
    return {};
  }

  Result<void> add(const Schedule& schedule) {
    ++read_.schedules;
    const auto found = store_.schedules(schedule.name);
    if (found) {
      ++report_.existing.schedules;
      return {};
    }
    if (found.error().code != ErrorCode::not_found) return std::unexpected(found.error());
    auto put = store_.put_schedule(schedule, PutSchedule::create, now_);
    if (!put && put.error().code == ErrorCode::conflict) {  // added in this very moment
      ++report_.existing.schedules;
      return {};
    }
    if (put) ++report_.added.schedules;
    return passed_on(put);
  }

  Result<void> add(Memo& memo) {
    ++read_.memos;
    if (memo.expires && *memo.expires <= now_) {
      ++report_.expired;
      return {};
    }
    if (options_.check_memo) {
      if (auto good = options_.check_memo(memo); !good) return good;
    }
    const auto stored = store_.remember(as_new(std::move(memo), now_), now_);
    if (stored) {
      ++report_.added.memos;
    } else if (stored.error().code == ErrorCode::conflict) {
      ++report_.existing.memos;
    } else {
      return std::unexpected(stored.error());
    }
    return {};
  }

  Result<void> add(Task& task) {
    ++read_.tasks;
    pending_ = std::move(task);
    return {};
  }

  Result<void> add_pending(std::size_t bytes) {
    if (!pending_) return {};
    Task task = std::move(*pending_);
    pending_.reset();
    return batch_.add(std::move(task), place(), bytes);
  }

  Result<void> add(const End& end) {
    ended_ = true;
    return compare(end.counts, read_);
  }

  // ---- One document ----

  Result<void> read_document() {
    auto tasks = read_queue_state(lines_, options_.queue, now_);
    if (!tasks) return std::unexpected(std::move(tasks.error()));
    UuidSource ids(random_seed());
    if (auto done = add_queue({.name = options_.queue, .id = ids.next(now_)}); !done) return done;
    for (PlacedTask& each : *tasks) {
      const std::size_t bytes = each.task.payload.size() + each.task.result.size();
      if (auto done = batch_.add(std::move(each.task), std::move(each.place), bytes); !done) {
        return done;
      }
    }
    return {};
  }

  LineReader lines_;
  Store& store_;
  const TimePoint now_;
  const ImportOptions& options_;
  ImportReport report_;
  Batch batch_;
  bool newer_ = false;  // as its header says
  Counts read_;
  std::optional<Task> pending_;  // of the line just read
  bool ended_ = false;
};

}  // namespace

Remember as_new(Memo memo, TimePoint now) {
  Remember request{.key = std::move(memo.key), .value = std::move(memo.value), .expected = 0};
  if (memo.expires) request.lifetime = *memo.expires - now;
  return request;
}

Error cut_short(std::uint64_t lines) {
  return {
      ErrorCode::invalid,
      fmt::format("the export ends after line {} without its closing line, so a part of it is "
                  "missing. What is there was imported; get the whole file and import that, too",
                  lines)};
}

Result<void> compare(const Counts& written, const Counts& read) {
  if (written == read) return {};
  return fail(
      ErrorCode::invalid,
      fmt::format("the export had {} queues, {} groups, {} schedules, {} memos and {} tasks "
                  "when it was written, and this file has {}, {}, {}, {} and {}: lines are "
                  "missing or were added",
                  written.queues, written.groups, written.schedules, written.memos, written.tasks,
                  read.queues, read.groups, read.schedules, read.memos, read.tasks));
}

ImportReport import_store(std::istream& in, Store& store, TimePoint now,
                          const ImportOptions& options) {
  return Import(in, store, now, options).run();
}

}  // namespace millrace::transfer
