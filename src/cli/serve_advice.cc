#include "cli/serve_advice.h"

#include <fmt/format.h>

#include "core/store_url.h"

namespace millrace::cli {

std::string listen_advice(const Error& error, const config::Settings& settings) {
  const std::string address = config::to_text(settings.listen);
  if (error.code == ErrorCode::conflict) {
    return fmt::format(
        "Another program listens there; perhaps another millrace: curl http{}://{}/health\n"
        "Stop that program, or choose another port: millrace serve --listen {}",
        settings.tls_key.empty() ? "" : "s", address,
        config::to_text({settings.listen.host,
                         static_cast<std::uint16_t>(
                             settings.listen.port == 65535 ? 7070 : settings.listen.port + 1)}));
  }
  if (settings.listen.port != 0 && settings.listen.port < 1024) {
    return "Ports below 1024 need a privilege: choose a greater one, or give the program\n"
           "CAP_NET_BIND_SERVICE.";
  }
  return "";
}

std::string store_advice(const Error& error, const config::Settings& settings) {
  if (error.code == ErrorCode::corrupt) {
    return fmt::format(
        "Nothing was changed. `millrace verify {}` shows the damage, and `millrace import` "
        "restores\n"
        "a backup; docs/operating.md says how.",
        without_password(settings.store));
  }
  // Many processes may share a database; the error names the conflict there.
  const auto url = parse_store_url(settings.store);
  const bool shared = url && url->kind == StoreKind::postgres;
  if (error.code != ErrorCode::conflict || shared) return "";
  return "One process has a store at a time. If that is a server, talk to it over HTTP:\n"
         "  millrace serve --role worker --server http://127.0.0.1:7070    works its tasks\n"
         "Or serve another store: millrace serve --store ./other";
}

Error alone_error(const config::Settings& settings) {
  return {ErrorCode::invalid, fmt::format("{} belongs to one process, which runs its own upkeep: "
                                          "there is nothing for a separate scheduler to do",
                                          without_password(settings.store))};
}

std::string alone_advice() {
  return "Run it with the role all or api, and workers beside it:\n"
         "  millrace serve --role worker --server http://127.0.0.1:7070";
}

bool too_open(const config::Settings& settings, bool guarded) {
  return !guarded && !config::is_loopback(settings.listen.host);
}

Error too_open_error(const config::Settings& settings) {
  return {
      ErrorCode::invalid,
      fmt::format(
          "other machines can reach {}, and without an API key each of them could do everything",
          config::to_text(settings.listen))};
}

std::string too_open_advice(const config::Settings& settings) {
  const bool keeps = !settings.store.starts_with("memory:");
  return fmt::format(
      "{}\nor listen on this machine only: millrace serve --listen 127.0.0.1:{}",
      keeps ? fmt::format("Create a key first: millrace keys create --store {} --name ops --scope "
                          "admin\nor set one: MILLRACE_ADMIN_KEY=$(openssl rand -hex 32)",
                          without_password(settings.store))
            : "Set one: MILLRACE_ADMIN_KEY=$(openssl rand -hex 32)",
      settings.listen.port);
}

}  // namespace millrace::cli
