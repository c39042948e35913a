// Making, writing and reading ids.
#pragma once

#include <millrace/ids.h>
#include <millrace/result.h>
#include <millrace/time.h>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace millrace {

// Makes UUIDv7 (RFC 9562): 48 bits of milliseconds, a 20-bit counter that starts at a random value
// each millisecond, 54 random bits. Strictly increasing for the life of the source, also while the
// clock stands still or goes back. Not thread-safe: use one source per thread, or a lock.
class UuidSource {
 public:
  // Sources of different processes must get different seeds, or they make the same ids.
  explicit UuidSource(std::uint64_t seed);

  // Moments before 1970 count as 1970.
  Uuid next(TimePoint now);

 private:
  std::uint64_t random();

  std::array<std::uint64_t, 4> state_{};
  std::uint64_t last_ms_ = 0;
  std::uint64_t counter_ = 0;
};

// 8-4-4-4-12 lower-case hexadecimal digits.
std::string to_text(const Uuid& id);

// The 36-character form, in any case; any version, nil included. Bad text: `invalid`, with the
// position (from 1) of the first wrong character.
Result<Uuid> uuid_from_text(std::string_view text);

// The same, with or without `task-` in front; nil is refused, since no task has it.
Result<TaskId> task_id_from_text(std::string_view text);

// A token is written as 16 hexadecimal digits: JSON numbers are not safe above 2^53. Reading wants
// exactly 16, in any case.
std::string to_text(Token token);
Result<Token> token_from_text(std::string_view text);

// For hash tables keyed by id. Mixes all 128 bits, so that ids made in one millisecond spread. A
// secret seed keeps outsiders, who may choose ids, from choosing colliding ones.
struct UuidHash {
  using is_avalanching = void;  // tells Boost's flat tables not to mix again

  std::uint64_t seed = 0;

  std::size_t operator()(const Uuid& id) const noexcept {
    __extension__ using Wide = unsigned __int128;
    std::array<std::uint64_t, 2> half{};
    std::memcpy(half.data(), id.bytes.data(), id.bytes.size());
    // Both factors depend on the seed: neither can be made zero, nor a difference be cancelled.
    const Wide product = Wide{half[0] ^ seed ^ 0x9E3779B97F4A7C15ULL} *
                         (half[1] ^ std::rotl(seed, 32) ^ 0xD6E8FEB86659FD93ULL);
    const auto h = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    return (h ^ (h >> 32)) * 0xD6E8FEB86659FD93ULL;
  }
  std::size_t operator()(const TaskId& id) const noexcept { return (*this)(id.value); }
};

}  // namespace millrace
