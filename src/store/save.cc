#include "store/save.h"
#include "store/store.h"

namespace millrace {

Result<void> save(Store& store, TimePoint now) {
  // A store that saves itself at intervals learns the time from advance().
  if (store.traits().durability == Durability::interval) {
    if (auto told = store.advance(now, 1); !told) return std::unexpected(told.error());
  }
  return store.flush();
}

}  // namespace millrace
