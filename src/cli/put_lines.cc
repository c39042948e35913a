#include "cli/put_lines.h"

#include <fmt/format.h>
#include <deque>
#include <future>

#include "api/wire/put.h"
#include "core/limits.h"
#include "core/uuid.h"

namespace millrace::cli {
namespace {

constexpr std::size_t most_tasks = 500;                        // of one request
constexpr std::size_t most_bytes = 512 * 1024;                 // of payloads in it
constexpr std::size_t most_requests = 4;                       // under way
constexpr std::uint64_t most_told = 20;                        // lines that are told to be wrong
constexpr std::size_t longest_line = 3 * limits::max_payload;  // JSON may be written longer

using Puts = Result<std::vector<Result<Put>>>;

struct Batch {
  std::vector<NewTask> tasks = {};
  std::vector<std::uint64_t> lines = {};  // where each stood
  std::size_t bytes = 0;
  std::future<Puts> answer = {};
};

class LinePutter {
 public:
  LinePutter(const PutLines& what, Session& session) : what_(what), session_(session) {}

  Exit run() {
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

 private:
  void add(std::string& line) {
    if (line.size() > longest_line) {
      return refuse(line_,
                    {ErrorCode::too_large, fmt::format("it has {} bytes; a payload has {} at "
                                                       "most",
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
      const bool named = queue != nullptr && !queue->empty();
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
    session_.broker().put(Ask{}, std::move(batch_.tasks),
                          [promise](Puts puts) { promise->set_value(std::move(puts)); });
    under_way_.push_back(std::move(batch_));
    batch_ = {};
  }

  void finish_first() {
    Batch batch = std::move(under_way_.front());
    under_way_.pop_front();
    const Puts puts = batch.answer.get();
    if (!puts) {
      // Whatever it is, the next request would meet it, too.
      if (!error_) error_ = puts.error(), error_line_ = batch.lines.front();
      stopped_ = true;
      return;
    }
    for (std::size_t i = 0; i < puts->size(); ++i) {
      const auto& put = (*puts)[i];
      if (!put) {
        refuse(batch.lines[i], put.error());
        continue;
      }
      ++(put->existing ? existing_ : put_);
      if (what_.print_ids) session_.out() << to_text(put->id.value) << '\n';
    }
    session_.console().progress("put", put_ + existing_, 0);
  }

  void refuse(std::uint64_t line, const Error& error) {
    if (++refused_ > most_told) return;
    session_.console().fail({error.code, fmt::format("line {}: {}", line, error.message)});
  }

  Exit tell() {
    session_.out().flush();
    Console& console = session_.console();
    if (refused_ > most_told) {
      console.say(fmt::format("... and {} more", counted(refused_ - most_told, "line", "lines")));
    }
    console.say(
        fmt::format("put {}{}{}", counted(put_, "task", "tasks"),
                    existing_ == 0 ? "" : fmt::format(", {} were there", grouped(existing_)),
                    refused_ == 0 ? "" : fmt::format(", {} refused", grouped(refused_))));
    if (error_) {
      error_->message = fmt::format("from line {} on: {}", error_line_, error_->message);
      return session_.fail(*error_);
    }
    return refused_ == 0 ? Exit::ok : Exit::failed;
  }

  const PutLines& what_;
  Session& session_;
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
