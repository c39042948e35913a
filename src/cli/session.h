// A command's session with a server: its address, its key, and the messages when something goes
// wrong.
#pragma once

#include <millrace/result.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/client/http_broker.h"
#include "broker/wait_for_answer.h"
#include "cli/command.h"
#include "cli/look.h"
#include "cli/table.h"

namespace millrace::cli {

struct ServerOptions {
  std::string server = {};    // empty: MILLRACE_URL, or this machine's
  std::string key_file = {};  // empty: MILLRACE_KEY
  bool json = false;
  Duration timeout = std::chrono::seconds(30);  // of every call
  std::string ca_file = {};                     // empty: MILLRACE_CA_FILE, then SSL_CERT_FILE
};

// --server, --key-file and --ca-file.
void takes_server(Command& command, ServerOptions& options);
// These and --json.
void takes_session(Command& command, ServerOptions& options);

struct ServerAddress {
  std::string url = {};
  std::string key = {};         // empty: none
  std::string key_origin = {};  // for people: MILLRACE_KEY, or the file
  std::string ca_file = {};     // empty: the system's authorities
};
Result<ServerAddress> address_of(const ServerOptions& options, const Surroundings& with);

// http://... or https://...: a server, where a store may be named as well.
bool is_server(std::string_view place);

class Session {
 public:
  // Does not connect yet. Null: prints what is wrong.
  static std::unique_ptr<Session> open(const ServerOptions& options, Surroundings& with,
                                       Console& console);

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  HttpBroker& broker() { return *broker_; }
  Console& console() { return console_; }
  Surroundings& with() { return with_; }
  std::ostream& out() { return with_.out; }
  TimePoint now() { return with_.clock.now(); }
  bool json() const { return json_; }
  // Of standard output, as it is now.
  Look look() const { return look_of(with_); }
  const ServerAddress& address() const { return address_; }
  // " --server URL" if another than the usual one was named: for commands in messages.
  std::string server_flag() const { return server_flag_; }

  // Calls a verb of the broker and waits: ask<Task>(&HttpBroker::find, id).
  template <class T, class Verb, class... Arguments>
  Result<T> ask(Verb verb, Arguments... arguments) {
    return wait_for_answer<T>([&](Completion<T> done) {
      (broker_.get()->*verb)(Ask{}, std::move(arguments)..., std::move(done));
    });
  }

  // Prints "error: ..." with advice, and returns the exit code.
  Exit fail(const Error& error);
  // The same for an error about that queue: suggests the nearest name for an unknown one.
  Exit fail(const Error& error, std::string_view queue);
  // For other things that do not exist, with how to find those that do.
  Exit fail_missing(const Error& error, std::string_view what_to_do);

  // As one line. Nothing that a terminal would act on is printed, here and below.
  void print_json(std::string_view text);
  // The result of a task, byte for byte if a program reads it.
  void print_result(std::string_view bytes);
  // {"name":"emails","removed":true}, if the API has no body.
  void print_done(std::string_view field, const std::string& name, std::string_view done);
  void print(const Table& table) { with_.out << table.text(look()); }
  void print(const Sheet& sheet) { with_.out << sheet.text(look()); }

 private:
  Session(Surroundings& with, Console& console) : with_(with), console_(console) {}
  std::string unreachable_advice() const;
  std::string denied_advice(int status) const;

  Surroundings& with_;
  Console& console_;
  ServerAddress address_;
  std::string server_flag_;
  bool json_ = false;
  std::unique_ptr<HttpBroker> broker_;
};

// For a store that cannot be opened; if a server has it, names the command that asks that server,
// with its address for {}.
Exit tell_store_error(const Error& error, std::string_view instead, const Surroundings& with,
                      Console& console);

// A server's message about its API in terms of flags: --queue for ?queue=.
std::string in_words_of_flags(std::string message);

// Asks before what cannot be undone ("Cancel 3 tasks?"); without a terminal, --yes is required, and
// the message says what it `would` do ("this would cancel 3 tasks"). Nothing: go on.
std::optional<Exit> unless_agreed(const Surroundings& with, Console& console,
                                  std::string_view question, std::string_view would);

// "The nearest is emails; `millrace queues` lists all.", without the first part if none is near.
std::string all_or_nearest(std::string_view word, const std::vector<std::string_view>& names,
                           std::string_view lists_all);

// An error in the arguments, whatever the server says.
Exit misused(const Error& error, Console& console, std::string_view command);

// The action of a command over HTTP: opens the session and runs `doing` in it.
template <class Options>
Command::Doing in_session(const std::shared_ptr<Options>& options,
                          Exit (*doing)(const Options& options, Session& session)) {
  return [options, doing](Surroundings& with, Console& console) {
    auto session = Session::open(options->server, with, console);
    return session ? doing(*options, *session) : Exit::usage;
  };
}

}  // namespace millrace::cli
