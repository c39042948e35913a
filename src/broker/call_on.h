// A function that is called with a store, or the part of one that reads, where the header that
// names it need not know what a store is: std::move_only_function wants to know the size of what
// its references refer to.
#pragma once

#include <millrace/time.h>
#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

#include "store/fwd.h"

namespace millrace {

template <class On, class Answer, class... Args>
class CallOn {
 public:
  CallOn() = default;
  template <class Function>
    requires(!std::same_as<std::remove_cvref_t<Function>, CallOn> &&
             std::is_invocable_r_v<Answer, Function&, On&, Args...>)
  CallOn(Function function)  // NOLINT(google-explicit-constructor): as other functions
      : run_([function = std::move(function)](On* on, Args... args) mutable -> Answer {
          return function(*on, std::forward<Args>(args)...);
        }) {}

  Answer operator()(On& on, Args... args) { return run_(&on, std::forward<Args>(args)...); }
  explicit operator bool() const { return static_cast<bool>(run_); }

 private:
  std::move_only_function<Answer(On*, Args...)> run_;
};

template <class Answer>
using StoreCall = CallOn<Store, Answer, TimePoint>;
template <class Answer>
using ReaderCall = CallOn<Reader, Answer, TimePoint>;

}  // namespace millrace
