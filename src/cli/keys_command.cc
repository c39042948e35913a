// Keys of a store that no server has open. Of one that a server serves, the server takes care.
#include <fmt/format.h>
#include <algorithm>

#include "access/key_book.h"
#include "cli/commands.h"
#include "cli/settings_flags.h"
#include "core/quote.h"
#include "core/time_text.h"
#include "store/save.h"

namespace millrace::cli {
namespace {

struct KeysOptions {
  ConfigOptions config = {};
  std::string name = {};
  std::vector<std::string> scopes = {};
  std::vector<std::string> queues = {};
  std::string expires = {};  // a moment or a duration
  std::string rate = {};
  std::string id = {};  // of the key to revoke
};

// A moment, or how long from now.
Result<TimePoint> expiry(const std::string& text, TimePoint now) {
  if (const auto duration = parse_duration(text)) return later(now, *duration);
  if (const auto moment = parse_time(text)) return *moment;
  return fail(ErrorCode::invalid,
              fmt::format("--expires is {}; write how long it lasts (90d, 12h) or until when "
                          "(2027-01-31T00:00:00Z)",
                          in_quotes(text)));
}

Result<access::KeyRequest> request_of(const KeysOptions& options, TimePoint now) {
  access::KeyRequest request{.name = options.name, .queues = options.queues};
  for (const std::string& each : options.scopes) {
    const auto scope = access::scope_from_name(each);
    if (!scope) return std::unexpected(scope.error());
    request.scopes.add(*scope);
  }
  if (!options.expires.empty()) {
    const auto until = expiry(options.expires, now);
    if (!until) return std::unexpected(until.error());
    request.expires = *until;
  }
  if (!options.rate.empty()) {
    const auto rate = access::parse_rate(options.rate);
    if (!rate) return std::unexpected(rate.error());
    request.rate = *rate;
  }
  if (auto ok = access::validate(request, now); !ok) return std::unexpected(ok.error());
  return request;
}

// `'` inside single quotes of a shell, `"` inside those of JSON.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out;
}

std::string list(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& each : texts) {
    out += fmt::format("{}\"{}\"", out.empty() ? "" : ",", escaped(each));
  }
  return out;
}

std::string body_of(const KeysOptions& options, const access::KeyRequest& request) {
  std::string body =
      fmt::format(R"({{"name":"{}","scopes":[{}])", escaped(options.name), list(options.scopes));
  if (!options.queues.empty()) body += fmt::format(R"(,"queues":[{}])", list(options.queues));
  if (request.expires) body += fmt::format(R"(,"expires":"{}")", format_time(*request.expires));
  if (request.rate) {
    body += fmt::format(R"(,"rate":{{"max":{},"per_ms":{}}})", request.rate->max,
                        request.rate->per.count());
  }
  return body + "}";
}

// The same through the server that has the store.
std::string curl(const config::Settings& settings, std::string_view method, std::string_view path,
                 const std::string& body) {
  const bool tls = !settings.tls_certificate.empty();
  return fmt::format(
      "A server has it, and takes care of its keys as well:\n"
      "  curl -X {} {}://{}/v1/keys{}{}\n"
      "and, if it has keys already, -H 'Authorization: Bearer mr_...' with one that may do all.",
      method, tls ? "https" : "http", config::to_text(settings.listen), path,
      body.empty() ? ""
                   : fmt::format(" \\\n    -H 'Content-Type: application/json' -d '{}'", body));
}

// The store, if nobody else has it. What to do instead goes along with the error.
class Opened {
 public:
  static std::optional<Opened> open(const config::Config& config, Access access,
                                    const std::string& instead, Surroundings& with,
                                    Console& console, Exit& exit) {
    const auto url = parse_store_url(config.settings.store);
    if (!url) {  // checked with the settings
      exit = console.fail(url.error());
      return std::nullopt;
    }
    auto store = with.open_store(
        *url, access,
        [&](std::uint64_t done, std::uint64_t total) { console.progress("opening", done, total); },
        [&](std::string_view notice) { console.warn(notice); });
    if (store) return Opened(std::move(*store));
    exit = store.error().code == ErrorCode::conflict ? console.fail(store.error(), instead)
                                                     : console.fail(store.error());
    return std::nullopt;
  }

