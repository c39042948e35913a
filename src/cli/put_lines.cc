#include "cli/put_lines.h"

#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <future>
#include <thread>

#include "api/wire/put.h"
#include "core/limits.h"
#include "core/mutex.h"
#include "core/uuid.h"
#include "process/signals.h"

namespace millrace::cli {
namespace {

constexpr Duration without_end = std::chrono::days(3653);
constexpr std::size_t most_tasks = 500;                        // of one request
constexpr std::size_t most_bytes = 512 * 1024;                 // of payloads in it
constexpr std::size_t most_requests = 4;                       // under way
constexpr std::uint64_t most_told = 20;                        // bad lines that are reported
constexpr std::size_t longest_line = 3 * limits::max_payload;  // JSON may be written longer

using Puts = Result<std::vector<Result<Put>>>;

struct Batch {
  std::vector<NewTask> tasks = {};
  std::vector<std::uint64_t> lines = {};  // the line of each
  std::size_t bytes = 0;
  std::future<Puts> answer = {};
};

class LinePutter {
 public:
  LinePutter(const PutLines& what, Session& session) : what_(what), session_(session) {}

  Exit run() {
    // Reading may block for ever, so another thread handles Ctrl-C.
    Signals signals;
    std::jthread listener([&] {
      if (signals.wait(without_end) == SignalKind::stop) leave();
    });
    const Exit exit = put_all();
    signals.wake();
    return exit;
  }

 private:
  Exit put_all() {
    std::string line;
    while (!stopped_ && std::getline(session_.with().in, line)) {
      ++line_;
      if (line.ends_with('\r')) line.pop_back();
      if (line.empty()) continue;
      add(line);
    }
    send();
    while (!under_way_.empty()) finish_first();
    return tell();
  }

  // Ends the process: the other thread waits for a line or an answer.
  [[noreturn]] void leave() {
    const Lock lock(mutex_);
    session_.out().flush();
    session_.console().say(fmt::format("interrupted: put {}; {} more may have been put",
                                       counted(stored_, "task", "tasks"),
                                       grouped(sent_ - answered_)));
    std::_Exit(128 + SIGINT);
  }

  // On the client's thread.
  void note(const Puts& puts) {
    if (!puts) return;
    const Lock lock(mutex_);
    answered_ += puts->size();
    stored_ += static_cast<std::uint64_t>(
        std::ranges::count_if(*puts, [](const Result<Put>& each) { return each.has_value(); }));
  }

  void add(std::string& line) {
    if (line.size() > longest_line) {
      return refuse(line_, {ErrorCode::too_large,
                            fmt::format("it has {} bytes; a payload may have at most {}",
                                        line.size(), limits::max_payload)});
    }
    auto task = task_of(std::move(line));
    line.clear();
    if (!task) return refuse(line_, task.error());
    batch_.bytes += task->payload.size() + task->metadata.size();
    batch_.tasks.push_back(std::move(*task));
    batch_.lines.push_back(line_);
    if (batch_.tasks.size() == most_tasks || batch_.bytes >= most_bytes) send();
  }

  Result<NewTask> task_of(std::string line) const {
    if (what_.whole_tasks) {
      const auto* queue = std::get_if<std::string>(&what_.like.queue);
      const bool named = queue == nullptr || !queue->empty();
      auto task = wire::read_task(line, named ? &what_.like.queue : nullptr);
      if (!task) return std::unexpected(std::move(task.error().error));
      return std::move(*task);
    }
    auto payload = payload_from(std::move(line), what_.flags);
    if (!payload) return std::unexpected(std::move(payload.error()));
    NewTask task = what_.like;
    task.payload = std::move(*payload);
    return task;
  }

  void send() {
    if (batch_.tasks.empty() || stopped_) return;
    if (under_way_.size() == most_requests) finish_first();
    if (stopped_) return;
    auto promise = std::make_shared<std::promise<Puts>>();
    batch_.answer = promise->get_future();
    {
      const Lock lock(mutex_);
      sent_ += batch_.tasks.size();
    }
    session_.broker().put(Ask{}, std::move(batch_.tasks), [this, promise](Puts puts) {
      note(puts);
      promise->set_value(std::move(puts));
    });
    under_way_.push_back(std::move(batch_));
    batch_ = {};
  }

  void finish_first() {
    Batch batch = std::move(under_way_.front());
    under_way_.pop_front();
    const Puts puts = batch.answer.get();
    const Lock lock(mutex_);
    if (!puts) {
      // The next request would fail in the same way.
      if (!error_) error_ = puts.error(), error_line_ = batch.lines.front();
      stopped_ = true;
      return;
    }
    for (std::size_t i = 0; i < puts->size(); ++i) {
      const auto& put = (*puts)[i];
      if (!put) {
        tell_refused(batch.lines[i], put.error());
        continue;
      }
      ++(put->existing ? existing_ : put_);
      if (what_.print_ids) session_.out() << to_text(put->id.value) << '\n';
    }
    session_.console().progress("put", put_ + existing_, 0);
  }

  void refuse(std::uint64_t line, const Error& error) {
    const Lock lock(mutex_);
    tell_refused(line, error);
  }

  void tell_refused(std::uint64_t line, const Error& error) {
    if (++refused_ > most_told) return;
    session_.console().fail({error.code, fmt::format("line {}: {}", line, error.message)});
  }

  Exit tell() {
    const Lock lock(mutex_);
    session_.out().flush();
    Console& console = session_.console();
    if (refused_ > most_told) {
      console.say(fmt::format("... and {} more", counted(refused_ - most_told, "line", "lines")));
    }
    console.say(fmt::format("put {}{}{}", counted(put_, "task", "tasks"),
                            existing_ == 0 ? "" : fmt::format(", {} existed", grouped(existing_)),
                            refused_ == 0 ? "" : fmt::format(", {} refused", grouped(refused_))));
    if (error_) {
      error_->message = fmt::format("from line {} on: {}", error_line_, error_->message);
      return session_.fail(*error_);
    }
    return refused_ == 0 ? Exit::ok : Exit::failed;
  }

  const PutLines& what_;
  Session& session_;
  Mutex mutex_;  // guards the console, too
  std::uint64_t sent_ GUARDED_BY(mutex_) = 0;
  std::uint64_t answered_ GUARDED_BY(mutex_) = 0;
  std::uint64_t stored_ GUARDED_BY(mutex_) = 0;  // of those
  // Of the thread that reads lines.
  Batch batch_;
  std::deque<Batch> under_way_;
  std::uint64_t line_ = 0;
  std::uint64_t put_ = 0;
  std::uint64_t existing_ = 0;
  std::uint64_t refused_ = 0;
  std::optional<Error> error_;
  std::uint64_t error_line_ = 0;
  bool stopped_ = false;
};

}  // namespace

Exit put_lines(const PutLines& what, Session& session) {
  return LinePutter(what, session).run();
}

}  // namespace millrace::cli
