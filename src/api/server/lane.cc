#include "api/server/lane.h"

#include <algorithm>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include "api/server/connection.h"
#include "api/server/response_text.h"
#include "core/mutex.h"

namespace millrace::api {

namespace {

thread_local Lane* current = nullptr;

// How late the lane may notice that a peer has left while its answer is made.
constexpr auto watch_after = std::chrono::milliseconds(5);

// A peer that takes longer for 64 KiB of a large answer may be closed when others need the memory.
constexpr auto slow_reading = std::chrono::seconds(1);

// How late the lane may notice that a limit has passed: an eighth of the shortest, within reason.
std::chrono::milliseconds tick_for(const ListenerLimits& limits) {
  const Duration shortest = std::min({limits.idle, limits.header, limits.body, limits.write,
                                      limits.handshake, limits.linger, limits.leaving});
  return std::clamp<Duration>(shortest / 8, std::chrono::milliseconds(5),
                              std::chrono::milliseconds(250));
}

}  // namespace

std::string thrown() {
  try {
    throw;
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "something that is not a std::exception";
  }
}

void undeliver(HttpResponse response) {
  if (response.resume) {
    return response.resume->go_on([](HttpResponse made) { undeliver(std::move(made)); });
  }
  if (response.undelivered) response.undelivered();
}

Lane::Lane(std::shared_ptr<Site> site)
    : site_(std::move(site)),
      work_(io_.get_executor()),
      timer_(io_.get_executor()),
      watch_timer_(io_.get_executor()),
      tick_every_(tick_for(site_->limits)) {}

void Lane::run() noexcept {
  current = this;
  tick();
  io_.run();
  std::vector<Answer> late;
  {
    const Lock lock(mutex_);
    over_ = true;
    late.swap(answers_);
  }
  for (Answer& answer : late) undeliver(std::move(answer.response));
  current = nullptr;
}

void Lane::give_up(Connection& connection) noexcept {
  site_->log(LogLevel::error, "a connection was given up: " + thrown());
  connection.close();
}

void Lane::answer(Answer answer) {
  Lock lock(mutex_);
  if (over_) {
    lock.unlock();
    return undeliver(std::move(answer.response));
  }
  // The thread that added the first answer has woken the lane, or is the lane and about to deliver.
  const bool first = answers_.empty() && !(current == this && dispatching_ > 0);
  answers_.push_back(std::move(answer));
  lock.unlock();
  if (first) wake();
}

void Lane::wake() noexcept {
  boost::asio::post(io_, [this] { deliver(); });
}

void Lane::deliver() noexcept {
  if (delivering_) return;  // deliver() runs further down the stack
  delivering_ = true;
  for (;;) {
    {
      const Lock lock(mutex_);
      batch_.swap(answers_);
    }
    if (batch_.empty()) break;
    for (Answer& answer : batch_) attend(answer.to, [&] { answer.to->answered(answer); });
    batch_.clear();
  }
  delivering_ = false;
}

void Lane::read_soon(std::shared_ptr<Connection> connection) noexcept {
  to_read_.push_back(std::move(connection));
  if (to_read_.size() == 1)
    boost::asio::post(io_, [this] { resume(to_read_, &Connection::resume_reading); });
}

void Lane::watch_soon(std::shared_ptr<Connection> connection) noexcept {
  to_watch_.push_back(std::move(connection));
  if (to_watch_.size() > 1) return;
  watch_timer_.expires_after(watch_after);
  watch_timer_.async_wait([this](const boost::system::error_code&) {
    resume(to_watch_, &Connection::resume_watching);
  });
}

void Lane::resume(std::vector<std::shared_ptr<Connection>>& list,
                  void (Connection::*how)()) noexcept {
  resumed_.swap(list);
  for (const std::shared_ptr<Connection>& connection : resumed_) {
    attend(connection, [&] { ((*connection).*how)(); });
  }
  resumed_.clear();
}

void Lane::adopt(Socket socket, std::shared_ptr<const TlsSettings> tls, bool refused) {
  boost::asio::dispatch(io_, [this, self = shared_from_this(), socket = std::move(socket),
                              tls = std::move(tls), refused]() mutable {
    std::shared_ptr<Connection> connection;
    try {
      connection = std::make_shared<Connection>(self, std::move(socket), std::move(tls));
      Connections& list = connections_[static_cast<std::size_t>(Awaited::nothing)];
      connection->place_ = list.insert(list.end(), connection);
    } catch (...) {
      site_->log(LogLevel::error, "a connection was given up: " + thrown());
      return gone();
    }
    attend(connection, [&] {
      if (stopping_ || site_->draining) {
        connection->close();
      } else if (refused) {
        connection->refuse();
      } else {
        connection->start();
      }
    });
  });
}

void Lane::remove(Connection& connection) {
  connections_[static_cast<std::size_t>(connection.awaited_)].erase(connection.place_);
  gone();
}

void Lane::gone() {
  if (site_->open.fetch_sub(1) == 1) {
    const Lock lock(site_->mutex);
    site_->all_gone.notify_all();
  }
}

Duration Lane::limit_of(Awaited what) const {
  const ListenerLimits& limits = site_->limits;
  const Duration most = shortened_ ? limits.leaving : Duration::max();
  switch (what) {
    case Awaited::idle:
      return limits.idle;
    case Awaited::header:
      return std::min(limits.header, most);
    case Awaited::body:
      return std::min(limits.body, most);
    case Awaited::write:
      return std::min(limits.write, most);
    case Awaited::handshake:
      return std::min(limits.handshake, most);
    case Awaited::linger:
      return limits.linger;
    case Awaited::nothing:
      break;
  }
  return Duration::max();
}

void Lane::await(Connection& connection, Awaited what) {
  if (what != Awaited::nothing) {
    connection.deadline_ = site_->clock.steady() + limit_of(what);
    // No progress earns a body more time than that: it might never end.
    if (shortened_ && what == Awaited::body) {
      connection.deadline_ = std::min(connection.deadline_, leave_by_);
    }
  } else if (connection.awaited_ == Awaited::nothing) {
    return;
  }
  Connections& to = connections_[static_cast<std::size_t>(what)];
  Connections& from = connections_[static_cast<std::size_t>(connection.awaited_)];
  to.splice(to.end(), from, connection.place_);
  connection.awaited_ = what;
}

// The deadline of an answer is set anew with every 64 KiB.
bool Lane::reads_slowly(const Connection& connection) const {
  const auto left = connection.deadline_ - site_->clock.steady();
  return limit_of(Awaited::write) - left >= slow_reading;
}

bool Lane::make_room(std::size_t bytes, Worth worth) {
  if (site_->has_room(bytes)) return true;
  // Closing calls the handler, and what that answers changes the list.
  const Connections& readers = connections_[static_cast<std::size_t>(Awaited::write)];
  const std::vector<std::shared_ptr<Connection>> slowest_first(readers.begin(), readers.end());
  for (const std::shared_ptr<Connection>& each : slowest_first) {
    const bool goes_before = worth == Worth::costs_if_lost && !each->undelivered_;
    if (each->counted_ <= small_answer || (!goes_before && !reads_slowly(*each))) continue;
    each->close();
    if (site_->has_room(bytes)) return true;
  }
  site_->wanted_room = bytes;
  return false;
}

void Lane::tick() {
  if (const std::size_t wanted = site_->wanted_room) {
    if (make_room(wanted, Worth::can_be_asked)) site_->wanted_room = 0;
  }
  const std::chrono::nanoseconds now = site_->clock.steady();
  for (std::size_t i = 1; i < awaited_count; ++i) {
    Connections& list = connections_[i];
    // Each turn takes the first one out of the list or gives it a later deadline.
    while (!list.empty() && list.front()->deadline_ <= now) {
      const std::shared_ptr<Connection> late = list.front();
      attend(late, [&] { late->expired(); });
    }
  }
  timer_.expires_after(tick_every_);
  timer_.async_wait([this](const boost::system::error_code& ec) {
    if (!ec && !stopping_) tick();
  });
}

void Lane::shorten_deadlines() {
  if (std::exchange(shortened_, true)) return;
  leave_by_ = site_->clock.steady() + site_->limits.leaving;
  for (const Awaited what : {Awaited::header, Awaited::body, Awaited::write, Awaited::handshake}) {
    const auto until = site_->clock.steady() + limit_of(what);
    for (const std::shared_ptr<Connection>& each : connections_[static_cast<std::size_t>(what)]) {
      each->deadline_ = std::min(each->deadline_, until);
    }
  }
}

void Lane::drain() {
  boost::asio::post(io_, [this] {
    shorten_deadlines();
    std::vector<std::shared_ptr<Connection>> all;
    for (const Connections& list : connections_) all.insert(all.end(), list.begin(), list.end());
    for (const std::shared_ptr<Connection>& connection : all) {
      attend(connection, [&] { connection->drain(); });
    }
  });
}

void Lane::close_all() {
  for (Connections& list : connections_) {
    while (!list.empty()) {
      const std::shared_ptr<Connection> first = list.front();
      first->close();
    }
  }
}

void Lane::stop() {
  boost::asio::post(io_, [this] {
    stopping_ = true;
    close_all();
    timer_.cancel();
    watch_timer_.cancel();
    work_.reset();
  });
}

std::string_view Lane::date() {
  const auto now = site_->clock.now();
  const auto second = std::chrono::floor<std::chrono::seconds>(now);
  if (second != date_of_) {
    date_of_ = second;
    date_ = date_text(now);
  }
  return date_;
}

}  // namespace millrace::api
