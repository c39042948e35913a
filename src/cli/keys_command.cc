// `millrace keys`: keys of a server, or of a store that no server has open.
#include <fmt/format.h>

#include "access/key_text.h"
#include "cli/commands.h"
#include "cli/flag_values.h"
#include "cli/key_view.h"
#include "cli/session.h"
#include "cli/stored_keys.h"
#include "core/quote.h"
#include "core/time_text.h"

namespace millrace::cli {
namespace {

struct Options {
  ServerOptions server = {};
  ConfigOptions config = {};  // if a store is named, it is opened here
  std::string name = {};
  std::vector<std::string> scopes = {};
  std::vector<std::string> queues = {};
  std::string expires = {};  // a moment or a duration
  std::string rate = {};
  std::string id = {};  // of the key to revoke
  bool yes = false;
  bool force = false;

  bool stored() const { return !config.file.empty() || !config.flags.empty(); }
};

Result<access::KeyRequest> request_of(const Options& options, TimePoint now) {
  access::KeyRequest request{.name = options.name, .queues = options.queues};
  for (const std::string& each : options.scopes) {
    const auto scope = access::scope_from_name(each);
    if (!scope) return std::unexpected(scope.error());
    request.scopes.add(*scope);
  }
  if (!options.expires.empty()) {
    const auto until = moment_of("--expires", options.expires, now);
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

// A word quoted for a shell.
std::string shell_word(std::string_view word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,@=";
  if (!word.empty() && word.find_first_not_of(plain) == word.npos) return std::string(word);
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

// The same command without its store.
std::string creating(const Options& options) {
  std::string text =
      fmt::format("millrace keys create --name {} --scope {}", shell_word(options.name),
                  shell_word(fmt::format("{}", fmt::join(options.scopes, ","))));
  for (const std::string& each : options.queues) text += " --queue " + shell_word(each);
  if (!options.expires.empty()) text += " --expires " + shell_word(options.expires);
  if (!options.rate.empty()) text += " --rate " + shell_word(options.rate);
  return text;
}

// Adds how to create keys for a store that no server has open.
Exit tell(const Error& error, Session& session) {
  const Exit exit = session.fail(error);
  if (exit == Exit::unreachable) {
    session.console().say("For a store that no server has open, create keys with --store DIR.");
  }
  return exit;
}

Exit create_on(const Options& options, Session& session) {
  const auto request = request_of(options, session.now());
  if (!request) return misused(request.error(), session.console(), "keys create");
  const auto key = session.ask<access::MadeKey>(&HttpBroker::create_key, *request);
  if (!key) return tell(key.error(), session);
  if (session.json()) {
    session.print_json(access::text_of(*key));
  } else {
    print_new_key(*key, session.with(), session.console());
  }
  return Exit::ok;
}

Exit list_on(const Options&, Session& session) {
  const auto keys = session.ask<std::vector<access::Key>>(&HttpBroker::keys);
  if (!keys) return tell(keys.error(), session);
  if (session.json()) {
    session.print_json(access::text_of(*keys));
  } else {
    print_keys(*keys, session.with(), session.console());
  }
  return Exit::ok;
}

// Programs that use the key stop working, and revoking cannot be undone.
std::optional<Exit> revoke_refused(const Options& options, const Surroundings& with,
                                   Console& console) {
  if (options.yes) return std::nullopt;
  return unless_agreed(with, console, fmt::format("Revoke the key {} permanently?", options.id),
                       fmt::format("this revokes the key {} permanently", options.id));
}

Exit revoke_on(const Options& options, Session& session) {
  if (const auto no = revoke_refused(options, session.with(), session.console())) return *no;
  const auto done = session.ask<void>(&HttpBroker::revoke_key, options.id, options.force);
  if (!done && done.error().code == ErrorCode::not_found) {
    return session.fail_missing(done.error(), "`millrace keys list` shows the ids.");
  }
  if (!done && done.error().code == ErrorCode::conflict) {
    return session.console().fail(done.error(),
                                  "`millrace keys revoke --force` revokes it anyway.");
  }
  if (!done) return tell(done.error(), session);
  if (session.json()) {
    session.print_done("id", options.id, "revoked");
  } else {
    session.console().say(fmt::format("revoked the key {}", options.id));
  }
  return Exit::ok;
}

using Doing = Exit (*)(const Options&, Session&);
using StoredDoing = std::function<Exit(const StoredKeys&, Surroundings&, Console&)>;

// Runs on the store if one was named, else on the server.
void does(Command& command, const std::shared_ptr<Options>& options, Doing on_server,
          const std::function<std::string()>& instead, const StoredDoing& on_store) {
  takes_store(command, options->config);
  takes_session(command, options->server);
  command.does([=](Surroundings& with, Console& console) {
    if (!options->stored()) return in_session(options, on_server)(with, console);
    if (options->server.json || !options->server.server.empty()) {
      return misused({ErrorCode::invalid, "--server and --json ask a server; leave --store out"},
                     console, "keys");
    }
    return on_store({.config = options->config, .instead = instead()}, with, console);
  });
}

void add_create(Command& keys, const std::shared_ptr<Options>& options) {
  auto& create = keys.add("create", "Create a key and print it; it is shown only once");
  create.value("--name", options->name, "TEXT", "A name that says who uses it")
      .required()
      .list("--scope", options->scopes, "put|work|read|admin",
            "What it may do; admin is everything; separate several with commas")
      .required()
      .list("--queue", options->queues, "PATTERN",
            "Only these queues; * stands for anything, as in 'shop.*'")
      .value("--expires", options->expires, "WHEN", "How long it is valid (90d), or until when")
      .value("--rate", options->rate, "N/DURATION", "Most requests per time: 100/1s")
      .example("KEY=$(millrace keys create --name ci --scope put,read)")
      .example("millrace keys create --store ./data --name ops --scope admin",
               "before the first start");
  does(
      create, options, create_on, [options] { return creating(*options); },
      [options](const StoredKeys& where, Surroundings& with, Console& console) {
        const auto request = request_of(*options, with.clock.now());
        if (!request) return misused(request.error(), console, "keys create");
        return create_stored_key(where, *request, with, console);
      });
}

}  // namespace

void add_keys(Command& millrace) {
  auto options = std::make_shared<Options>();
  auto& keys = millrace.add("keys", "Create, list and revoke API keys");
  keys.explain(
          "These commands ask the server. With --store they open a store that no server has open,\n"
          "which is how the first key is created.")
      .example("millrace keys create --name ops --scope admin")
      .example("millrace keys create --name shop --scope put,read --queue 'shop.*' --expires 90d")
      .example("millrace keys list")
      .example("millrace keys revoke 0123456789abcdef");
  add_create(keys, options);
  auto& list = keys.add("list", "List keys: id, scopes, queues, rate, end, name");
  list.example("millrace keys list").example("millrace keys list --store ./data");
  does(list, options, list_on, [] { return std::string("millrace keys list"); }, list_stored_keys);
  auto& revoke = keys.add("revoke", "Revoke a key");
  revoke.word("ID", options->id, "Its id, as `keys list` shows it")
      .flag("-y,--yes", options->yes, "Do not ask")
      .flag("-f,--force", options->force,
            "Also revoke the last key with the scope admin, without which the server cannot be "
            "managed")
      .example("millrace keys revoke 0123456789abcdef")
      .example("millrace keys revoke 0123456789abcdef --store ./data --yes");
  does(
      revoke, options, revoke_on,
      [options] {
        return fmt::format("millrace keys revoke {}{}", shell_word(options->id),
                           options->yes ? " --yes" : "");
      },
      [options](const StoredKeys& where, Surroundings& with, Console& console) {
        if (const auto no = revoke_refused(*options, with, console)) return *no;
        return revoke_stored_key(where, options->id, with, console);
      });
}

}  // namespace millrace::cli
