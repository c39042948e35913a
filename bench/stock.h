// What lies in a store while others work: tasks of 4 KB in several queues, of several types and
// clients, some of them dead letters, nearly all too old for the store's cache; and the requests of
// people and programs that read them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "bench/processes.h"

namespace millrace::bench {

enum class Reading : std::uint8_t {
  filtered,  // a page of the tasks of a type and a client
  page,      // 1,000 tasks with their payloads
  text,      // a page of the tasks in which a word occurs
  groups,    // dead letters, grouped by their errors
};
inline constexpr std::array readings{Reading::filtered, Reading::page, Reading::text,
                                     Reading::groups};
std::string_view name_of(Reading reading);

class Stock {
 public:
  static constexpr std::size_t payload_size = 4096;

  // Puts what is missing until the server has so many tasks, and so many dead letters among them.
  // Ends the bench if one of the reads finds nothing.
  Stock(TestServer& server, std::size_t tasks);

  std::size_t tasks() const { return tasks_; }
  std::size_t dead() const { return dead_; }

  // A request that begins somewhere in the middle, so that the next one reads other tasks.
  std::string request(Reading reading, std::mt19937_64& random) const;
  // Whether the answer to a read has something in it.
  static bool found_something(Reading reading, std::string_view body);

 private:
  void count();
  void fill(std::size_t tasks);
  void kill(std::size_t tasks);
  void check_readings() const;

  TestServer& server_;
  std::size_t tasks_ = 0;
  std::size_t dead_ = 0;
  std::uint64_t newest_ = 0;  // number
};

}  // namespace millrace::bench
