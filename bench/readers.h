// Clients that look at a stock of tasks while others work, in a thread of their own.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "bench/http_load.h"
#include "bench/stock.h"

namespace millrace::bench {

struct Pace {
  std::size_t clients = 0;
  double per_second = 0;  // of all clients together; 0: each asks again as soon as it is answered
};

struct ReadFigures {
  double seconds = 0;
  std::size_t answered = 0;
  std::size_t refused = 0;  // 429 or 503: too many others ask
  std::array<std::vector<double>, readings.size()> took_ms = {};
};

class Readers {
 public:
  Readers(std::uint16_t port, const Stock& stock, const Pace& pace, std::uint64_t seed);
  Readers(const Readers&) = delete;
  Readers& operator=(const Readers&) = delete;

  // Ends the readers once the requests on their way are answered; reads that take seconds are not
  // waited for.
  ReadFigures stop();

 private:
  struct Client {
    bool busy = false;
    double asked_at = 0;
    double rests_until = 0;
    Reading reading = {};
  };

  void run(const std::stop_token& stop);
  void ask(std::size_t client, Reading reading);
  // A client whose turn it is to ask.
  void ask_due();
  void note(const Answer& answer);
  void drain();

  const Stock& stock_;
  const Pace pace_;
  std::mt19937_64 random_;
  HttpLoad load_;
  std::vector<Client> clients_;
  std::size_t busy_ = 0;
  double next_at_ = 0;
  std::size_t next_reading_ = 0;
  ReadFigures figures_;
  std::jthread thread_;
};

}  // namespace millrace::bench
