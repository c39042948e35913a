#include "store/embedded/memory.h"

#include "core/seed.h"
#include "store/embedded/state_machine.h"
#include "store/store.h"

namespace millrace {

std::unique_ptr<Store> open_memory() {
  const embedded::State::Options options{.hash_seed = random_seed()};
  return std::make_unique<embedded::StateMachine>(options);
}

}  // namespace millrace
