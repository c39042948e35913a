// What is behind a Client: the broker, and who asks it.
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
  // What to do with a task that the store cannot take; nullopt: nothing, the error stands.
  std::function<std::optional<Put>(const NewTask& task)> run_in_place = {};

  // One caller a call: calls of several threads do not wait for each other.
  Ask ask() const {
    Broker& broker = opened.broker();
    return {.caller = broker.new_caller(), .deadline = later(broker.now(), timeout)};
  }

  // call<Task>([&](Broker& broker, Ask ask, auto done) { broker.find(ask, id, std::move(done)); })
  template <class T, class Start>
  Result<T> call(const Start& start) const {
    return wait_for_answer<T>(
        [&](Completion<T> done) { start(opened.broker(), ask(), std::move(done)); });
  }
};

}  // namespace millrace
