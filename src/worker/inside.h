// How many calls of handlers are under way. A thread that was given up may still be in one, and
// what the handler refers to must stay as long as it is.
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
  // The same handler, with its calls counted here.
  HandlerFunction counted(HandlerFunction handler) {
    return [state = state_, handler = std::move(handler)](std::span<Context* const> tasks) {
      const Call call(*state);
      handler(tasks);
    };
  }

  // False: after so long there still is one inside.
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
