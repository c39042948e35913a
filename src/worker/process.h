// One process and whatever it starts: a process group of its own, with pipes to its standard input,
// output and error. It ends with its owner, and leaves neither a zombie nor a descriptor.
#pragma once

#include <sys/types.h>

#include <millrace/result.h>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace millrace::worker {

// A descriptor that is closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  int number() const { return number_; }
  bool open() const { return number_ >= 0; }
  void close();

 private:
  int number_;
};

struct ProcessPlan {
  std::string program = {};                   // a path
  std::vector<std::string> arguments = {};    // the first is the program's name
  std::vector<std::string> environment = {};  // NAME=value, and nothing else
  std::string directory = {};                 // empty: this process's
  std::uint64_t memory = 0;                   // most bytes of data a process; 0: no limit
};

class Process {
 public:
  // `not_found`, `invalid`: there is no such program, or it cannot be run. `unavailable`: not now.
  static Result<Process> start(const ProcessPlan& plan);
  Process(Process&&) noexcept;
  Process& operator=(Process&&) = delete;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();  // kills what is left of the group

  Descriptor in;  // none of them blocks
  Descriptor out;
  Descriptor err;

  // Readable once it has ended; -1 where the system has no such thing.
  int ended_descriptor() const { return watch_.number(); }
  bool has_ended() const;
  // To the whole group.
  void signal(int number) const;
  // Kills what it has left behind. The status as waitpid() gives it. Only once it has ended, once.
  int reap();

 private:
  explicit Process(pid_t process) : process_(process) {}

  pid_t process_;
  Descriptor watch_;
};

}  // namespace millrace::worker
