// What happens when the server, or the way to it, is gone or slow.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "core/clock.h"
#include "postgres/connection.h"
#include "tests/support/shared_postgres.h"

namespace millrace::postgres {
namespace {

using namespace std::chrono_literals;
using test::shared_postgres;
using testing::HasSubstr;
using testing::Not;

constexpr Sql one{"one", "select 1::int4"};
constexpr Sql sleep_sql{"sleep", "select pg_sleep($1)"};

Params seconds(double value) {
  Params params;
  params.add(value);
  return params;
}

std::unique_ptr<Connection> connect(ConnectOptions options = {}) {
  if (options.url.empty()) options.url = shared_postgres().url();
  auto connection = Connection::open(std::move(options));
  if (!connection) throw std::runtime_error(connection.error().message);
  return std::move(*connection);
}

// A server for this test alone.
test::PostgresOptions own_server() {
  static const test::ClusterTemplate cluster;
  return {.settings = test::quick_settings(), .copy_of = &cluster};
}

TEST(Loss, a_session_that_is_ended_is_lost) {
  const auto connection = connect();
  const auto other = connect();
  static constexpr Sql end{"end", "select pg_terminate_backend($1::int4, 5000)"};
  Params params;
  params.add(static_cast<std::int32_t>(connection->backend_pid()));
  ASSERT_TRUE(other->transact(end, params)->get<bool>(0, 0));
  const auto rows = connection->transact(one);
  ASSERT_FALSE(rows);
  EXPECT_TRUE(rows.error().lost);
  EXPECT_FALSE(connection->is_open());
  EXPECT_EQ(error_of(rows.error(), "look").code, ErrorCode::unavailable);
  EXPECT_FALSE(may_repeat(rows.error()));
  const auto again = connection->transact(one);
  ASSERT_FALSE(again);
  EXPECT_TRUE(again.error().lost);
  EXPECT_THAT(again.error().message, HasSubstr("no connection to PostgreSQL at 127.0.0.1:"));
}

TEST(Loss, a_server_that_is_killed_in_the_middle_is_lost_and_comes_back) {
  test::PostgresServer server(own_server());
  const auto connection = connect({.url = server.url()});
  ASSERT_TRUE(connection->transact(one));
  // The statement is under way once another session sees it.
  std::thread killer([&] {
    while (server.run_sql("select count(*) from pg_stat_activity where pid <> pg_backend_pid() and "
                          "state = 'active' and query like '%pg_sleep(%'") != "1\n") {
    }
    server.kill_postmaster();
  });
  const auto rows = connection->transact(sleep_sql, seconds(30));
  killer.join();
  ASSERT_FALSE(rows);
  EXPECT_TRUE(rows.error().lost) << rows.error().message;
  EXPECT_FALSE(connection->is_open());

  const auto refused = Connection::open({.url = server.url()});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().lost);
  server.start();
  EXPECT_TRUE(connect({.url = server.url()})->transact(one));
  server.restart();
  EXPECT_TRUE(connect({.url = server.url()})->transact(one));
}

TEST(Loss, a_server_that_stops_says_so) {
  test::PostgresServer server(own_server());
  const auto connection = connect({.url = server.url()});
  ASSERT_TRUE(connection->transact(one));
  server.stop();
  const auto rows = connection->transact(one);
  ASSERT_FALSE(rows);
  EXPECT_TRUE(rows.error().lost);
  EXPECT_THAT(rows.error().message, HasSubstr("terminating connection"));
}

TEST(Loss, a_statement_that_takes_too_long_is_ended_and_the_connection_goes_on) {
  const auto connection = connect();
  const auto rows = connection->transact(sleep_sql, seconds(30), {.statement_timeout = 20ms});
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().state, "57014");
  EXPECT_FALSE(rows.error().lost);
  EXPECT_EQ(error_of(rows.error(), "rest").code, ErrorCode::unavailable);
  EXPECT_TRUE(connection->transact(one));
}

TEST(Loss, a_lock_that_is_not_to_be_had_in_time) {
  const auto holder = connect();
  const auto connection = connect();
  static constexpr Sql lock{"lock", "select pg_advisory_xact_lock(4711)"};
  holder->begin();
  ASSERT_TRUE(holder->send(lock));
  const auto rows = connection->transact(lock, {}, {.lock_timeout = 20ms});
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().state, "55P03");
  holder->rollback();
  EXPECT_TRUE(connection->transact(lock, {}, {.lock_timeout = 20ms}));
}

