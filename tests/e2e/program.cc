#include "tests/e2e/program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace millrace::test {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string shell_output(const std::string& line) {
  std::string out;
  FILE* pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) return "popen failed";
  char bytes[4096];
  while (const auto got = fread(bytes, 1, sizeof(bytes), pipe)) out.append(bytes, got);
  pclose(pipe);
  return out;
}

Ran run_command(std::vector<std::string> words, const std::string& in) {
  const TemporaryDirectory scratch;
  const std::string out = scratch / "out";
  const std::string err = scratch / "err";
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, in.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, out.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&files, 2, err.c_str(), O_WRONLY | O_CREAT, 0600);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, argv.front(), &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  Ran ran;
  int status = 0;
  if (failed != 0 || waitpid(child, &status, 0) != child) return ran;
  if (WIFEXITED(status)) ran.exit = WEXITSTATUS(status);
  ran.out = read_file(out);
  ran.err = read_file(err);
  return ran;
}

Ran run_program(const std::vector<std::string>& arguments, const std::string& in) {
  std::vector<std::string> words = {MILLRACE_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return run_command(std::move(words), in);
}

}  // namespace millrace::test
