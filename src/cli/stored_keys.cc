#include "cli/stored_keys.h"

#include <fmt/format.h>
#include <algorithm>

#include "access/key_book.h"
#include "cli/first_steps.h"
#include "cli/key_view.h"
#include "cli/table.h"
#include "core/quote.h"
#include "core/time_text.h"
#include "store/save.h"
#include "store/store.h"

namespace millrace::cli {
namespace {

// The same command through the server that has the store.
std::string advice(const config::Settings& settings, const std::string& command) {
  const std::string url =
      url_of({.address = settings.listen, .tls = !settings.tls_certificate.empty()});
  return fmt::format(
      "A server has the store open; that server manages its keys:\n"
      "  {} --server {}\n"
      "If it has keys already, set MILLRACE_KEY to one with the scope admin.",
      command, url);
}

// The store, if no other process has it.
class Opened {
 public:
  static std::optional<Opened> open(const StoredKeys& where, Access access, Surroundings& with,
                                    Console& console, Exit& exit) {
    const auto config = load_config(where.config, with, console);
    exit = Exit::usage;
    if (!config) return std::nullopt;
    const auto url = parse_store_url(config->settings.store);
    if (!url) {  // checked with the settings
      exit = console.fail(url.error());
      return std::nullopt;
    }
    auto store = with.host.open_store(
        *url, access,
        [&](std::uint64_t done, std::uint64_t total) { console.progress("opening", done, total); },
        [&](std::string_view warning) { console.warn(warning); });
    if (store) return Opened(std::move(*store));
    exit = store.error().code == ErrorCode::conflict
               ? console.fail(store.error(), advice(config->settings, where.instead))
               : console.fail(store.error());
    return std::nullopt;
  }

  // By id.
  Result<std::vector<Memo>> memos(TimePoint now) {
    return access::all_memos(access::memo_prefix,
                             [&](const Recall& recall) { return store_->recall(recall, now); });
  }

  Result<Memo> write(const Remember& memo, TimePoint now) {
    auto written = store_->remember(memo, now);
    if (!written) return written;
    if (auto saved = save(*store_, now); !saved) return std::unexpected(saved.error());
    return written;
  }

 private:
  explicit Opened(std::unique_ptr<Store> store) : store_(std::move(store)) {}
  std::unique_ptr<Store> store_;
};

// As soon as there is a key, every request needs one.
void warn_without_admin(Opened& store, TimePoint now, Console& console) {
  const auto memos = store.memos(now);
  if (!memos) return;
  access::KeyBook book({});
  book.replace(*memos);
  const auto keys = book.list();
  const bool managed = std::ranges::any_of(
      keys, [](const access::Key& key) { return key.about.scopes.allow(access::Scope::admin); });
  if (managed) return;
  console.warn(
      "no key has the scope admin, so the keys of a server with this store cannot be managed; "
      "create one: millrace keys create --store ... --name ops --scope admin");
}

}  // namespace

Exit create_stored_key(const StoredKeys& where, const access::KeyRequest& request,
                       Surroundings& with, Console& console) {
  Exit exit = Exit::ok;
  auto store = Opened::open(where, Access::write, with, console, exit);
  if (!store) return exit;
  const TimePoint now = with.clock.now();
  const auto made = access::make_key(request, now);
  if (!made) return console.fail(made.error());
  if (auto written = store->write(access::to_memo(made->key), now); !written) {
    return console.fail(written.error());
  }
  print_new_key(*made, with, console);
  warn_without_admin(*store, now, console);
  return Exit::ok;
}

Exit list_stored_keys(const StoredKeys& where, Surroundings& with, Console& console) {
  Exit exit = Exit::ok;
  auto store = Opened::open(where, Access::read, with, console, exit);
  if (!store) return exit;
  const auto memos = store->memos(with.clock.now());
  if (!memos) return console.fail(memos.error());
  access::KeyBook book({});
  for (const Error& error : book.replace(*memos)) console.warn(error.message);
  print_keys(book.list(), with, console);
  return Exit::ok;
}

Exit revoke_stored_key(const StoredKeys& where, const std::string& id, Surroundings& with,
                       Console& console) {
  Exit exit = Exit::ok;
  auto store = Opened::open(where, Access::write, with, console, exit);
  if (!store) return exit;
  const TimePoint now = with.clock.now();
  const auto memos = store->memos(now);
  if (!memos) return console.fail(memos.error());
  const Remember forget = access::forget_memo(id);
  if (std::ranges::find(*memos, forget.key, &Memo::key) == memos->end()) {
    console.fail({ErrorCode::not_found, fmt::format("there is no key {}", in_quotes(id))},
                 "`millrace keys list` shows the ids.");
    return Exit::missing;
  }
  if (auto written = store->write(forget, now); !written) return console.fail(written.error());
  console.say(fmt::format("revoked the key {}", id));
  return Exit::ok;
}

}  // namespace millrace::cli
