// A hash index from a 64-bit hash to a slot number; the caller compares the real keys.
//
// 1,024 open-addressed tables of eight-byte entries. A table grows by itself when three quarters
// full, so growth costs microseconds at a time however many entries there are, and growing needs
// no look at the keys: 32 bits of the hash lie in the entry.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/ensure.h"

namespace millrace::embedded {

class SlotIndex {
 public:
  static constexpr std::uint32_t none = 0xFFFF'FFFF;

  // The slot for which `same(slot)` holds, or `none`.
  template <class Same>
  std::uint32_t find(std::uint64_t hash, const Same& same) const {
    const Table& table = tables_[hash >> 54];
    if (table.used == 0) return none;
    const auto tag = static_cast<std::uint32_t>(hash);
    for (std::uint32_t at = tag & table.mask();; at = (at + 1) & table.mask()) {
      const Entry& entry = table.entries[at];
      if (entry.slot == none) return none;
      if (entry.tag == tag && same(entry.slot)) return entry.slot;
    }
  }

  // This hash will be looked up soon: prefetches its entry. Always inlined, because GCC takes a
  // function that only prefetches for one that does nothing.
  [[gnu::always_inline]] void expect(std::uint64_t hash) const {
    const Table& table = tables_[hash >> 54];
    if (table.used == 0) return;
    __builtin_prefetch(&table.entries[static_cast<std::uint32_t>(hash) & table.mask()]);
  }

  // REQUIRES: the slot is not in the index.
  void insert(std::uint64_t hash, std::uint32_t slot) {
    Table& table = tables_[hash >> 54];
    if ((table.used + 1) * 4 > table.entries.size() * 3) grow(table);
    place(table, {static_cast<std::uint32_t>(hash), slot});
    ++table.used;
  }

  // REQUIRES: the slot is in the index under this hash.
  void erase(std::uint64_t hash, std::uint32_t slot) {
    Table& table = tables_[hash >> 54];
    ensure(table.used != 0, "a slot to be erased is not in the index");
    std::uint32_t hole = static_cast<std::uint32_t>(hash) & table.mask();
    while (table.entries[hole].slot != slot) {
      ensure(table.entries[hole].slot != none, "a slot to be erased is not in the index");
      hole = (hole + 1) & table.mask();
    }
    // Close the hole: pull back whatever a probe would no longer reach across it.
    for (std::uint32_t at = (hole + 1) & table.mask(); table.entries[at].slot != none;
         at = (at + 1) & table.mask()) {
      const std::uint32_t home = table.entries[at].tag & table.mask();
      if (((at - home) & table.mask()) < ((at - hole) & table.mask())) continue;
      table.entries[hole] = table.entries[at];
      hole = at;
    }
    table.entries[hole].slot = none;
    --table.used;
  }

  std::size_t memory() const {
    std::size_t bytes = sizeof(*this);
    for (const Table& table : tables_) bytes += table.entries.capacity() * sizeof(Entry);
    return bytes;
  }

 private:
  struct Entry {
    std::uint32_t tag = 0;
    std::uint32_t slot = none;
  };
  struct Table {
    std::vector<Entry> entries;  // a power of two
    std::uint32_t used = 0;
    std::uint32_t mask() const { return static_cast<std::uint32_t>(entries.size()) - 1; }
  };

  static void place(Table& table, Entry entry) {
    std::uint32_t at = entry.tag & table.mask();
    while (table.entries[at].slot != none) at = (at + 1) & table.mask();
    table.entries[at] = entry;
  }

  static void grow(Table& table) {
    Table larger{std::vector<Entry>(table.entries.empty() ? 16 : table.entries.size() * 2),
                 table.used};
    for (const Entry& entry : table.entries) {
      if (entry.slot != none) place(larger, entry);
    }
    table = std::move(larger);
  }

  std::array<Table, 1024> tables_;
};

// Spreads every bit of a 64-bit value over the whole hash.
inline std::uint64_t mix(std::uint64_t value) {
  value ^= value >> 32;
  value *= 0xD6E8'FEB8'6659'FD93ULL;
  value ^= value >> 32;
  value *= 0xD6E8'FEB8'6659'FD93ULL;
  return value ^ (value >> 32);
}

}  // namespace millrace::embedded
