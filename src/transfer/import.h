// Imports lines of JSON, or a `queue-state.json`, into a store.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <cstdint>
#include <functional>
#include <istream>
#include <optional>
#include <string>

#include "core/values.h"
#include "store/fwd.h"
#include "transfer/format.h"

namespace millrace::transfer {

struct ImportReport {
  Counts added = {};
  Counts existing = {};             // existed already and are unchanged
  std::uint64_t key_held = 0;       // tasks left out: another one holds their unique key
  std::uint64_t expired = 0;        // memos, and changes of groups, left out: their time is over
  std::optional<Error> error = {};  // why it stopped before the end; names the line or the task

  friend bool operator==(const ImportReport&, const ImportReport&) = default;
};

struct ImportOptions {
  std::string queue = "default";  // where the tasks of a queue-state.json go
  // Called now and then: what is durable so far, and bytes read.
  std::function<void(const ImportReport& so_far, std::uint64_t bytes)> progress = nullptr;
  // Whether a memo may be stored: a server cannot do with a broken API key. Empty: every memo may.
  std::function<Result<void>(const Memo& memo)> check_memo = nullptr;
};

// The call that remembers a memo which has not expired, if there is none of that key.
Remember as_new(Memo memo, TimePoint now);

// The error for an export without its closing line, or with a wrong one.
Error cut_short(std::uint64_t lines);
Result<void> compare(const Counts& written, const Counts& read);

// Reads either format, which it recognizes by the first key. Adds what does not exist and changes
// nothing that does: a second run does nothing, and after an interruption it is simply run again.
// Everything before the line with an error is in the store, nothing of that line. Each batch (1,000
// tasks or 4 MiB) is flushed. A truncated file is an error at its end.
ImportReport import_store(std::istream& in, Store& store, TimePoint now,
                          const ImportOptions& options = {});

}  // namespace millrace::transfer