TEST(Loss, an_answer_that_does_not_come_is_not_waited_for) {
  SystemClock clock;
  const auto connection = connect({.answer_timeout = 100ms});
  const auto rows = connection->transact(sleep_sql, seconds(60));
  ASSERT_FALSE(rows);
  EXPECT_TRUE(rows.error().lost);
  EXPECT_THAT(rows.error().message, HasSubstr("no answer within 100 ms"));
  EXPECT_FALSE(connection->is_open());

  const auto other = connect({.answer_timeout = 100ms});
  EXPECT_TRUE(other->run_script("select pg_sleep(0.3)", 10s));
  const auto answer = other->run_script("select pg_sleep(60)", 200ms);
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("no answer within 200 ms"));
  EXPECT_LT(clock.steady(), 10s);
}

// Listens, and never answers.
class Mute {
 public:
  Mute() {
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(socket_, 5), 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~Mute() { close(socket_); }
  int port() const { return port_; }

 private:
  int socket_ = -1;
  int port_ = 0;
};

TEST(Connect, a_server_that_does_not_answer_is_given_up_in_time) {
  const Mute mute;
  SystemClock clock;
  const auto refused = Connection::open(
      {.url = "postgres://u:secret@127.0.0.1:" + std::to_string(mute.port()) + "/d",
       .connect_timeout = 1s});
  ASSERT_FALSE(refused);
  EXPECT_LT(clock.steady(), 10s);
  EXPECT_TRUE(refused.error().lost);
  EXPECT_THAT(refused.error().message, HasSubstr("timeout expired"));
  EXPECT_THAT(refused.error().message, Not(HasSubstr("secret")));
  EXPECT_EQ(error_of(refused.error(), "connect").code, ErrorCode::unavailable);
}

TEST(Connect, the_next_address_is_tried) {
  const Mute mute;
  const auto connection =
      connect({.url = "postgres://postgres@127.0.0.1:" + std::to_string(mute.port()) +
                      ",127.0.0.1:" + std::to_string(shared_postgres().port()) + "/postgres",
               .connect_timeout = 1s});
  EXPECT_TRUE(connection->transact(one));
}

TEST(Connect, of_several_addresses_the_one_that_takes_writes_is_found) {
  test::PostgresServer standby(own_server());
  standby.demote();
  const auto address = [](const test::PostgresServer& server) {
    return "127.0.0.1:" + std::to_string(server.port());
  };
  const std::string url =
      "postgres://postgres@" + address(standby) + "," + address(shared_postgres()) + "/postgres";
  const auto primary = connect({.url = url});
  EXPECT_EQ(primary->where(), address(shared_postgres()) + "/postgres");
  EXPECT_FALSE(primary->is_read_only());
  // Unless any server will do.
  EXPECT_EQ(connect({.url = url, .writes = false})->where(), address(standby) + "/postgres");
  EXPECT_TRUE(connect({.url = url + "?target_session_attrs=any"})->is_read_only());
  EXPECT_TRUE(connect({.url = standby.url()})->is_read_only()) << "there is no other";
  const std::string both = address(standby) + "," + address(standby) + "/postgres";
  const auto none = Connection::open({.url = "postgres://postgres@" + both});
  ASSERT_FALSE(none);
  EXPECT_TRUE(none.error().lost);
  EXPECT_THAT(none.error().message, HasSubstr(both));
  EXPECT_THAT(none.error().message, HasSubstr("session is read-only"));
}

TEST(Connect, says_when_a_server_is_made_read_only) {
  const test::PostgresServer server(own_server());
  const auto connection = connect({.url = server.url()});
  server.set_read_only(true);
  EXPECT_FALSE(connection->is_read_only()) << "nothing was asked since";
  ASSERT_TRUE(connection->transact(one));
  EXPECT_TRUE(connection->is_read_only());
}

TEST(Connect, no_server_listens) {
  const auto refused = Connection::open({.url = "postgres://u:secret@127.0.0.1:1/d"});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().lost);
  EXPECT_THAT(refused.error().message, HasSubstr("127.0.0.1:1/d"));
  EXPECT_THAT(refused.error().message, HasSubstr("Connection refused"));
  EXPECT_THAT(refused.error().message, Not(HasSubstr("secret")));
}

TEST(Connect, errors_about_a_wrong_or_missing_password_do_not_show_it) {
  test::PostgresOptions options = own_server();
  options.authentication = {"host all locked 127.0.0.1/32 scram-sha-256"};
  const test::PostgresServer server(options);
  server.run_sql("create role locked login password 'open-sesame'");
  const std::string address = "127.0.0.1:" + std::to_string(server.port()) + "/postgres";
  EXPECT_TRUE(connect({.url = "postgres://locked:open-sesame@" + address})->transact(one));
  const auto wrong = Connection::open({.url = "postgres://locked:open-barley@" + address});
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("password authentication failed for user"));
  EXPECT_THAT(wrong.error().message, Not(HasSubstr("barley")));
  const auto missing = Connection::open({.url = "postgres://locked@" + address});
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("no password"));
}

