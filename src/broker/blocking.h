// The Coalescer's verbs for threads that may block until they are answered: handlers, tools, tests.
// Never from a completion: the thread that would answer is the one that waits.
#pragma once

#include <millrace/result.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <functional>
#include <utility>
#include <vector>

#include "broker/call_on.h"
#include "broker/coalescer.h"
#include "broker/wait_for_answer.h"

namespace millrace {

inline Result<std::vector<Result<Put>>> put_now(Coalescer& coalescer, CallerId caller,
                                                std::vector<NewTask> tasks, TimePoint deadline) {
  return wait_for_answer<std::vector<Result<Put>>>(
      [&](auto done) { coalescer.put(caller, std::move(tasks), deadline, std::move(done)); });
}

inline Result<WorkResult> work_now(Coalescer& coalescer, CallerId caller, Work work,
                                   TimePoint deadline) {
  return wait_for_answer<WorkResult>(
      [&](auto done) { coalescer.work(caller, std::move(work), deadline, std::move(done)); });
}

template <class T>
Result<T> call_now(Coalescer& coalescer, CallerId caller, StoreCall<Result<T>> call,
                   TimePoint deadline) {
  return wait_for_answer<T>(
      [&](auto done) { coalescer.call<T>(caller, std::move(call), deadline, std::move(done)); });
}

}  // namespace millrace
