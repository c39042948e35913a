// How to get to a server.
#pragma once

#include <millrace/time.h>
#include <chrono>
#include <functional>
#include <string>

namespace millrace::postgres {

struct Notice {
  std::string severity;  // WARNING, NOTICE, ...
  std::string state;
  std::string message;
};

struct ConnectOptions {
  // What libpq understands: postgres://user:password@host:port/database?sslmode=verify-full, with
  // all its other settings, environment variables and files. Its connect_timeout, application_name
  // and keepalives override those given here.
  std::string url = {};
  std::string application_name = "millrace";
  std::string schema = "millrace";  // see schema.h
  // For each address that the URL names; libpq counts whole seconds, and 2 at least.
  Duration connect_timeout = std::chrono::seconds(5);
  // How long the server may be silent while something is expected of it; then the connection is
  // dropped. Never less than 5 s after the statement timeout of the transaction, if it has one.
  Duration answer_timeout = std::chrono::seconds(30);
  // For each statement, unless the transaction says otherwise; zero: the server's setting.
  Duration statement_timeout = Duration::zero();
  // False: each statement is sent with its text each time. For poolers that share sessions, such as
  // PgBouncer in transaction mode; a connection that finds itself behind one switches by itself.
  bool prepare = true;
  // True: of several addresses, the first that takes writes is used, unless the URL says otherwise
  // (target_session_attrs); false: any.
  bool writes = true;
  // Receives the server's warnings and notices, on the thread that uses the connection.
  std::function<void(const Notice&)> notice = {};
};

}  // namespace millrace::postgres
