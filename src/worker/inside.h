// Counts the calls of handlers that are under way. An abandoned thread may still be in one, and
// what the handler refers to must live as long.
#pragma once

#include <millrace/handler.h>
#include <millrace/time.h>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "core/mutex.h"

namespace millrace::worker {

class Inside {
 public:
  // The same handler, with its calls counted.
  HandlerFunction counted(HandlerFunction handler) {
    return [state = state_, handler = std::move(handler)](std::span<Context* const> tasks) {
      const Call call(*state);
      handler(tasks);
    };
  }

  // False: a call is still under way after `limit`.
  bool wait_until_left(Duration limit) {
    State& state = *state_;
    const Lock lock(state.mutex);
    return state.left.wait_for(state.mutex, limit,
                               [&state]() REQUIRES(state.mutex) { return state.calls == 0; });
  }

 private:
  struct State {
    Mutex mutex;
    Condition left;
    std::uint32_t calls GUARDED_BY(mutex) = 0;
  };
  struct Call {
    explicit Call(State& all) : state(all) {
      const Lock lock(state.mutex);
      ++state.calls;
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() {
      const Lock lock(state.mutex);
      if (--state.calls == 0) state.left.notify_all();
    }
    State& state;
  };

  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace millrace::worker
