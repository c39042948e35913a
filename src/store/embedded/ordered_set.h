// An ordered set of (key, slot) pairs, shaped for queues: adding at the end and removing at the
// front touch one hot leaf and cost a few nanoseconds; anything in between is O(log n).
//
// Two levels: sorted leaves of up to 64 pairs, and a std::map of leaves by a lower bound of their
// keys (the first leaf also takes what is below its bound). Nothing is ever copied as a whole, so
// growth never stalls a caller. Only an empty set has an empty leaf: it keeps one, so that a queue
// that often runs empty does not allocate each time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

#include "core/ensure.h"

namespace millrace::embedded {

template <class Key>
class OrderedSet {
  static constexpr std::uint32_t capacity = 64;
  static constexpr std::uint32_t sparse = 16;

  struct Leaf {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    std::array<Key, capacity> keys;
    std::array<std::uint32_t, capacity> slots;

    std::uint32_t size() const { return end - begin; }
    const Key& first() const { return keys[begin]; }
    const Key& last() const { return keys[end - 1]; }

    // Where `key` is, or would be.
    std::uint32_t position(const Key& key) const {
      const Key* found = std::lower_bound(keys.data() + begin, keys.data() + end, key);
      return static_cast<std::uint32_t>(found - keys.data());
    }
    void append(const Key& key, std::uint32_t slot) {
      keys[end] = key;
      slots[end] = slot;
      ++end;
    }
    // Moves [from, to) one place down or up.
    void shift_down(std::uint32_t from, std::uint32_t to) {
      std::copy(keys.data() + from, keys.data() + to, keys.data() + from - 1);
      std::copy(slots.data() + from, slots.data() + to, slots.data() + from - 1);
    }
    void shift_up(std::uint32_t from, std::uint32_t to) {
      std::copy_backward(keys.data() + from, keys.data() + to, keys.data() + to + 1);
      std::copy_backward(slots.data() + from, slots.data() + to, slots.data() + to + 1);
    }
    void insert_at(std::uint32_t at, const Key& key, std::uint32_t slot) {
      const bool room_above = end < capacity;
      if (room_above && (begin == 0 || end - at <= at - begin)) {
        shift_up(at, end++);
      } else {
        shift_down(begin--, at);
        --at;
      }
      keys[at] = key;
      slots[at] = slot;
    }
    void erase_at(std::uint32_t at) {
      if (at - begin < end - at) {
        shift_up(begin, at);
        ++begin;
      } else {
        shift_down(at + 1, end);
        --end;
      }
      if (begin == end) begin = end = 0;
    }
    // Takes over all pairs of `other`, whose keys are greater.
    void append_all(const Leaf& other) {
      std::copy(keys.data() + begin, keys.data() + end, keys.data());
      std::copy(slots.data() + begin, slots.data() + end, slots.data());
      end -= begin;
      begin = 0;
      for (auto i = other.begin; i < other.end; ++i) append(other.keys[i], other.slots[i]);
    }
  };
  using Leaves = std::map<Key, Leaf>;

 public:
  using Entry = std::pair<Key, std::uint32_t>;

  // Walks in order, both ways. Any change of the set makes it invalid.
  class Iterator {
   public:
    Entry operator*() const { return {leaf_->second.keys[at_], leaf_->second.slots[at_]}; }
    Iterator& operator++() {
      if (++at_ == leaf_->second.end) {
        ++leaf_;
        at_ = leaf_ == leaves_->end() ? 0 : leaf_->second.begin;
      }
      return *this;
    }
    Iterator& operator--() {
      if (leaf_ == leaves_->end() || at_ == leaf_->second.begin) {
        --leaf_;
        at_ = leaf_->second.end;
      }
      --at_;
      return *this;
    }
    bool operator==(const Iterator& other) const {
      return leaf_ == other.leaf_ && at_ == other.at_;
    }

   private:
    friend class OrderedSet;
    Iterator(const Leaves& leaves, typename Leaves::const_iterator leaf, std::uint32_t at)
        : leaves_(&leaves), leaf_(leaf), at_(at) {}
    const Leaves* leaves_;
    typename Leaves::const_iterator leaf_;
    std::uint32_t at_;
  };

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  // REQUIRES: not empty.
  Entry front() const {
    const Leaf& leaf = leaves_.begin()->second;
    return {leaf.first(), leaf.slots[leaf.begin]};
  }

