// Which store, as text: memory:, memory:?snapshot=FILE, journal:DIR, just a directory, or
// postgres://USER@HOST/DATABASE.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

enum class StoreKind : std::uint8_t { memory, journal, postgres };

enum class UrlSync : std::uint8_t { always, interval, none };

struct StoreUrl {
  StoreKind kind = StoreKind::memory;
  std::string path = {};                  // journal: the directory; memory: the snapshot, if any
  UrlSync sync = UrlSync::always;         // journal:DIR?sync=interval
  std::optional<Duration> interval = {};  // journal:DIR?sync=interval&interval=250ms

  // postgres://HOST/DATABASE?schema=jobs: the URL for libpq, without our own options.
  std::string server = {};
  std::string schema = "millrace";
  std::string listen_url = {};  // for notifications, where the URL leads through a pooler
  bool prepare = true;          // prepare=off
  bool migrate = true;          // migrate=off
  bool vacuum = true;           // vacuum=off
  std::uint32_t readers = 2;    // readers=4: sessions that only read
  Duration wait = std::chrono::seconds(30);  // wait=1m: for a database that is not there yet

  friend bool operator==(const StoreUrl&, const StoreUrl&) = default;
};

// Text without a scheme is the directory of a journal. In paths and values %XX is the byte XX, so
// that they can have ? & and %. `invalid` says what was wrong and shows how it is written.
// Only our own options of postgres:// are checked here; libpq reads the rest when the store is
// opened. Messages contain no passwords.
Result<StoreUrl> parse_store_url(std::string_view text);

// The URL as it may be shown: *** for passwords, also in a URL that is wrong. Everything that
// prints the URL of a store prints this.
std::string without_password(std::string_view url);

}  // namespace millrace
