// Counts the calls of handlers that are under way. An abandoned thread may still be in one, and
// what the handler refers to must live as long.
#pragma once

#include <millrace/handler.h>
#include <millrace/time.h>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

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
    std::unique_lock lock(state_->mutex);
    return state_->left.wait_for(lock, limit, [this] { return state_->calls == 0; });
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable left;
    std::uint32_t calls = 0;
  };
  struct Call {
    explicit Call(State& all) : state(all) {
      const std::scoped_lock lock(state.mutex);
      ++state.calls;
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() {
      const std::scoped_lock lock(state.mutex);
      if (--state.calls == 0) state.left.notify_all();
    }
    State& state;
  };

  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace millrace::worker
