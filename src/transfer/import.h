// Lines of JSON, or a `queue-state.json`, into a store.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <cstdint>
#include <functional>
#include <istream>
#include <optional>
#include <string>

#include "store/store.h"
#include "transfer/format.h"

namespace millrace::transfer {

struct ImportReport {
  Counts added = {};
  Counts existing = {};             // were there already and stay as they are
  std::uint64_t key_held = 0;       // tasks left out: another one holds their unique key
  std::uint64_t expired = 0;        // memos left out: their lifetime is over
  std::optional<Error> error = {};  // why it stopped before the end; names the line or the task

  friend bool operator==(const ImportReport&, const ImportReport&) = default;
};

struct ImportOptions {
  std::string queue = "default";  // where the tasks of a queue-state.json go
  // Called now and then: what is durable so far, and bytes read.
  std::function<void(const ImportReport& so_far, std::uint64_t bytes)> progress = nullptr;
};

// How a memo that has not expired is remembered where there is none.
Remember as_new(Memo memo, TimePoint now);

// What is wrong with an export that has no closing line, or another than it should.
Error cut_short(std::uint64_t lines);
Result<void> compare(const Counts& written, const Counts& read);

// Reads either format, which it tells by the first key. Adds what is not there yet and changes
// nothing that is: run twice, it does nothing the second time, and after an interruption it is
// simply run again. Everything before the line with an error is in the store, nothing of that line.
// Each batch (1,000 tasks or 4 MiB) is flushed. A file that was cut short is an error, at its end.
ImportReport import_store(std::istream& in, Store& store, TimePoint now,
                          const ImportOptions& options = {});

}  // namespace millrace::transfer
