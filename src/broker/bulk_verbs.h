// What a worker of bulk operations needs beside Broker; only the process that owns the store has
// it. Completions follow the rules of Broker.
#pragma once

#include <vector>

#include "broker/broker.h"
#include "core/bulk.h"

namespace millrace {

class BulkVerbs {
 public:
  virtual ~BulkVerbs() = default;

  // Does one thing to the first of these tasks: at least one, and as many as 4 MiB of payloads and
  // results allow. Tasks that changed since they were seen and no longer match are left alone
  // (`conflict`). The answer has a result for each task that was reached.
  virtual void act(Ask ask, BulkBatch batch, Completion<Broker::States> done) = 0;
  // Keys that begin with $ or with key/ are Millrace's own: only an internal ask may write them.
  virtual void remember(Ask ask, Remember request, Completion<Memo> done) = 0;
  virtual void recall(Ask ask, Recall request, Completion<std::vector<Memo>> done) = 0;
};

}  // namespace millrace