  // By id.
  Result<std::vector<Memo>> memos(TimePoint now) {
    return access::all_key_memos([&](const Recall& recall) { return store_->recall(recall, now); });
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

std::string shown(const std::vector<std::string>& queues) {
  std::string text;
  for (const std::string& each : queues) text += (text.empty() ? "" : " ") + each;
  return text.empty() ? "*" : text;
}

Exit create_key(const KeysOptions& options, Surroundings& with, Console& console) {
  const auto config = load_config(options.config, with, console);
  if (!config) return Exit::usage;
  const TimePoint now = with.clock.now();
  const auto request = request_of(options, now);
  if (!request) {
    console.fail(request.error());
    return Exit::usage;
  }
  Exit exit = Exit::ok;
  auto store = Opened::open(*config, Access::write,
                            curl(config->settings, "POST", "", body_of(options, *request)), with,
                            console, exit);
  if (!store) return exit;
  const auto made = access::make_key(*request, now);
  if (!made) return console.fail(made.error());
  if (auto written = store->write(access::to_memo(made->key), now); !written) {
    return console.fail(written.error());
  }
  // Alone on standard output, so that KEY=$(millrace keys create ...) works.
  with.out << made->text << '\n' << std::flush;
  console.say(fmt::format("made the key {} ({}) with {}{}; it is shown this once", made->key.id,
                          options.name, access::to_text(request->scopes),
                          request->expires ? " until " + format_time(*request->expires) : ""));
  return Exit::ok;
}

Exit list_keys(const KeysOptions& options, Surroundings& with, Console& console) {
  const auto config = load_config(options.config, with, console);
  if (!config) return Exit::usage;
  Exit exit = Exit::ok;
  auto store = Opened::open(*config, Access::read, curl(config->settings, "GET", "", ""), with,
                            console, exit);
  if (!store) return exit;
  const TimePoint now = with.clock.now();
  const auto memos = store->memos(now);
  if (!memos) return console.fail(memos.error());
  access::KeyBook book({});
  for (const Error& error : book.replace(*memos)) console.warn(error.message);
  const auto keys = book.list();
  for (const access::Key& key : keys) {
    with.out << fmt::format(
        "{}  {:<10}  {:<16}  {:<10}  {:<24}  {}\n", key.id, access::to_text(key.about.scopes),
        shown(key.about.queues), key.about.rate ? access::to_text(*key.about.rate) : "-",
        key.about.expires ? (key.expired(now) ? "expired" : format_time(*key.about.expires)) : "-",
        key.about.name);
  }
  console.say(counted(keys.size(), "key", "keys"));
  return Exit::ok;
}

Exit revoke_key(const KeysOptions& options, Surroundings& with, Console& console) {
  const auto config = load_config(options.config, with, console);
  if (!config) return Exit::usage;
  Exit exit = Exit::ok;
  auto store = Opened::open(*config, Access::write,
                            curl(config->settings, "DELETE", "/" + escaped(options.id), ""), with,
                            console, exit);
  if (!store) return exit;
  const TimePoint now = with.clock.now();
  const auto memos = store->memos(now);
  if (!memos) return console.fail(memos.error());
  const Remember forget = access::forget_memo(options.id);
  if (std::ranges::find(*memos, forget.key, &Memo::key) == memos->end()) {
    return console.fail(
        {ErrorCode::not_found, fmt::format("there is no key {}", in_quotes(options.id))},
        "`millrace keys list` shows the ids.");
  }
  if (auto written = store->write(forget, now); !written) return console.fail(written.error());
  console.say(fmt::format("revoked the key {}", options.id));
  return Exit::ok;
}

void takes_key(Command& command, KeysOptions& options) {
  command.value("--name", options.name, "TEXT", "Whose it is, for people")
      .required()
      .list("--scope", options.scopes, "SCOPE",
            "What it may do: put, work, read, admin (everything); several with commas")
      .required()
      .list("--queue", options.queues, "PATTERN",
            "Only these queues; * stands for anything, as in 'shop.*'")
      .value("--expires", options.expires, "WHEN", "How long it lasts (90d), or until when")
      .value("--rate", options.rate, "N/DURATION", "How many requests in how long: 100/1s");
}

}  // namespace

void add_keys(Command& millrace) {
  auto options = std::make_shared<KeysOptions>();
  auto& keys = millrace.add("keys", "Make, list and revoke API keys");
  keys.explain(
          "These work on a store that no server has open; of one that is served, /v1/keys takes\n"
          "care.")
      .example("millrace keys create --name ops --scope admin")
      .example("millrace keys create --name shop --scope put,read --queue 'shop.*' --expires 90d")
      .example("millrace keys list")
      .example("millrace keys revoke 0123456789abcdef");
  auto& create = keys.add("create", "Make a key and print it, this once");
  takes_store(create, options->config);
  takes_key(create, *options);
  create.example("KEY=$(millrace keys create --store ./data --name ci --scope put,read)")
      .does([options](Surroundings& with, Console& console) {
        return create_key(*options, with, console);
      });
  auto& list = keys.add("list", "List keys: id, scopes, queues, rate, end, name");
  takes_store(list, options->config);
  list.example("millrace keys list --store ./data")
      .does([options](Surroundings& with, Console& console) {
        return list_keys(*options, with, console);
      });
  auto& revoke = keys.add("revoke", "Make a key useless");
  revoke.word("ID", options->id, "Its id, as `keys list` shows it");
  takes_store(revoke, options->config);
  revoke.example("millrace keys revoke 0123456789abcdef --store ./data")
      .does([options](Surroundings& with, Console& console) {
        return revoke_key(*options, with, console);
      });
}

}  // namespace millrace::cli
