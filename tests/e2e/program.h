// Runs the millrace program and waits for it.
#pragma once

#include <string>
#include <vector>

#include "tests/support/temporary_directory.h"

namespace millrace::test {

struct Ran {
  int exit = -1;  // -1: it did not come to an end by itself
  std::string out;
  std::string err;
};

// Any program, found where the shell finds it.
Ran run_command(std::vector<std::string> words, const std::string& in = "/dev/null");

// With its standard input from the file `in`, or empty.
Ran run_program(const std::vector<std::string>& arguments, const std::string& in = "/dev/null");

// Everything that a line of shell prints.
std::string shell_output(const std::string& line);

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& bytes);

}  // namespace millrace::test
