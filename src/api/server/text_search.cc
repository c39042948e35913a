#include "api/server/text_search.h"

#include <fmt/format.h>
#include <algorithm>
#include <memory>
#include <utility>

#include "api/wire/bulk.h"
#include "api/wire/views.h"
#include "core/error_group.h"
#include "core/limits.h"
#include "core/task_text.h"
#include "core/uuid.h"

namespace millrace::api {
namespace {

// Tasks looked at in one step of the broker and for one page: with everything of them, or without.
constexpr std::uint32_t whole_tasks = 500;
constexpr unsigned short_steps = 5;

struct Looking {
  ListRequest request = {};  // of the next step
  TaskSearch search = {};
  std::optional<TaskText> text = std::nullopt;
  std::uint32_t limit = 0;
  bool full = false;
  unsigned steps = 1;  // left
  TaskPage found = {};

  bool fits(const Task& task) {
    if (search.parent && *search.parent != task.parent) return false;
    if (search.error_code && (!task.error || *search.error_code != task.error->code)) return false;
    // Last, because they read much.
    if (search.error_group && *search.error_group != error_group_name(error_group_of(task))) {
      return false;
    }
    return !text || text->in(task);
  }
};
using LookingPtr = std::unique_ptr<Looking>;

// As lists show them.
void shorten(Task& task) {
  task.payload.clear(), task.result.clear();
  task.log.clear(), task.history.clear();
}

// Whether the page is full.
bool take(Looking& looking, TaskPage& page) {
  TaskPage& found = looking.found;
  for (std::size_t i = 0; i < page.tasks.size(); ++i) {
    Task& task = page.tasks[i];
    if (!looking.fits(task)) continue;
    if (!looking.full) shorten(task);
    found.tasks.push_back(std::move(task));
    if (found.tasks.size() < looking.limit) continue;
    const bool last = i + 1 == page.tasks.size();
    found.looked_at += last ? page.looked_at : static_cast<std::uint32_t>(i + 1);
    found.next = last ? page.next : std::optional(found.tasks.back().number);
    return true;
  }
  found.looked_at += page.looked_at;
  found.next = page.next;
  return false;
}

void look(CallPtr call, LookingPtr looking) {
  Broker& broker = *call->broker;
  const Ask ask = call->ask();
  ListRequest request = looking->request;
  auto then = [looking = std::move(looking)](CallPtr back, TaskPage page) mutable {
    const bool full = take(*looking, page);
    if (full || !page.next || --looking->steps == 0) {
      return back->answer(wire::page_of(looking->found));
    }
    looking->request.before = page.next;
    look(std::move(back), std::move(looking));
  };
  broker.list(ask, std::move(request), answered<TaskPage>(std::move(call), std::move(then)));
}

}  // namespace

TaskSearch search_from(Query& query) {
  TaskSearch search{.text = query.text("text"),
                    .error_code = query.text("error_code"),
                    .error_group = query.text("error_group")};
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

void search_tasks(CallPtr call, ListRequest request, TaskSearch search) {
  auto looking = std::make_unique<Looking>();
  looking->limit = request.limit;
  looking->full = request.full;
  if (search.text) looking->text.emplace(*search.text);
  const bool whole = request.full || search.text;
  looking->steps = whole ? 1 : short_steps;
  request.full = whole;
  request.limit = whole ? whole_tasks : limits::max_page;
  looking->request = std::move(request);
  looking->search = std::move(search);
  look(std::move(call), std::move(looking));
}

}  // namespace millrace::api
