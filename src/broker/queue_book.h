// The queues as they were when the broker last read them, so that no put, take or decision has to
// ask the store for them. Every change through this broker updates the book; if other processes may
// change queues, too, the broker reads them again every few seconds.
#pragma once

#include <millrace/ids.h>
#include <millrace/queue.h>
#include <millrace/result.h>
#include <millrace/time.h>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/mutex.h"
#include "core/values.h"
#include "store/fwd.h"

namespace millrace {

// Names that belong to Millrace itself.
inline constexpr std::string_view webhooks_queue = "$webhooks";
inline constexpr std::string_view alerts_queue = "$alerts";
constexpr bool is_internal(std::string_view name) {
  return name.starts_with('$');
}

// A queue as messages show it: "emails", number 7 or a UUID.
std::string text_of(const QueueRef& queue);

class QueueBook {
 public:
  // One lock for all look-ups of a request. What they return is valid while this lives.
  class SCOPED_CAPABILITY Reading {
   public:
    explicit Reading(const QueueBook& book) ACQUIRE_SHARED(book.mutex_)
        : book_(book), lock_(book.mutex_) {}
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    ~Reading() RELEASE() = default;
    // Null: not known here, but perhaps to the store. The same for a queue that is being removed,
    // since the store does not report when it is gone.
    const Queue* find(const QueueRef& queue) const;
    const Queue* find(std::string_view name) const;
    // Also true for queues that are being removed.
    bool knows(std::string_view name) const {
      book_.mutex_.assert_held_shared();
      return book_.by_name_.contains(name);
    }

   private:
    const QueueBook& book_;
    SharedLock<SharedMutex> lock_;
  };

  std::shared_ptr<const Queue> find(const QueueRef& queue) const;

  void set(Queue queue);
  void forget(const std::string& name);

  // Reads all queues again.
  Result<void> reload(Store& store);
  // Reads one again: `not_found` also forgets it.
  Result<std::shared_ptr<const Queue>> look_up(Store& store, const QueueRef& queue);

  // By name, including those that are being removed.
  std::vector<std::shared_ptr<const Queue>> all() const;
  // How many there are, internal ones not counted.
  std::size_t count() const;
  // Names of queues that are being removed.
  std::vector<std::string> removing() const;

 private:
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>()(name);
    }
  };
  struct NameEqual {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const { return a == b; }
  };
  using ByName = std::unordered_map<std::string, std::shared_ptr<const Queue>, NameHash, NameEqual>;

  const std::shared_ptr<const Queue>* find_locked(const QueueRef& queue) const
      REQUIRES_SHARED(mutex_);
  void add_locked(Queue queue) REQUIRES(mutex_);
  void forget_locked(std::string_view name) REQUIRES(mutex_);

  mutable SharedMutex mutex_{LockRank::queues};
  ByName by_name_ GUARDED_BY(mutex_);
  std::map<QueueNumber, std::string> by_number_ GUARDED_BY(mutex_);
  std::map<Uuid, std::string> by_id_ GUARDED_BY(mutex_);
  std::size_t internal_ GUARDED_BY(mutex_) = 0;  // how many of them are
};

}  // namespace millrace
