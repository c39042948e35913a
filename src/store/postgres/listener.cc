#include "store/postgres/listener.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "core/mutex.h"
#include "core/seed.h"
#include "store/postgres/batch.h"
#include "store/postgres/sql.h"

namespace millrace::store_postgres {
namespace {

using std::chrono::milliseconds;

// The pause between two notifications: those of all processes wait for each other.
constexpr auto between_words = milliseconds(20);
// How long the thread sleeps while there is nothing to send.
constexpr Duration longest_silence = std::chrono::seconds(5);
// PostgreSQL refuses payloads of 8,000 bytes.
constexpr std::size_t longest_words = 7000;

std::string random_name() {
  return fmt::format("{:016x}", random_seed());
}

// "<who> q s e w:emails w:images", each word if it is true.
Hint hint_of(std::string_view words) {
  Hint hint;
  while (!words.empty()) {
    const auto end = words.find(' ');
    const std::string_view word = words.substr(0, end);
    words = end == std::string_view::npos ? std::string_view() : words.substr(end + 1);
    if (word == "q") hint.queues = true;
    if (word == "s") hint.schedules = true;
    if (word == "e") hint.everything = true;
    if (word.starts_with("w:")) hint.work.emplace_back(word.substr(2));
  }
  return hint;
}

}  // namespace

Listener::Listener(postgres::ConnectOptions options, Clock& clock)
    : options_(std::move(options)),
      channel_("millrace_" + options_.schema),
      self_(random_name()),
      clock_(clock),
      thread_([this] { run(); }) {}

Listener::~Listener() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
    wake();
  }
  thread_.join();
}

void Listener::on_hint(std::function<void(const Hint&)> tell) {
  const Lock lock(telling_);
  tell_ = std::move(tell);
}

void Listener::give(const Hint& hint) {
  const Lock lock(telling_);
  if (tell_) tell_(hint);
}

void Listener::wake() {
  changed_.notify_one();
  if (connection_) connection_->interrupt();
}

void Listener::tell_work(std::string_view queue) {
  const Lock lock(mutex_);
  if (work_.contains(queue)) return;
  const bool first = work_.empty();
  work_.emplace(queue);
  if (first) wake();
}

void Listener::tell_queues() {
  const Lock lock(mutex_);
  if (!std::exchange(queues_, true)) wake();
}

void Listener::tell_schedules() {
  const Lock lock(mutex_);
  if (!std::exchange(schedules_, true)) wake();
}

// ---- The thread ---------------------------------------------------------------------------------

void Listener::run() {
  for (;;) {
    {
      const Lock lock(mutex_);
      if (stopping_) return;
    }
    if (!connection_ && !connect()) {
      pause();
      continue;
    }
    if (!speak() || !hear()) {
      const Lock lock(mutex_);
      connection_.reset();
    }
  }
}

bool Listener::connect() {
  auto opened = postgres::Connection::open(options_);
  const std::array channels = {channel_};
  if (!opened || (*opened)->is_read_only() || !(*opened)->listen(channels)) {
    backoff_.failed(clock_.steady(), 0.5);
    return false;
  }
  backoff_.succeeded();
  {
    const Lock lock(mutex_);
    connection_ = std::move(*opened);
  }
  give({.everything = true});  // the listener did not listen until now
  return true;
}

void Listener::pause() {
  const Lock lock(mutex_);
  const auto wait = std::chrono::duration_cast<milliseconds>(backoff_.wait(clock_.steady()));
  changed_.wait_for(mutex_, wait + milliseconds(1),
                    [this]() REQUIRES(mutex_) { return stopping_; });
}

bool Listener::speak() {
  std::string words = self_;
  {
    const Lock lock(mutex_);
    if (work_.empty() && !queues_ && !schedules_) return true;
    if (clock_.steady() - spoke_ < between_words) return true;  // hear() waits for the rest
    if (std::exchange(queues_, false)) words += " q";
    if (std::exchange(schedules_, false)) words += " s";
    for (const std::string& queue : std::exchange(work_, {})) {
      if (words.size() < longest_words) words += " w:" + queue;
    }
    if (words.size() >= longest_words) words += " e";
  }
  spoke_ = clock_.steady();
  const Batch notify = batch_of(sql::Notify{.channel = channel_, .words = words});
  const auto said = connection_->transact(notify.statements(), {.durable = false});
  if (connection_->is_read_only()) return false;  // the others leave it, too
  return said.has_value() || !said.error().lost;
}

bool Listener::hear() {
  Duration wait = longest_silence;
  {
    const Lock lock(mutex_);
    if (stopping_) return true;
    if (!work_.empty() || queues_ || schedules_) {
      const auto since = std::chrono::duration_cast<milliseconds>(clock_.steady() - spoke_);
      wait = std::max<Duration>(between_words - since, milliseconds(1));
    }
  }
  auto heard = connection_->wait_notification(wait);
  if (!heard) return false;
  for (const postgres::Notification& one : *heard) {
    const auto end = one.payload.find(' ');
    if (end == std::string::npos || std::string_view(one.payload).substr(0, end) == self_) continue;
    give(hint_of(std::string_view(one.payload).substr(end + 1)));
  }
  return true;
}

}  // namespace millrace::store_postgres
