#include "tests/crash/facts.h"

#include "core/uuid.h"

namespace millrace::test {

std::string payload_of(const TaskId& id) {
  const auto text = to_text(id.value);
  const std::size_t copies = 1 + id.value.bytes[15] % 4 * (id.value.bytes[14] % 40);
  std::string bytes;
  for (std::size_t i = 0; i < copies; ++i) bytes += text;
  return bytes;
}

std::string result_of(const TaskId& id) {
  return "done " + to_text(id.value);
}

}  // namespace millrace::test
