// Completion, in the shells themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/console.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

using CompletionTest = ConsoleTest;

TEST_F(CompletionTest, bash_completes_commands_flags_and_queues) {
  out_of({"put", "emails:eu", "{}"});
  out_of({"put", "reports", "{}"});
  // As bash asks for it: words broken at : and =.
  const std::string script =
      file("try.sh", "PATH=" + directory_.path() +
                         ":$PATH\n"
                         "ln -s " MILLRACE_PROGRAM " " +
                         directory_.path() +
                         "/millrace\n"
                         "export MILLRACE_URL=" +
                         url() +
                         "\n"
                         "source <(millrace completion bash)\n"
                         "try() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _millrace \"$1\"\n"
                         "  echo \"${COMPREPLY[*]}\"; }\n"
                         "try millrace que\n"
                         "try millrace queues show ''\n"
                         "try millrace queues show emails :\n"
                         "try millrace tasks --state = failed,de\n"
                         "try millrace put reports @\n"
                         "complete -p millrace\n"
                         "MILLRACE_URL=http://127.0.0.1:1 try millrace queues show ''\n");
  EXPECT_EQ(shell_output("bash --norc " + script),
            "queues queue\n"
            "emails:eu reports\n"
            "eu\n"
            "failed,delayed failed,dead\n"
            "\n"
            "complete -o default -F _millrace millrace\n"
            "\n");
}

TEST_F(CompletionTest, zsh_and_fish_accept_their_scripts) {
  for (const std::string shell : {"zsh", "fish"}) {
    const std::string script = file(shell, run_program({"completion", shell}).out);
    if (shell_output("command -v " + shell).empty()) continue;  // not installed here
    EXPECT_EQ(shell_output(shell + " -n " + script + " 2>&1"), "") << shell;
    if (shell == "fish") {
      EXPECT_THAT(
          shell_output("PATH=" + directory_.path() + ":$PATH; ln -sf " MILLRACE_PROGRAM " " +
                       directory_.path() + "/millrace; fish -N -c 'source " + script +
                       "; complete -C\"millrace que\"' 2>&1"),
          StartsWith("queues\t"));
    }
  }
}

}  // namespace
}  // namespace millrace::test
