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

// Of a process, and of those that it started: the living and the ended ones.
double cpu_seconds_with_children(pid_t process);

// Runs a program to its end and returns what it printed. If the program fails, the bench ends.
std::string output_of(Command command);

// A port that was free a moment ago.
std::uint16_t free_port();

// Waits some minutes until the port is open, since the server may have much to read; ends the bench
// if the process ends first.
void wait_for_port(Process& process, std::uint16_t port);

// Allows as many open files as the system does, for the bench and for the programs it starts.
void raise_file_limit();

// Where the bench's own program lies.
std::string own_directory();

// A server on a free port.
class TestServer {
 public:
  // Starts program serve --listen 127.0.0.1:PORT --store journal:DIRECTORY flags... with a
  // directory of its own.
  TestServer(const std::string& program, const std::vector<std::string>& flags);
  // The same on a store that outlives the server.
  TestServer(const std::string& program, const std::string& store,
             const std::vector<std::string>& flags);

  std::uint16_t port() const { return port_; }
  Process& process() { return *process_; }

 private:
  void start(const std::string& program, const std::string& store,
             const std::vector<std::string>& flags);

  test::TemporaryDirectory directory_;
  test::TemporaryDirectory log_;
  std::uint16_t port_ = 0;
  std::unique_ptr<Process> process_;
};

}  // namespace millrace::bench
