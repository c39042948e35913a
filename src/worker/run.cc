#include "worker/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.h"
#include "core/clip.h"
#include "core/limits.h"
#include "core/mutex.h"
#include "core/utf8.h"
#include "core/validate.h"
#include "worker/steps.h"

namespace millrace::worker {
namespace {

// The clock decides, but the condition variable waits in real time. Short waits, so that a clock
// moved by a test is noticed soon.
constexpr std::chrono::milliseconds longest_look{250};

// Longer than any wait, and still countable in nanoseconds.
constexpr Duration for_ever = std::chrono::years(100);

// The webhook and the alert of a task are among its follow-ups.
constexpr std::size_t most_follow_ups = limits::max_follow_ups - 2;

// Keeps what is valid UTF-8.
std::string printable(std::string line) {
  if (is_utf8(line)) return line;
  std::string text;
  for (std::string_view rest = line; !rest.empty();) {
    const std::size_t length = utf8_character(rest);
    text += length == 0 ? "?" : rest.substr(0, length);
    rest.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return text;
}

}  // namespace

Run::Run(Lease what, std::size_t of_queue, RunHost& host, std::optional<Duration> limit,
         Acknowledge acknowledge)
    : lease(std::move(what)),
      queue_index(of_queue),
      timeout(limit),
      host_(host),
      acknowledge_(acknowledge),
      checkpoint_(lease.checkpoint),
      wanted_(lease.checkpoint) {}

// ---- Time and stopping ----

Moment Run::time_up() const {
  const Moment begun = started();
  if (!timeout || begun == no_moment) return no_moment;
  return begun + *timeout;
}

std::optional<TimePoint> Run::deadline() const {
  const Moment end = time_up();
  if (end == no_moment) return std::nullopt;
  return later(host_.wall_time(), std::chrono::ceil<Duration>(end - host_.steady_time()));
}

bool Run::ask_to_stop(StopReason reason) {
  std::optional<std::stop_source> source;
  {
    const Lock lock(mutex_);
    const StopReason now = reason_.load(std::memory_order_relaxed);
    if (now == reason || (now != StopReason::none && reason != StopReason::lease_lost)) {
      return false;
    }
    reason_.store(reason, std::memory_order_release);
    source = stop_;
    changed_.notify_all();
  }
  // The callbacks are the handler's code: no lock is held meanwhile.
  if (source) source->request_stop();
  return true;
}

std::stop_token Run::stop_token() {
  const Lock lock(mutex_);
  if (!stop_) {
    stop_.emplace();
    if (stop_reason() != StopReason::none) stop_->request_stop();
  }
  return stop_->get_token();
}

bool Run::wait_for(Duration time) {
  time = std::clamp(time, Duration::zero(), for_ever);
  const Moment until = host_.steady_time() + time;
  if (stop_reason() != StopReason::none) return false;
  if (host_.let_time_pass(*this, time)) return stop_reason() == StopReason::none;
  return wait_until(until);
}

bool Run::wait_until(Moment until) {
  const Lock lock(mutex_);
  for (;;) {
    if (stop_reason() != StopReason::none) return false;
    const Moment left = until - host_.steady_time();
    if (left <= Moment::zero()) return true;
    changed_.wait_for(mutex_, std::min<Moment>(left, longest_look));
  }
}

// ---- Progress and log lines ----

void Run::progress(double percent) {
  if (std::isnan(percent)) return;
  {
    const Lock lock(mutex_);
    if (closed_) return;
    signs_.progress = std::clamp(percent, 0.0, 100.0);
    if (signs_waiting_.exchange(true)) return;
  }
  host_.run_has_signs(*this);
}

void Run::log(std::string text) {
  text = clip(printable(std::move(text)), limits::max_log_line);
  {
    const Lock lock(mutex_);
    if (closed_) return;
    // The newest lines stay, as in the store.
    if (signs_.log.size() == limits::max_log_lines) signs_.log.erase(signs_.log.begin());
    signs_.log.push_back(std::move(text));
    if (signs_waiting_.exchange(true)) return;
  }
  host_.run_has_signs(*this);
}

void Run::cost(std::uint32_t real) {
  const Lock lock(mutex_);
  cost_ = real;
}

Signs Run::take_signs() {
  const Lock lock(mutex_);
  signs_waiting_ = false;
  checkpoint_waiting_ = false;
  sent_saves_ = saves_;
  return std::exchange(signs_, {});
}

// The returned lines are older than those added meanwhile.
void Run::return_signs(Signs signs) {
  const Lock lock(mutex_);
  if (!signs_.progress) signs_.progress = signs.progress;
  if (!signs_.checkpoint) signs_.checkpoint = std::move(signs.checkpoint);
  signs.log.insert(signs.log.end(), signs_.log.begin(), signs_.log.end());
  const std::size_t count = signs.log.size();
  if (count > limits::max_log_lines) {
    signs.log.erase(signs.log.begin(),
                    signs.log.begin() + static_cast<std::ptrdiff_t>(count - limits::max_log_lines));
  }
  signs_.log = std::move(signs.log);
  checkpoint_waiting_ = signs_.checkpoint.has_value();
  signs_waiting_ = signs_.progress || signs_.checkpoint || !signs_.log.empty();
}

// ---- Checkpoints ----

std::string Run::checkpoint() const {
  const Lock lock(mutex_);
  return checkpoint_;
}

Result<void> Run::save(std::string checkpoint) {
  Lock lock(mutex_);
  const auto save = ask_to_save(std::move(checkpoint));
  lock.unlock();
  return wait_until_saved(save);
}

Result<std::uint64_t> Run::ask_to_save(std::string checkpoint) {
  if (auto good = check::size("checkpoint", checkpoint.size(), limits::max_checkpoint); !good) {
    return std::unexpected(std::move(good.error()));
  }
  if (closed_) return fail(ErrorCode::conflict, "the task is settled already");
  wanted_ = checkpoint;
  signs_.checkpoint = std::move(checkpoint);
  signs_waiting_ = true;
  checkpoint_waiting_ = true;
  return ++saves_;
}

// Until the broker has answered, or the run is to end.
Result<void> Run::wait_until_saved(const Result<std::uint64_t>& save) {
  if (!save) return std::unexpected(save.error());
  host_.run_has_signs(*this);
  for (;;) {
    // In step() each thread that waits sends: another one may have sent before this one asked.
    host_.let_time_pass(*this, Duration::zero());
    const Lock lock(mutex_);
    if (answered_saves_ >= *save) return save_answer_;
    if (closed_) return fail(ErrorCode::lease_lost, "the run has ended");
    if (stop_reason() == StopReason::stopping) {
      return fail(ErrorCode::unavailable, "the worker stops");
    }
    changed_.wait_for(mutex_, longest_look);
  }
}

std::optional<std::string> Run::begin_step(std::string_view step) {
  const Lock lock(mutex_);
  auto kept = result_of(checkpoint_, step);
  if (std::ranges::find(steps_, step) != steps_.end()) refuse_repeated(step);
  steps_.emplace_back(step);
  return kept;
}

// Added to the last checkpoint that was asked for, which may be on its way with the result of
// another thread: so each has all results before it.
Result<void> Run::save_step(std::string_view step, std::string_view json) {
  Lock lock(mutex_);
  const auto save = ask_to_save(with_step(wanted_, step, json));
  lock.unlock();
  return wait_until_saved(save);
}

void Run::forget_step(std::string_view step) {
  const Lock lock(mutex_);
  std::erase(steps_, step);
}

void Run::saved(const std::string& checkpoint, const Result<Extended>& answer) {
  const Lock lock(mutex_);
  answered_saves_ = sent_saves_;
  save_answer_ = answer ? Result<void>() : std::unexpected(answer.error());
  if (answer) checkpoint_ = checkpoint;
  changed_.notify_all();
}

// ---- The end ----

Result<void> Run::put(NewTask task) {
  TimePoint now = host_.wall_time();
  const bool named = !task.id.value.is_nil();
  if (!named) task.id.value.bytes[0] = 1;  // the broker makes one
  if (auto good = validate(task, now); !good) return good;
  if (task.after) {
    return fail(ErrorCode::invalid,
                "a follow-up cannot wait for other tasks; put tasks with after by a Client",
                "after");
  }
  if (!named) task.id = {};
  const Lock lock(mutex_);
  if (closed_)
    return fail(ErrorCode::conflict, "the task is settled: it can have no more follow-ups");
  if (follow_ups_.size() == most_follow_ups) {
    return fail(ErrorCode::invalid,
                fmt::format("a task can have at most {} follow-ups", most_follow_ups));
  }
  const std::size_t bytes = task.payload.size() + task.metadata.size();
  if (follow_up_bytes_ + bytes > limits::max_follow_up_bytes) {
    return fail(ErrorCode::invalid,
                fmt::format("the follow-ups of a task can have at most {} bytes in all",
                            limits::max_follow_up_bytes));
  }
  follow_up_bytes_ += bytes;
  follow_ups_.push_back(std::move(task));
  return {};
}

// After a timeout only `done` is accepted from the handler.
bool Run::too_late(const Outcome& outcome) const {
  return stop_reason() == StopReason::timed_out && !std::holds_alternative<Done>(outcome);
}

Outcome Run::heard(Outcome outcome) const {
  if (!too_late(outcome)) return outcome;
  Failed late{.error = timeout_error(*this)};
  if (auto* failed = std::get_if<Failed>(&outcome)) {
    late.error.details = std::move(failed->error.message);
  } else if (auto* retry = std::get_if<RetryAt>(&outcome)) {
    late.error.details = std::move(retry->error.message);
  }
  return late;
}

void Run::close(Outcome outcome, bool with_follow_ups, bool by_handler) {
  closed_ = true;
  ending_.emplace(Ending{.outcome = std::move(outcome), .cost = cost_, .by_handler = by_handler});
  if (with_follow_ups) ending_->follow_ups = follow_ups_;
}

Result<TaskState> Run::settle(Outcome outcome) {
  Lock lock(mutex_);
  if (closed_) return fail(ErrorCode::conflict, "the task is settled already");
  const bool follows = !too_late(outcome);  // follow-ups are dropped after a timeout
  close(heard(std::move(outcome)), follows, true);
  answer_.reset();
  lock.unlock();
  host_.run_ended(*this);
  if (acknowledge_ == Acknowledge::automatic) return TaskState::processing;
  // The next step sends it again; nothing waits for it here.
  if (auto sent = host_.send_ended(); !sent) return std::unexpected(std::move(sent.error()));
  lock.lock();
  return wait_until_stored();
}

Result<TaskState> Run::wait_until_stored() {
  changed_.wait(mutex_, [this]() REQUIRES(mutex_) { return answer_.has_value(); });
  const Result<Settled> answer = *answer_;
  if (!answer) return std::unexpected(answer.error());
  return answer->state;
}

bool Run::settled() const {
  const Lock lock(mutex_);
  return closed_;
}

bool Run::end(Outcome outcome, bool returned, bool by_handler) {
  const Lock lock(mutex_);
  if (closed_) return false;
  close(std::move(outcome), returned, by_handler);
  return true;
}

void Run::end_by_failure(Failed failure) {
  const Lock lock(mutex_);
  if (closed_) return;
  // The worker asked the handler to stop, and it stopped: nothing is charged.
  if (stop_reason() == StopReason::stopping) return close(GiveBack{}, false, false);
  close(heard(std::move(failure)), false, true);
}

void Run::drop(Error why) {
  const Lock lock(mutex_);
  closed_ = true;
  ending_.reset();
  if (!answer_) answer_ = std::unexpected(std::move(why));
  changed_.notify_all();
}

bool Run::has_ending() const {
  const Lock lock(mutex_);
  return ending_.has_value();
}

void Run::replace_ending(Outcome outcome) {
  const Lock lock(mutex_);
  ending_.emplace(Ending{.outcome = std::move(outcome), .cost = cost_});
}

bool Run::answered(const Result<Settled>& settled) {
  const Lock lock(mutex_);
  const bool refused = !settled && settled.error().code != ErrorCode::lease_lost &&
                       settled.error().code != ErrorCode::not_found;
  const bool again = manual() && refused && ending_ && ending_->by_handler;
  if (again) {
    closed_ = false;
    ending_.reset();
  }
  answer_ = settled;
  changed_.notify_all();
  return again;
}

TaskError timeout_error(const Run& run) {
  const double seconds = std::chrono::duration<double>(run.timeout.value_or(Duration{})).count();
  return {.code = "timeout", .message = fmt::format("timed out after {:g} s", seconds)};
}

}  // namespace millrace::worker