  // REQUIRES: `key` is not in the set.
  void insert(const Key& key, std::uint32_t slot) {
    ++size_;
    if (leaves_.empty()) return add_leaf(key, slot);
    const auto last = std::prev(leaves_.end());
    if (size_ == 1 || last->second.last() < key) {
      if (size_ == 1 && key < last->first) return lower_bound_of_first(key).append(key, slot);
      if (last->second.end == capacity) return add_leaf(key, slot);
      return last->second.append(key, slot);
    }
    auto found = locate(key);
    Leaf& leaf = key < found->first ? lower_bound_of_first(key) : found->second;
    if (leaf.size() == capacity) return split_and_insert(leaf, key, slot);
    leaf.insert_at(leaf.position(key), key, slot);
  }

  // REQUIRES: `key` is in the set.
  void erase(const Key& key) {
    ensure(size_ != 0, "a key is erased from an empty set");
    --size_;
    auto found = locate(key);
    Leaf& leaf = found->second;
    const std::uint32_t at = leaf.position(key);
    ensure(at < leaf.end && leaf.keys[at] == key, "a key to be erased is not in the set");
    leaf.erase_at(at);
    if (leaf.size() >= sparse || leaves_.size() == 1) return;
    if (leaf.size() == 0) {
      leaves_.erase(found);
    } else if (found == leaves_.begin() || !merge(std::prev(found), found)) {
      merge(found, std::next(found));
    }
  }

  Iterator begin() const {
    if (empty()) return end();
    return {leaves_, leaves_.begin(), leaves_.begin()->second.begin};
  }
  Iterator end() const { return {leaves_, leaves_.end(), 0}; }

  // The first pair whose key is not less than `key`.
  Iterator lower_bound(const Key& key) const {
    if (empty()) return end();
    const auto leaf = const_cast<OrderedSet*>(this)->locate(key);
    const auto at = leaf->second.position(key);
    if (at < leaf->second.end) return {leaves_, leaf, at};
    const auto next = std::next(leaf);
    return {leaves_, next, next == leaves_.end() ? 0 : next->second.begin};
  }

  // Bytes of memory, about.
  std::size_t memory() const { return leaves_.size() * (sizeof(Leaf) + sizeof(Key) + 40); }

 private:
  // The leaf that holds `key` if any does. The ends are tried first: that is where queues work.
  typename Leaves::iterator locate(const Key& key) {
    const auto first = leaves_.begin();
    if (leaves_.size() == 1 || !(first->second.last() < key)) return first;
    const auto last = std::prev(leaves_.end());
    if (!(key < last->second.first())) return last;
    return std::prev(leaves_.upper_bound(key));
  }

  // Moves the pairs of `right` into its left neighbour, if that leaves room to grow.
  bool merge(typename Leaves::iterator left, typename Leaves::iterator right) {
    if (right == leaves_.end()) return false;
    if (left->second.size() + right->second.size() > capacity - sparse) return false;
    left->second.append_all(right->second);
    leaves_.erase(right);
    return true;
  }

  void add_leaf(const Key& key, std::uint32_t slot) {
    leaves_.try_emplace(leaves_.end(), key)->second.append(key, slot);
  }

  // The bound of the first leaf must not be above its keys, or a split could overtake it.
  Leaf& lower_bound_of_first(const Key& key) {
    auto node = leaves_.extract(leaves_.begin());
    node.key() = key;
    return leaves_.insert(leaves_.begin(), std::move(node))->second;
  }

  void split_and_insert(Leaf& leaf, const Key& key, std::uint32_t slot) {
    const std::uint32_t middle = capacity / 2;
    Leaf& upper = leaves_[leaf.keys[middle]];
    for (auto i = middle; i < capacity; ++i) upper.append(leaf.keys[i], leaf.slots[i]);
    leaf.end = middle;
    Leaf& target = key < upper.first() ? leaf : upper;
    target.insert_at(target.position(key), key, slot);
  }

  Leaves leaves_;
  std::size_t size_ = 0;
};

}  // namespace millrace::embedded
