// Turns completions into calls that wait, for threads that may block until they are answered. Never
// from a completion: the thread that would answer is the one that waits.
#pragma once

#include <millrace/result.h>
#include <future>
#include <utility>

#include "broker/caller.h"

namespace millrace {

// Starts a request with a completion, and waits until the completion is called.
template <class T, class Start>
Result<T> wait_for_answer(const Start& start) {
  std::promise<Result<T>> promise;
  auto answer = promise.get_future();
  start(Completion<T>([promise = std::move(promise)](Result<T> result) mutable {
    promise.set_value(std::move(result));
  }));
  try {
    return answer.get();
  } catch (const std::future_error&) {  // the completion was destroyed uncalled
    return fail(ErrorCode::unavailable, "the caller left before it was answered");
  }
}

}  // namespace millrace
