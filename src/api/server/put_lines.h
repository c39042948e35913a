// A put of any length: one task per line, one answer per line, as they come (application/x-ndjson).
#pragma once

#include <millrace/ids.h>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/server/call.h"
#include "api/server/line_splitter.h"

namespace millrace::api {

// Lines are put in batches of up to 1,000. A line that makes no sense is answered with its number,
// and the stream goes on. At the end comes {"done":{…}}. Once the key is revoked or has expired,
// every further line is refused.
class PutLines : public std::enable_shared_from_this<PutLines> {
 public:
  using Done = BodyStream::Done;

  // Tasks that name no queue go to `queue`.
  PutLines(CallPtr call, std::optional<QueueRef> queue);

  void feed(std::string piece, bool last, Done done);

 private:
  // Reads lines into the batch until it is full or no line is left; true: there is something in it.
  bool gather();
  void add(std::string_view line);
  void refuse_line(std::string_view code, std::string_view message, std::string_view field = {});
  void go_on();
  void put_batch();
  void refuse_batch(const Problem& problem);
  void answer_batch(const Result<std::vector<Result<Put>>>& puts);

  CallPtr call_;
  std::optional<QueueRef> queue_;
  LineSplitter lines_;
  bool last_ = false;  // nothing follows what has come

  struct Slot {
    std::uint64_t line = 0;
    std::string refused = {};  // its answer, if it needs no broker
  };
  std::vector<Slot> slots_;
  std::vector<NewTask> tasks_;
  std::size_t bytes_ = 0;

  std::string out_;
  Done done_;
  std::uint64_t put_ = 0;
  std::uint64_t existing_ = 0;
  std::uint64_t replaced_ = 0;  // of those
  std::uint64_t failed_ = 0;
};

}  // namespace millrace::api
