// A child process and its descendants: a process group of its own, with pipes to its standard
// input, output and error. It ends with its owner, and leaves neither a zombie nor a descriptor.
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

struct ChildProcessPlan {
  std::string program = {};                   // a path
  std::vector<std::string> arguments = {};    // the first is the program's name
  std::vector<std::string> environment = {};  // NAME=value, and nothing else
  std::string directory = {};                 // empty: that of this process
  std::uint64_t memory = 0;                   // most bytes of data per process; 0: no limit
};

class ChildProcess {
 public:
  // `not_found`, `invalid`: there is no such program, or it cannot be run. `unavailable`: the
  // system cannot start it now.
  static Result<ChildProcess> start(const ChildProcessPlan& plan);
  ChildProcess(ChildProcess&&) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();  // kills what is left of the group

  Descriptor in;  // none of them blocks
  Descriptor out;
  Descriptor err;

  // Readable once the process has ended; -1 where the system has no pidfd.
  int ended_descriptor() const { return watch_.number(); }
  bool has_ended() const;
  // Signals the whole group.
  void signal(int number) const;
  // Kills what is left of the group and returns the status as waitpid() gives it. To be called
  // once, after the process has ended.
  int reap();

 private:
  explicit ChildProcess(pid_t process) : process_(process) {}

  pid_t process_;
  Descriptor watch_;
};

}  // namespace millrace::worker