TEST(Connect, tls_carries_a_lot_both_ways_and_certificates_are_checked) {
  test::PostgresOptions options = own_server();
  options.tls = true;
  const test::PostgresServer server(options);
  const std::string url = server.url() + "?sslmode=verify-full&sslrootcert=";
  const auto connection = connect({.url = url + server.certificate()});
  static constexpr Sql encrypted{"encrypted",
                                 "select ssl from pg_stat_ssl where pid = pg_backend_pid()"};
  EXPECT_TRUE(connection->transact(encrypted)->get<bool>(0, 0));
  static constexpr Sql echo{"echo", "select $1::bytea"};
  Params params;
  params.add_bytes(std::string(100'000, 'y'));
  const std::vector<Statement> statements(200, Statement{&echo, &params});
  const auto rows = connection->transact(statements);
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->back().get<std::string_view>(0, 0).size(), 100'000u);

  // A certificate of another server.
  const test::PostgresServer other(options);
  const auto refused = Connection::open({.url = url + other.certificate()});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("certificate"));
}

TEST(Connect, a_url_that_cannot_be_read_is_not_shown) {
  for (const std::string url :
       {"postgres://u:secr%zzet@h/d", "postgres://u:secret@[h/d", "postgres://u:secret@h:p%00/d",
        "postgres://u:sec@ret@h/d?unknown_setting=1", "host=h password='secret",
        "password=secret wrong_word", "postgres://u:secret@h/d?password"}) {
    const auto refused = Connection::open({.url = url});
    ASSERT_FALSE(refused) << url;
    EXPECT_FALSE(refused.error().lost) << url;
    EXPECT_THAT(refused.error().message, Not(HasSubstr("secr"))) << url;
    EXPECT_THAT(refused.error().message, HasSubstr("postgres://USER:PASSWORD@")) << url;
  }
  const auto unknown = Connection::open({.url = "postgres://u:p@h/d?sslmod=require"});
  EXPECT_THAT(unknown.error().message, HasSubstr("\"sslmod\""));
}

TEST(Connect, a_schema_that_makes_no_sense_is_refused) {
  const auto refused = Connection::open({.url = shared_postgres().url(), .schema = "a\"b"});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("schema"));
}

TEST(Connect, tells_the_server_its_application_name) {
  static constexpr Sql name{"name", "select current_setting('application_name')"};
  EXPECT_EQ(connect()->transact(name)->get<std::string>(0, 0), "millrace");
  EXPECT_EQ(connect({.url = shared_postgres().url() + "?application_name=mine"})
                ->transact(name)
                ->get<std::string>(0, 0),
            "mine");
  EXPECT_GE(connect()->server_version(), 150000);
}

TEST(Listen, notifications_come_as_they_are_sent) {
  const auto listener = connect();
  const auto sender = connect();
  const std::vector<std::string> channels{"news", "Odd \"name\""};
  ASSERT_TRUE(listener->listen(channels));
  static constexpr Sql tell{"tell", "select pg_notify($1, $2)"};
  Params first;
  first.add("news");
  first.add("p");
  Params second;
  second.add("Odd \"name\"");
  second.add("");
  const std::array statements{Statement{&tell, &first}, Statement{&tell, &second}};
  ASSERT_TRUE(sender->transact(statements));
  const auto came = listener->wait_notification(10s);
  ASSERT_TRUE(came) << came.error().message;
  ASSERT_EQ(came->size(), 2u);
  EXPECT_EQ((*came)[0].channel, "news");
  EXPECT_EQ((*came)[0].payload, "p");
  EXPECT_EQ((*came)[1].channel, "Odd \"name\"");
  EXPECT_TRUE(listener->wait_notification(1ms)->empty());
  EXPECT_TRUE(listener->transact(one)) << "it can do other things";
}

TEST(Listen, a_wait_is_interrupted_from_another_thread) {
  const auto listener = connect();
  const std::vector<std::string> channels{"news"};
  ASSERT_TRUE(listener->listen(channels));
  SystemClock clock;
  std::thread other([&] { listener->interrupt(); });
  const auto came = listener->wait_notification(60s);
  other.join();
  ASSERT_TRUE(came);
  EXPECT_TRUE(came->empty());
  EXPECT_LT(clock.steady(), 30s);
  EXPECT_TRUE(listener->wait_notification(1ms)->empty()) << "once";
}

TEST(Listen, a_listener_notices_that_it_was_cut_off) {
  const auto listener = connect();
  const std::vector<std::string> channels{"news"};
  ASSERT_TRUE(listener->listen(channels));
  shared_postgres().run_sql("select pg_terminate_backend(" +
                            std::to_string(listener->backend_pid()) + ", 5000)");
  const auto came = listener->wait_notification(60s);
  ASSERT_FALSE(came);
  EXPECT_TRUE(came.error().lost);
}

}  // namespace
}  // namespace millrace::postgres
