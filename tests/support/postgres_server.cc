#include "tests/support/postgres_server.h"

#include <fmt/format.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace millrace::test {
namespace {

namespace fs = std::filesystem;

// The newest version that Debian has. psql asks its own users to say which.
std::string postgres_programs() {
  fs::path found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", none)) {
    if (fs::exists(entry.path() / "bin/initdb") && entry.path() > found) found = entry.path();
  }
  if (found.empty()) {
    throw std::runtime_error(
        "there is no PostgreSQL under /usr/lib/postgresql (package postgresql)");
  }
  return found / "bin/";
}

void init_cluster(const std::string& data, Account account) {
  run_child({postgres_programs() + "initdb", "-D", data, "-A", "trust", "-U", "postgres",
             "--no-locale", "-E", "UTF8", "--no-sync"},
            account);
}

void write_file(const std::string& path, std::string_view text) {
  std::ofstream(path) << text;
}

}  // namespace

ClusterTemplate::ClusterTemplate() {
  const Account account = Account::for_postgres();
  account.own(directory_.path());
  init_cluster(data(), account);
}

std::vector<std::pair<std::string, std::string>> quick_settings() {
  return {{"fsync", "off"},
          {"autovacuum", "off"},
          {"shared_buffers", "32MB"},
          {"max_wal_size", "256MB"},
          {"max_parallel_workers", "0"},
          {"max_logical_replication_workers", "0"}};
}

PostgresServer::PostgresServer(PostgresOptions options)
    : options_(std::move(options)), programs_(postgres_programs()) {
  account_.own(directory_.path());
  make_cluster();
  // Another program may take the port in between.
  std::string why;
  for (int attempt = 0; attempt < 5; ++attempt) {
    port_ = free_loopback_port();
    if (started(why)) return;
    if (why.find("could not bind") == std::string::npos) break;
  }
  throw std::runtime_error("PostgreSQL does not start: " + why);
}

PostgresServer::~PostgresServer() {
  // An immediate shutdown: what the server would still write will not be read.
  if (process_) process_->stop(SIGQUIT);
}

void PostgresServer::make_cluster() {
  const std::string data = directory_ / "data";
  if (options_.standby_of != nullptr) {
    run_child({programs_ + "pg_basebackup", "-d", options_.standby_of->url(), "-D", data, "-R",
               "-c", "fast", "--no-sync"},
              account_);
  } else if (options_.copy_of != nullptr) {
    run_child({"/bin/cp", "-a", options_.copy_of->data(), data}, account_);
  } else {
    init_cluster(data, account_);
  }
  if (options_.tls) {
    run_child({"/usr/bin/openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30",
               "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
               data + "/server.key", "-out", data + "/server.crt"},
              account_);
    fs::permissions(data + "/server.key", fs::perms::owner_read);
    options_.settings.emplace_back("ssl", "on");
  }
  std::string rules;
  for (const std::string& line : options_.authentication) rules += line + "\n";
  write_file(data + "/pg_hba.conf", rules + text_of_file(data + "/pg_hba.conf"));
}

bool PostgresServer::started(std::string& why) {
  std::vector<std::string> words{programs_ + "postgres",      "-D", directory_ / "data",      "-k",
                                 directory_.path(),           "-p", fmt::format("{}", port_), "-c",
                                 "listen_addresses=127.0.0.1"};
  for (const auto& [name, value] : options_.settings) {
    words.insert(words.end(), {"-c", fmt::format("{}={}", name, value)});
  }
  const std::string log = directory_ / "log";
  const std::size_t before = text_of_file(log).size();
  process_ = std::make_unique<Child>(std::move(words), account_, log, SIGQUIT);
  for (int tick = 0; tick < 6000; ++tick) {
    if (process_->ended_within(10)) break;
    const std::string state = text_of_file(directory_ / "data/postmaster.pid");
    // The file of a killed server may still be there.
    if (state.starts_with(fmt::format("{}\n", process_->pid())) &&
        state.find("\nready") != std::string::npos) {
      return true;
    }
  }
  process_.reset();
  why = text_of_file(log).substr(before);
  return false;
}

void PostgresServer::start() {
  if (process_ && process_->running()) return;
  std::string why;
  for (int attempt = 0; attempt < 100; ++attempt) {
    if (started(why)) return;
    // Sessions of a killed server end when they notice it.
    if (why.find("pre-existing shared memory block") == std::string::npos) break;
  }
  throw std::runtime_error("PostgreSQL does not start: " + why);
}

void PostgresServer::stop() {
  if (process_) process_->stop(SIGINT);
  process_.reset();
}

void PostgresServer::kill_postmaster() {
  process_.reset();
}

void PostgresServer::promote() const {
  run_child({programs_ + "pg_ctl", "promote", "-w", "-D", directory_ / "data"}, account_);
}

void PostgresServer::demote() {
  stop();
  const std::string sign = directory_ / "data/standby.signal";
  write_file(sign, "");
  account_.own(sign);
  start();
}

void PostgresServer::set_read_only(bool read_only) const {
  const char* value = read_only ? "on" : "off";
  run_sql(fmt::format("alter system set default_transaction_read_only = {}", value));
  run_sql("select pg_reload_conf()");
  while (run_sql("show default_transaction_read_only") != fmt::format("{}\n", value)) {
  }
}

std::string PostgresServer::url(std::string_view database) const {
  return fmt::format("postgres://postgres@127.0.0.1:{}/{}", port_, database);
}

std::string PostgresServer::log() const {
  return text_of_file(directory_ / "log");
}

std::string PostgresServer::run_sql(const std::string& text, std::string_view database) const {
  const TemporaryDirectory directory;
  const std::string file = directory / "commands.sql";
  write_file(file, text);
  account_.own(directory.path());
  return run_child({programs_ + "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d",
                    url(database), "-f", file},
                   account_);
}

PgBouncer::PgBouncer(const PostgresServer& server,
                     const std::vector<std::pair<std::string, std::string>>& settings)
    : port_(free_loopback_port()) {
  const Account account = Account::for_postgres();
  if (!fs::exists("/usr/sbin/pgbouncer")) {
    throw std::runtime_error("there is no /usr/sbin/pgbouncer (package pgbouncer)");
  }
  write_file(directory_ / "users", "\"postgres\" \"\"\n");
  std::string text = fmt::format(
      "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
      "listen_port = {}\nunix_socket_dir =\nauth_type = trust\nauth_file = {}\n"
      "pool_mode = transaction\n",
      server.port(), port_, directory_ / "users");
  for (const auto& [name, value] : settings) text += fmt::format("{} = {}\n", name, value);
  write_file(directory_ / "ini", text);
  account.own(directory_.path());
  process_ =
      std::make_unique<Child>(std::vector<std::string>{"/usr/sbin/pgbouncer", directory_ / "ini"},
                              account, directory_ / "log", SIGKILL);
  for (int tick = 0; tick < 6000; ++tick) {
    if (process_->printed().find("process up") != std::string::npos) return;
    if (process_->ended_within(10)) break;
  }
  throw std::runtime_error("PgBouncer does not start: " + process_->printed());
}

PgBouncer::~PgBouncer() {
  process_->stop(SIGTERM);
}

std::string PgBouncer::url(std::string_view database) const {
  return fmt::format("postgres://postgres@127.0.0.1:{}/{}", port_, database);
}

}  // namespace millrace::test
