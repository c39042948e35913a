#include "broker/search.h"

#include <utility>

#include "core/error_group.h"
#include "core/limits.h"
#include "core/task_text.h"
#include "store/store.h"

namespace millrace {
namespace {

// How many tasks one page looks at: with payloads and results, or without.
constexpr std::uint32_t whole_tasks = 500;
constexpr unsigned short_steps = 5;

class TextSearch {
 public:
  TextSearch(const TaskSearch& wanted, std::uint32_t limit, bool full)
      : wanted_(wanted), limit_(limit), full_(full) {
    if (wanted.text) text_.emplace(*wanted.text);
  }

  // Keeps what matches from a page of the store. True: enough was found.
  bool take(TaskPage page) {
    for (std::size_t i = 0; i < page.tasks.size(); ++i) {
      Task& task = page.tasks[i];
      if (!fits(task)) continue;
      if (!full_) shorten(task);
      found_.tasks.push_back(std::move(task));
      if (found_.tasks.size() < limit_) continue;
      const bool last = i + 1 == page.tasks.size();
      found_.looked_at += last ? page.looked_at : static_cast<std::uint32_t>(i + 1);
      found_.next = last ? page.next : std::optional(found_.tasks.back().number);
      return true;
    }
    found_.looked_at += page.looked_at;
    found_.next = page.next;
    return false;
  }

  TaskPage& found() { return found_; }

 private:
  bool fits(const Task& task) {
    if (wanted_.parent && *wanted_.parent != task.parent) return false;
    if (wanted_.parked && !is_parked(task)) return false;
    if (wanted_.error_code && (!task.error || *wanted_.error_code != task.error->code)) {
      return false;
    }
    // Last, because these read much.
    if (wanted_.error_group && *wanted_.error_group != error_group_name(error_group_of(task))) {
      return false;
    }
    return !text_ || text_->in(task);
  }

  // As lists show tasks.
  static void shorten(Task& task) {
    task.payload.clear(), task.result.clear();
    task.log.clear(), task.history.clear();
    task.checkpoint.clear(), task.answer.reset();
  }

  const TaskSearch& wanted_;
  const std::uint32_t limit_;
  const bool full_;
  std::optional<TaskText> text_;
  TaskPage found_;
};

}  // namespace

Result<TaskPage> search_tasks(Reader& reader, ListRequest request, const TaskSearch& search) {
  TextSearch into(search, request.limit, request.detail == Detail::full);
  if (search.text) request.detail = Detail::full;
  const bool full = request.detail == Detail::full;
  request.limit = full ? whole_tasks : limits::max_page;
  for (unsigned left = full ? 1 : short_steps; left > 0; --left) {
    auto page = reader.list(request);
    if (!page) return page;
    if (into.take(std::move(*page)) || !into.found().next) break;
    request.before = into.found().next;
  }
  return std::move(into.found());
}

}  // namespace millrace
