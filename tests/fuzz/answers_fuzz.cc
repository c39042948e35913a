// Whatever a server answers is read, or told to be unreadable; what was read of our own answers is
// what they say.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/wire/answers.h"
#include "api/wire/events.h"
#include "api/wire/history.h"
#include "api/wire/raw.h"
#include "api/wire/requests.h"
#include "api/wire/views.h"
#include "api/wire/work.h"
#include "tests/fuzz/require.h"

namespace millrace {
namespace {

template <class T>
bool well(const Result<T>& read, std::string_view text) {
  require(read.has_value() ? wire::is_json(text) : !read.error().message.empty());
  if (!read) require(read.error().code == ErrorCode::unavailable);
  return read.has_value();
}

// JSON holds text only: what is not UTF-8 is written otherwise, so values are compared once they
// have been written.
void try_work(std::string_view text) {
  const auto leases = wire::leases_from(text);
  if (!well(leases, text)) return;
  std::string out;
  wire::append(out, *leases);
  const auto again = wire::leases_from(out);
  require(again.has_value());
  require(*again->taken[0] == *leases->taken[0]);
  well(wire::work_from(text, {.reports = 1, .extensions = 1, .take = true}), text);
}

void try_task(std::string_view text) {
  const auto task = wire::task_from(text);
  if (!well(task, text)) return;
  const auto again = wire::task_from(wire::view_of(*task));
  require(again.has_value() && *again == *task);
}

void try_schedule(std::string_view text) {
  const auto schedule = wire::schedule_from(text);
  if (!well(schedule, text)) return;
  const auto sent = wire::read_schedule(wire::schedule_text(*schedule), schedule->name);
  if (sent) require(sent->task.payload == schedule->task.payload);
}

// A stream says the same however it is cut.
std::vector<std::string> told_by(std::string_view text, std::size_t piece) {
  wire::EventReader reader;
  std::vector<std::string> told;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    reader.feed(text.substr(at, piece));
    for (;;) {
      const auto news = reader.next();
      if (!news) {
        require(!news.error().message.empty());
        told.emplace_back("wrong");
        return told;
      }
      if (!*news) break;
      told.push_back((*news)->id + (*news)->event.value_or(EventRecord{}).queue);
    }
  }
  return told;
}

// The patch from one object to another leads there.
void try_difference(std::string_view text) {
  const std::size_t cut = text.find('|');
  if (cut == std::string_view::npos) return;
  const auto patch = wire::difference(text.substr(0, cut), text.substr(cut + 1));
  if (!patch) return;
  require(wire::is_json_object(*patch));
  const auto there = wire::merged(text.substr(0, cut), *patch, {});
  require(there.has_value());
}

}  // namespace
}  // namespace millrace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 6U) {
    case 0:
      try_work(text);
      break;
    case 1:
      try_task(text);
      break;
    case 2:
      try_schedule(text);
      break;
    case 3:
      try_difference(text);
      break;
    case 4:
      well(wire::puts_from(text, 1), text), well(wire::put_from(text), text);
      well(wire::page_from(text), text), well(wire::explanation_from(text), text);
      well(wire::state_from(text), text), well(wire::handled_from(text), text);
      well(wire::removed_from(text), text), well(wire::instructions_from(text), text);
      wire::problem_from(text);
      break;
    default:
      well(wire::queue_from(text), text), well(wire::queue_view_from(text, text), text);
      well(wire::queue_views_from(text, text), text), well(wire::schedules_from(text), text);
      well(wire::workers_from(text), text), well(wire::server_from(text), text);
      well(wire::history_from(text), text);
      require(told_by(text, 1) == told_by(text, text.size() + 1));
      break;
  }
  return 0;
}
