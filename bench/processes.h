// Programs that a bench starts and stops: servers under test, peers and their databases.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/temporary_directory.h"

namespace millrace::bench {

struct Command {
  std::vector<std::string> words;  // the program is looked for in PATH unless it is a path
  std::string directory = {};      // to run in
  std::vector<std::pair<std::string, std::string>> environment = {};  // beside the bench's own
  std::string user = {};  // to run as, if the bench runs as root and there is such a user
  std::string log;        // file for what it prints
};

// A program that runs. It is ended with the object, and with the bench.
class Process {
 public:
  explicit Process(const Command& command);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  bool running();
  // Waits for its end, at most so long; false: it still runs.
  bool ended_within(double seconds);
  // Asks it to end with `signal`, waits for it, and kills it if it takes more than 20 s.
  void stop(int signal);
  pid_t id() const { return id_; }
  std::string printed() const;

  // Of the whole process since it began; exact to 10 ms.
  double cpu_seconds() const;
  std::uint64_t resident_bytes() const;

 private:
  pid_t id_ = -1;
  std::string log_;
  bool ended_ = false;
};

// Runs a program to its end; what it printed. A program that fails is the end of the bench.
std::string output_of(Command command);

// A port that was free a moment ago.
std::uint16_t free_port();

// Waits up to a minute until somebody listens; the end of the bench if the process ends first.
void wait_for_port(Process& process, std::uint16_t port);

// As many open files as the system allows, for the bench and for what it starts.
void raise_file_limit();

// Where the bench's own program lies.
std::string own_directory();

// A server with a directory of its own, on a free port.
class TestServer {
 public:
  // program serve --listen 127.0.0.1:PORT --store journal:DIRECTORY flags...
  TestServer(const std::string& program, const std::vector<std::string>& flags);

  std::uint16_t port() const { return port_; }
  Process& process() { return *process_; }

 private:
  test::TemporaryDirectory directory_;
  test::TemporaryDirectory log_;
  std::uint16_t port_;
  std::unique_ptr<Process> process_;
};

}  // namespace millrace::bench
