#include "transfer/batch.h"

#include <fmt/format.h>
#include <algorithm>
#include <optional>
#include <utility>

#include "core/limits.h"
#include "store/store.h"

namespace millrace::transfer {
namespace {

constexpr std::size_t most_bytes = 4 * limits::mib;

}  // namespace

Batch::Batch(Store& store, TimePoint now, ImportReport& report)
    : store_(store),
      now_(now),
      report_(report),
      most_(std::min(store.traits().batch, limits::max_batch)) {}

Result<void> Batch::add(Task task, std::string place, std::size_t bytes) {
  if (!tasks_.empty() && bytes_ + bytes > most_bytes) {
    if (auto done = finish(); !done) return done;
  }
  tasks_.push_back(std::move(task));
  places_.push_back(std::move(place));
  bytes_ += bytes;
  if (tasks_.size() < most_) return {};
  return finish();
}

Result<void> Batch::finish() {
  if (tasks_.empty()) return {};
  const auto tasks = std::exchange(tasks_, {});
  const auto places = std::exchange(places_, {});
  bytes_ = 0;
  const auto results = store_.restore(tasks, now_);
  if (!results) return std::unexpected(results.error());
  if (auto durable = store_.flush(); !durable) return durable;
  std::optional<Error> first;
  for (std::size_t i = 0; i < results->size(); ++i) {
    const Result<Put>& put = (*results)[i];
    if (!put) {
      if (!first) {
        first = Error{put.error().code, fmt::format("{}: {}", places[i], put.error().message)};
      }
    } else if (!put->existing) {
      ++report_.added.tasks;
    } else if (put->id == tasks[i].id) {
      ++report_.existing.tasks;
    } else {
      ++report_.key_held;
    }
  }
  if (first) return std::unexpected(std::move(*first));
  return {};
}

}  // namespace millrace::transfer
