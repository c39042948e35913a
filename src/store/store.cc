#include "store/store.h"

#include <utility>

namespace millrace {

Result<Task> find_task(Reader& reader, const TaskRef& task, Parts parts) {
  auto found = reader.find({&task, 1}, parts);
  if (!found) return std::unexpected(std::move(found.error()));
  return std::move(found->front());
}

}  // namespace millrace
