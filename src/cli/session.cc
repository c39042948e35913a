#include "cli/session.h"

#include <fmt/format.h>
#include <fstream>

#include "api/wire/text_writer.h"
#include "cli/ages.h"
#include "cli/display.h"
#include "core/nearest.h"
#include "core/quote.h"

namespace millrace::cli {
namespace {

constexpr std::string_view usual_url = "http://127.0.0.1:7070";

// The first line of a file; a key is never an argument, which every user of the machine could read.
Result<std::string> key_in(const std::string& file) {
  std::ifstream stream(file);
  std::string key;
  if (!std::getline(stream, key) || key.empty()) {
    return fail(ErrorCode::invalid, fmt::format("{} holds no key, or cannot be read", file));
  }
  return key;
}

// "mr_0123456789abcdef" of a key: its id is not a secret.
std::string shown_key(const std::string& key) {
  const std::size_t end = key.starts_with("mr_") ? key.find('_', 3) : key.npos;
  return end == key.npos ? "" : " " + key.substr(0, end);
}

}  // namespace

void takes_server(Command& command, ServerOptions& options) {
  command.group("Server")
      .value("--server", options.server, "URL",
             "The server (else MILLRACE_URL, else http://127.0.0.1:7070)")
      .value("--key-file", options.key_file, "FILE", "A file with the API key (else MILLRACE_KEY)")
      .value("--ca-file", options.ca_file, "FILE",
             "The certificate of a private authority to trust (else MILLRACE_CA_FILE, else "
             "SSL_CERT_FILE)")
      .group("");
}

void takes_session(Command& command, ServerOptions& options) {
  command.flag("--json", options.json, "Print what the API answers, for programs");
  takes_server(command, options);
}

bool is_server(std::string_view place) {
  return place.starts_with("http://") || place.starts_with("https://");
}

Result<ServerAddress> address_of(const ServerOptions& options, const Surroundings& with) {
  ServerAddress address{
      .url = options.server, .key = variable(with, "MILLRACE_KEY"), .key_origin = "MILLRACE_KEY"};
  if (address.url.empty()) address.url = variable(with, "MILLRACE_URL");
  if (address.url.empty()) address.url = usual_url;
  address.ca_file = options.ca_file;
  for (const char* name : {"MILLRACE_CA_FILE", "SSL_CERT_FILE"}) {
    if (address.ca_file.empty()) address.ca_file = variable(with, name);
  }
  if (options.key_file.empty()) return address;
  auto key = key_in(options.key_file);
  if (!key) return std::unexpected(std::move(key.error()));
  address.key = std::move(*key);
  address.key_origin = options.key_file;
  return address;
}

std::unique_ptr<Session> Session::open(const ServerOptions& options, Surroundings& with,
                                       Console& console) {
  std::unique_ptr<Session> session(new Session(with, console));
  auto address = address_of(options, with);
  if (!address) {
    console.fail(address.error());
    return nullptr;
  }
  auto broker = HttpBroker::open(with.clock, {.url = address->url,
                                              .key = address->key,
                                              .timeout = options.timeout,
                                              .ca_file = address->ca_file});
  if (!broker) {
    console.fail(broker.error(), options.server.empty()
                                     ? "The address comes from the variable MILLRACE_URL."
                                     : "Write --server http://HOST:PORT.");
    return nullptr;
  }
  session->address_ = std::move(*address);
  session->broker_ = std::move(*broker);
  session->json_ = options.json;
  if (!options.server.empty()) session->server_flag_ = " --server " + options.server;
  return session;
}

// ---- Advice ----

std::string Session::unreachable_advice() const {
  if (address_.url == usual_url) {
    return "Start a server with `millrace serve`, or name one: --server URL or MILLRACE_URL.";
  }
  return fmt::format(
      "Is a server running at {}, and may this machine reach it?\n"
      "Name another with --server URL or MILLRACE_URL; `millrace serve` starts one here.",
      address_.url);
}

std::string Session::denied_advice(int status) const {
  if (address_.key.empty()) {
    return "No key was sent. Set MILLRACE_KEY, or name a file that holds one: --key-file FILE.";
  }
  if (status == 401) {
    return fmt::format("The key{} from {} is not known to this server, or has expired.",
                       shown_key(address_.key), address_.key_origin);
  }
  return fmt::format(
      "The key{} from {} lacks the scope or the queue for this; `millrace keys list` shows what\n"
      "each key may do.",
      shown_key(address_.key), address_.key_origin);
}

std::string in_words_of_flags(std::string message) {
  constexpr std::string_view of_the_api = "?queue=";
  const std::size_t at = message.find(of_the_api);
  if (at != message.npos) message.replace(at, of_the_api.size(), "--queue QUEUE");
  return message.ends_with("name one") ? message + " with --queue QUEUE" : message;
}

Exit Session::fail(const Error& as_sent) {
  Error error = as_sent;
  error.message = in_words_of_flags(std::move(error.message));
  const int status = broker_->last_status();
  if (error.code == ErrorCode::unavailable && status == 0) {
    if (error.untrusted) {
      console_.fail(error);  // it was reached
    } else {
      console_.fail(error, unreachable_advice());
    }
    return Exit::unreachable;
  }
  if (status == 401 || status == 403) {
    // The message already names --queue, so it needs no advice.
    if (error.message.contains("--queue QUEUE")) {
      console_.fail(error);
    } else {
      console_.fail(error, denied_advice(status));
    }
    return Exit::denied;
  }
  if (error.code == ErrorCode::not_found) {
    console_.fail(error);
    return Exit::missing;
  }
  if (error.code == ErrorCode::limited && error.retry_after) {
    return console_.fail(error, fmt::format("Try again in {}.", brief(*error.retry_after)));
  }
  return console_.fail(error);
}

Exit Session::fail(const Error& error, std::string_view queue) {
  // A field in which tasks are named says that one of those is missing, and not the queue.
  if (error.code != ErrorCode::not_found || error.field.contains("after.")) return fail(error);
  console_.fail(error);
  const auto all = ask<std::vector<QueueView>>(&HttpBroker::queues, std::optional<QueueRef>{});
  if (!all) return Exit::missing;
  if (all->empty()) {
    console_.say("This server has no queues yet; `millrace queues create NAME` creates one.");
    return Exit::missing;
  }
  std::vector<std::string_view> names;
  for (const QueueView& each : *all) names.emplace_back(each.queue.settings.name);
  console_.say(all_or_nearest(queue, names, "millrace queues"));
  return Exit::missing;
}

void Session::print_json(std::string_view text) {
  with_.out << (with_.out_terminal ? harmless_json(text) : std::string(text)) << '\n';
}

void Session::print_done(std::string_view field, const std::string& name, std::string_view done) {
  std::string text;
  wire::TextWriter writer(text);
  writer(field, name), writer(done, true);
  writer.close();
  print_json(text);
}

void Session::print_result(std::string_view bytes) {
  if (!with_.out_terminal) {
    with_.out << bytes;
    return;
  }
  with_.out << harmless(bytes) << (bytes.ends_with('\n') ? "" : "\n");
}

Exit Session::fail_missing(const Error& error, std::string_view what_to_do) {
  if (error.code != ErrorCode::not_found) return fail(error);
  console_.fail(error, what_to_do);
  return Exit::missing;
}

Exit tell_store_error(const Error& error, std::string_view instead, const Surroundings& with,
                      Console& console) {
  const auto address = address_of({}, with);
  if (error.code != ErrorCode::conflict || !address) return console.fail(error);
  return console.fail(error, fmt::format("If a server has it open, ask that server: millrace {}",
                                         fmt::format(fmt::runtime(instead), address->url)));
}

std::string all_or_nearest(std::string_view word, const std::vector<std::string_view>& names,
                           std::string_view lists_all) {
  const std::string_view meant = near_enough(word, names);
  return meant.empty() ? fmt::format("`{}` lists all.", lists_all)
                       : fmt::format("The nearest is {}; `{}` lists all.", meant, lists_all);
}

std::optional<Exit> unless_agreed(const Surroundings& with, Console& console,
                                  std::string_view question, std::string_view would) {
  if (!with.in_terminal) {
    console.fail({ErrorCode::invalid, std::string(would)}, "Add --yes to confirm.");
    return Exit::usage;
  }
  if (console.asks(question, with.in)) return std::nullopt;
  console.say("Nothing was changed.");
  return Exit::failed;
}

Exit misused(const Error& error, Console& console, std::string_view command) {
  console.fail(error, fmt::format("Try: millrace {} --help", command));
  return Exit::usage;
}

}  // namespace millrace::cli
