// The implementation of Client: the broker and its callers.
#pragma once

#include <millrace/client.h>
#include <functional>
#include <memory>
#include <optional>

#include "app/open_broker.h"
#include "broker/wait_for_answer.h"
#include "core/clock.h"

namespace millrace {

struct Client::Parts {
  std::unique_ptr<Clock> clock = {};
  Opened opened = {};
  Duration timeout{};
  // Handles a task that the store cannot take; nullopt: the error stands.
  std::function<std::optional<Put>(const NewTask& task)> run_in_place = {};

  // call<Task>([&](Broker& broker, Ask ask, auto done) { broker.find(ask, id, std::move(done)); })
  //
  // Each call is a caller of its own, so calls of several threads do not wait for each other.
  template <class T, class Start>
  Result<T> call(const Start& start) const {
    Broker& broker = opened.broker();
    const CallerId caller = broker.new_caller();
    auto answer = wait_for_answer<T>([&](Completion<T> done) {
      start(broker, Ask{.caller = caller, .deadline = later(broker.now(), timeout)},
            std::move(done));
    });
    broker.leave(caller);
    return answer;
  }
};

}  // namespace millrace
