#include "api/server/search_query.h"

#include <fmt/format.h>

#include "api/wire/bulk.h"
#include "core/error_group.h"
#include "core/task_text.h"
#include "core/uuid.h"

namespace millrace::api {

TaskSearch search_from(Query& query) {
  TaskSearch search{.text = query.text("text"),
                    .error_code = query.text("error_code"),
                    .error_group = query.text("error_group"),
                    .parked = query.flag("parked")};
  if (search.text && (search.text->empty() || search.text->size() > max_searched_text)) {
    query.refuse("text", fmt::format("text has {} bytes; allowed are 1 to {}", search.text->size(),
                                     max_searched_text));
  }
  if (search.error_group && !is_error_group_name(*search.error_group)) {
    query.refuse("error_group", wire::no_error_group(*search.error_group));
  }
  if (const auto parent = query.text("parent")) {
    const auto id = task_id_from_text(*parent);
    if (!id) query.refuse("parent", id.error().message);
    if (id) search.parent = *id;
  }
  return search;
}

}  // namespace millrace::api
