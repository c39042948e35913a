// Which store, as text: memory:, memory:?snapshot=FILE, journal:DIR, or just a directory.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

enum class StoreKind : std::uint8_t { memory, journal };

enum class UrlSync : std::uint8_t { always, interval, none };

struct StoreUrl {
  StoreKind kind = StoreKind::memory;
  std::string path = {};                  // journal: the directory; memory: the snapshot, if any
  UrlSync sync = UrlSync::always;         // journal:DIR?sync=interval
  std::optional<Duration> interval = {};  // journal:DIR?sync=interval&interval=250ms

  friend bool operator==(const StoreUrl&, const StoreUrl&) = default;
};

// Text without a scheme is the directory of a journal. In paths and values %XX is the byte XX, so
// that they can have ? & and %. `invalid` says what was wrong and shows how it is written.
Result<StoreUrl> parse_store_url(std::string_view text);

}  // namespace millrace
