#include "bench/readers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/measure.h"
#include "bench/require.h"

namespace millrace::bench {
namespace {

constexpr double look_every = 0.01;   // seconds
constexpr double refused_rest = 0.1;  // before a client that was refused asks again
constexpr double drained_within = 3.0;

}  // namespace

Readers::Readers(std::uint16_t port, const Stock& stock, const Pace& pace, std::uint64_t seed)
    : stock_(stock),
      pace_(pace),
      random_(seed),
      load_(port, pace.clients),
      clients_(pace.clients),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

ReadFigures Readers::stop() {
  thread_.request_stop();
  thread_.join();
  return std::move(figures_);
}

void Readers::ask(std::size_t client, Reading reading) {
  clients_[client] = {.busy = true, .asked_at = wall_seconds(), .reading = reading};
  ++busy_;
  load_.send(client, stock_.request(reading, random_));
}

void Readers::ask_due() {
  const double now = wall_seconds();
  const auto idle = [&](const Client& client) { return !client.busy && now >= client.rests_until; };
  if (pace_.per_second != 0) {
    if (now < next_at_) return;
    next_at_ = std::max(next_at_ + 1 / pace_.per_second, now);
    const auto at = std::ranges::find_if(clients_, idle);
    if (at == clients_.end()) return;  // all wait for answers
    const auto client = static_cast<std::size_t>(at - clients_.begin());
    return ask(client, readings[next_reading_++ % readings.size()]);
  }
  // Each client has its own kind of read, so that slow reads of one kind do not hold up the others.
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    if (idle(clients_[i])) ask(i, readings[i % readings.size()]);
  }
}

void Readers::note(const Answer& answer) {
  Client& client = clients_[answer.connection];
  const double now = wall_seconds();
  client.busy = false;
  --busy_;
  if (answer.status == 429 || answer.status == 503) {
    ++figures_.refused;
    client.rests_until = now + refused_rest;
    return;
  }
  require(answer.status == 200,
          fmt::format("{}: {} {}", name_of(client.reading), answer.status, answer.body));
  ++figures_.answered;
  figures_.took_ms[static_cast<std::size_t>(client.reading)].push_back((now - client.asked_at) *
                                                                       1e3);
}

void Readers::drain() {
  const double until = wall_seconds() + drained_within;
  while (busy_ != 0 && wall_seconds() < until) {
    load_.run(std::min(until, wall_seconds() + look_every),
              [&](const Answer& answer) { note(answer); });
  }
}

void Readers::run(const std::stop_token& stop) {
  const double begin = wall_seconds();
  next_at_ = begin;
  while (!stop.stop_requested()) {
    ask_due();
    double until = wall_seconds() + look_every;
    if (pace_.per_second != 0) until = std::min(until, next_at_);
    load_.run(until, [&](const Answer& answer) {
      note(answer);
      if (pace_.per_second == 0) ask_due();
    });
  }
  figures_.seconds = wall_seconds() - begin;
  const std::size_t answered = figures_.answered;
  const std::size_t refused = figures_.refused;
  drain();
  // Answers after the end count as times, not as rates.
  figures_.answered = answered;
  figures_.refused = refused;
}

}  // namespace millrace::bench
