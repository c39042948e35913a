// A program that a test starts: a database, a pooler. It ends with the object, and with the test's
// process, even when that is killed.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace millrace::test {

// The user under which a program runs that refuses to be root.
struct Account {
  uid_t user = 0;
  gid_t group = 0;

  // Debian's `postgres` if this process is root, and otherwise its own user.
  static Account for_postgres();
  void own(const std::string& path) const;
};

class Child {
 public:
  // The first word is the program's path. What it prints is appended to the file `log`. Start it
  // from a thread that lasts as long as it: the system ends it (`with_us`) when that thread ends.
  Child(std::vector<std::string> words, Account account, std::string log, int with_us);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();  // SIGKILL, if it still runs

  pid_t pid() const { return pid_; }
  bool running();
  // Waits for its end, at most so long; returns whether it has ended.
  bool ended_within(int milliseconds);
  // Sends `signal` and waits; kills it after 20 s. Returns whether it ended with exit code 0.
  bool stop(int signal);
  // Waits for its end; returns whether the exit code was 0.
  bool wait();
  std::string printed() const;

 private:
  pid_t pid_ = -1;
  std::string log_;
  bool ended_ = false;
  int status_ = 0;
};

// Runs a program to its end and returns what it printed; one that fails throws.
std::string run_child(const std::vector<std::string>& words, Account account);

std::string text_of_file(const std::string& path);

// A port of the loopback that was free a moment ago.
unsigned short free_loopback_port();

}  // namespace millrace::test
