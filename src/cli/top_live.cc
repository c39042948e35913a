#include "cli/top_live.h"

#include <fmt/format.h>
#include <poll.h>
#include <algorithm>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "cli/console.h"
#include "cli/terminal.h"
#include "cli/top_facts.h"
#include "cli/top_view.h"
#include "core/mutex.h"
#include "core/quote.h"
#include "process/signals.h"

namespace millrace::cli {
namespace {

using namespace std::chrono_literals;

constexpr Duration key_patience = 50ms;  // for the rest of a key that begins with an escape
constexpr Duration tick = 1s;            // ages are drawn again
constexpr Duration slow = 3s;            // a slower answer is shown as missing
constexpr std::size_t least_tasks = 50;  // so that the longest and the newest are among them

// The result of a user's action.
struct Outcome {
  std::string text = {};
  bool bad = false;
};
using Answer = std::variant<Result<TopFacts>, Outcome>;

// Answers arrive on the client's thread and wake ours.
struct Mailbox {
  Mutex mutex;
  std::vector<Answer> answers GUARDED_BY(mutex);
  Signals* signals GUARDED_BY(mutex) = nullptr;  // nullptr: the screen is closed

  void post(Answer answer) {
    const Lock lock(mutex);
    if (signals == nullptr) return;
    answers.push_back(std::move(answer));
    signals->wake();
  }
};

class Live {
 public:
  Live(Session& session, Duration every, TopFacts first)
      : session_(session), every_(every), signals_({SIGHUP, SIGWINCH}) {
    mailbox_->signals = &signals_;
    state_.url = session.address().url;
    state_.facts = std::move(first);
    asked_at_ = steady();
  }
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;
  ~Live() {
    const Lock lock(mailbox_->mutex);
    mailbox_->signals = nullptr;
  }

  Exit run() {
    auto opened = Terminal::open(session_.look());
    if (!opened) return session_.console().fail(opened.error());
    terminal_ = std::move(*opened);
    while (!quit_ && !terminal_->gone()) {
      refresh_if_due();
      note_silence();
      terminal_->draw(top_screen(state_, terminal_->size(), session_.look(), session_.now()));
      wait();
    }
    terminal_.reset();
    return Exit::ok;
  }

 private:
  Duration steady() { return std::chrono::duration_cast<Duration>(session_.with().clock.steady()); }

  void refresh_if_due() {
    if (asking_ || steady() - asked_at_ < every_) return;
    asking_ = true;
    asked_at_ = steady();
    const std::size_t tasks = std::max(least_tasks, most_rows(terminal_->size()));
    ask_facts(session_.broker(), session_.with().clock, tasks,
              [box = mailbox_](Result<TopFacts> facts) { box->post(std::move(facts)); });
  }

  // Also while a long answer is awaited.
  void note_silence() {
    if (asking_ && !state_.silent_since && steady() - asked_at_ > slow) {
      state_.silent_since = state_.facts->at;
      state_.trouble.clear();
    }
  }

  // For keys, signals, answers, or the next moment at which something is due.
  void wait() {
    Duration most = tick;
    if (!asking_) most = std::min(most, std::max(Duration{}, every_ - (steady() - asked_at_)));
    if (terminal_->waits_for_more()) most = std::min(most, key_patience);
    pollfd files[] = {{.fd = signals_.file(), .events = POLLIN, .revents = 0},
                      {.fd = terminal_->file(), .events = POLLIN, .revents = 0}};
    const int ready = poll(files, 2, static_cast<int>(most.count()));
    const auto keys = ready == 0 ? terminal_->give_up_waiting() : terminal_->read_keys();
    for (const KeyPress& each : keys) obey(each);
    const SignalKind signal = signals_.wait(Duration{});
    if (signal == SignalKind::stop || signal == SignalKind::reload) quit_ = true;
    std::vector<Answer> answers;
    {
      const Lock lock(mailbox_->mutex);
      answers.swap(mailbox_->answers);
    }
    for (Answer& each : answers) hear(std::move(each));
  }

  void hear(Answer answer) {
    if (auto* outcome = std::get_if<Outcome>(&answer)) {
      state_.message = std::move(outcome->text);
      state_.message_is_bad = outcome->bad;
      asked_at_ = steady() - every_;  // shows the change soon
      return;
    }
    asking_ = false;
    auto& facts = std::get<Result<TopFacts>>(answer);
    if (!facts) {
      if (!state_.silent_since) state_.silent_since = state_.facts->at;
      state_.trouble = facts.error().message;
      return;
    }
    state_.facts = std::move(*facts);
    // An error from the time when the server was away is outdated.
    if (state_.silent_since && state_.message_is_bad) state_.message.clear();
    state_.silent_since.reset();
    state_.trouble.clear();
  }

  void obey(const KeyPress& pressed) {
    if (pressed.key == Key::suspend) return terminal_->suspend();
    if (pressed.key == Key::redraw) return terminal_->forget();
    Wish wish = press(state_, pressed, rows_seen(state_, terminal_->size()), session_.now());
    if (std::holds_alternative<Quit>(wish)) quit_ = true;
    if (const auto* pause = std::get_if<PauseQueue>(&wish)) do_pause(*pause);
    if (const auto* task = std::get_if<RetryTask>(&wish)) do_retry(*task);
    if (const auto* queue = std::get_if<RetryQueue>(&wish)) do_retry(*queue);
  }

  // Posts the message for the answer, or its error.
  template <class T, class Say>
  Completion<T> telling(Say say) {
    return [box = mailbox_, say](Result<T> answer) {
      box->post(answer ? say(*answer) : Outcome{.text = answer.error().message, .bad = true});
    };
  }

  void do_pause(const PauseQueue& wish) {
    const bool resume = wish.resume;
    const std::string said =
        fmt::format("{} {}", in_quotes(wish.queue), resume ? "is resumed" : "is paused");
    session_.broker().change_queue(
        {}, wish.queue,
        [resume](QueueSettings& settings) -> Result<void> {
          settings.paused_until = resume ? std::nullopt : std::optional(never);
          return {};
        },
        telling<Queue>([said](const Queue&) { return Outcome{.text = said}; }));
  }

  void do_retry(const RetryTask& wish) {
    session_.broker().retry({}, {wish.id},
                            telling<Broker::States>([](const Broker::States& states) {
                              const Result<TaskState>& state = states.front();
                              return state ? Outcome{.text = "the task is queued again"}
                                           : Outcome{.text = state.error().message, .bad = true};
                            }));
  }

  void do_retry(const RetryQueue& wish) {
    session_.broker().handle_dead(
        {}, {.queue = wish.queue}, DeadAction::retry, telling<Handled>([](const Handled& handled) {
          return Outcome{.text = counted(handled.done, "dead letter", "dead letters") +
                                 (handled.done == 1 ? " is queued again" : " are queued again")};
        }));
  }

  Session& session_;
  const Duration every_;
  Signals signals_;
  std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();
  std::unique_ptr<Terminal> terminal_;
  TopState state_;
  Duration asked_at_{};  // steady
  bool asking_ = false;
  bool quit_ = false;
};

}  // namespace

Exit watch(Session& session, Duration every, TopFacts first) {
  return Live(session, every, std::move(first)).run();
}

}  // namespace millrace::cli
