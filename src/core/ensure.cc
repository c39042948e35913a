#include "core/ensure.h"

#include <cstdio>
#include <cstdlib>

namespace millrace {

void violated(const char* what, const std::source_location& where) noexcept {
  std::fprintf(stderr, "millrace: %s:%u: %s. This is a defect of Millrace; the process ends.\n",
               where.file_name(), static_cast<unsigned>(where.line()), what);
  std::fflush(stderr);
  std::abort();
}

}  // namespace millrace
