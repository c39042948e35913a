// For programs that are built without a dashboard.
#include "pages/files.h"

namespace millrace::pages {

std::span<const File> files() {
  return {};
}

}  // namespace millrace::pages
