#include "core/store_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace millrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

StoreUrl url(std::string_view text) {
  const auto parsed = parse_store_url(text);
  EXPECT_TRUE(parsed) << text << ": " << parsed.error().message;
  return parsed.value_or(StoreUrl{});
}

std::string error(std::string_view text) {
  const auto parsed = parse_store_url(text);
  return parsed ? "" : parsed.error().message;
}

TEST(StoreUrl, names_a_journal_with_or_without_its_scheme) {
  const StoreUrl journal{.kind = StoreKind::journal, .path = "./data"};
  EXPECT_EQ(url("journal:./data"), journal);
  EXPECT_EQ(url("./data"), journal);
  EXPECT_EQ(url("/var/lib/millrace").path, "/var/lib/millrace");
  EXPECT_EQ(url("data").path, "data");
  EXPECT_EQ(url("./c:").path, "./c:");
  EXPECT_EQ(url("./a:b").path, "./a:b");
  EXPECT_EQ(url("100%").path, "100%") << "a plain path is taken as it is";
}

TEST(StoreUrl, names_the_memory_store_with_or_without_a_snapshot) {
  EXPECT_EQ(url("memory:"), StoreUrl{});
  EXPECT_EQ(url("memory:?snapshot=./tasks"), StoreUrl{.path = "./tasks"});
}

TEST(StoreUrl, has_options) {
  EXPECT_EQ(url("journal:d?sync=never").sync, UrlSync::none);
  EXPECT_EQ(url("journal:d?sync=always").sync, UrlSync::always);
  const StoreUrl interval = url("journal:d?sync=interval&interval=250ms");
  EXPECT_EQ(interval.sync, UrlSync::interval);
  EXPECT_EQ(interval.interval, Duration(250));
}

TEST(StoreUrl, may_have_any_byte_in_a_path) {
  EXPECT_EQ(url("journal:a%3Fb%26c%25d").path, "a?b&c%d");
  EXPECT_EQ(url("memory:?snapshot=a%26b").path, "a&b");
}

TEST(StoreUrl, that_makes_no_sense_is_refused_with_how_it_is_written) {
  EXPECT_THAT(error(""), HasSubstr("journal:DIR"));
  EXPECT_THAT(error("journal:"), HasSubstr("journal:./data"));
  EXPECT_THAT(error("journal:?sync=never"), HasSubstr("journal:./data"));
  EXPECT_THAT(error("memory:./tasks"), HasSubstr("memory:?snapshot=./tasks"));
  EXPECT_THAT(error("memory:?snapshot="), HasSubstr("name a file"));
  EXPECT_THAT(error("memory:?file=a"), HasSubstr("no option \"file\"; it has snapshot"));
  EXPECT_THAT(error("journal:d?snapshot=a"), HasSubstr("no option \"snapshot\"; it has sync"));
  EXPECT_THAT(error("journal:d?sync"), HasSubstr("NAME=VALUE"));
  EXPECT_THAT(error("journal:d?sync=often"), HasSubstr("always, interval and never"));
  EXPECT_THAT(error("journal:d?sync=interval&interval=soon"), HasSubstr("interval: "));
  EXPECT_THAT(error("journal:d?interval=1s"), HasSubstr("sync=interval"));
  EXPECT_THAT(error("journal:a%2"), HasSubstr("%25"));
  EXPECT_THAT(error("journal:a%zz"), HasSubstr("%25"));
  EXPECT_THAT(error("redis://host/0"), HasSubstr("not part of this Millrace yet"));
  EXPECT_THAT(error("jurnal:./data"), HasSubstr("not a kind of store"));
  EXPECT_THAT(error("jurnal:./data"), HasSubstr("./jurnal:./data"));
}

TEST(StoreUrl, what_looks_like_a_server_is_no_directory) {
  for (const char* text : {"127.0.0.1:7070", "queue.internal:7070", "a1:b", "http//x:"}) {
    EXPECT_THAT(parse_store_url(text).error().message,
                ::testing::HasSubstr(std::string("write http://") + text));
  }
  EXPECT_EQ(parse_store_url("./a1:b").value().path, "./a1:b");
  EXPECT_EQ(parse_store_url("/a1:b").value().path, "/a1:b");
}

// ---- PostgreSQL --------------------------------------------------------------------------------

TEST(StoreUrl, names_a_database_and_leaves_to_libpq_what_is_libpqs) {
  const StoreUrl plain = url("postgres://ann:pw@db.example.org:5433/app");
  EXPECT_EQ(plain.kind, StoreKind::postgres);
  EXPECT_EQ(plain.server, "postgres://ann:pw@db.example.org:5433/app");
  EXPECT_EQ(plain.schema, "millrace");
  EXPECT_TRUE(plain.prepare);
  EXPECT_TRUE(plain.migrate);
  EXPECT_TRUE(plain.vacuum);
  for (const auto* text :
       {"postgresql://", "postgres://a,b:5433/app?target_session_attrs=read-write",
        "postgres:///app?host=/run/postgresql", "postgres://[::1]:5432/app?sslmode=verify-full",
        "postgres://u:p%40q@h/app?options=-c%20search_path%3Dx&x"}) {
    EXPECT_EQ(url(text).server, text);
  }
}

TEST(StoreUrl, of_a_database_has_options_that_libpq_never_sees) {
  const StoreUrl parsed =
      url("postgres://u@h/d?schema=jobs&sslmode=require&prepare=off&connect_timeout=3&migrate=off"
          "&listen_url=postgres%3A%2F%2Fu%3Apw%40direct%2Fd%3Fsslmode%3Drequire");
  EXPECT_EQ(parsed.server, "postgres://u@h/d?sslmode=require&connect_timeout=3");
  EXPECT_EQ(parsed.schema, "jobs");
  EXPECT_EQ(parsed.listen_url, "postgres://u:pw@direct/d?sslmode=require");
  EXPECT_FALSE(parsed.prepare);
  EXPECT_FALSE(parsed.migrate);
  EXPECT_TRUE(parsed.vacuum);
  EXPECT_FALSE(url("postgres://u@h/d?vacuum=off").vacuum);
  EXPECT_EQ(url("postgres://u@h/d").readers, 2U);
  EXPECT_EQ(url("postgres://u@h/d?readers=32&schema=jobs").readers, 32U);
  EXPECT_EQ(url("postgres://u@h/d?schema=jobs").server, "postgres://u@h/d");
  EXPECT_TRUE(url("postgres://u@h/d?prepare=on&migrate=on").prepare);
  EXPECT_EQ(parsed.wait, std::chrono::seconds(30));
  EXPECT_EQ(url("postgres://u@h/d?wait=0s").wait, Duration::zero());
  EXPECT_EQ(url("postgres://u@h/d?wait=5m").server, "postgres://u@h/d");
}

// libpq takes the password up to the @, whatever is in it.
TEST(StoreUrl, of_a_database_may_have_a_question_mark_in_its_password) {
  const StoreUrl parsed = url("postgres://u:p?schema=x@h/d?schema=jobs");
  EXPECT_EQ(parsed.server, "postgres://u:p?schema=x@h/d");
  EXPECT_EQ(parsed.schema, "jobs");
}

TEST(StoreUrl, of_a_database_that_makes_no_sense_is_refused_without_its_password) {
  const std::string base = "postgres://u:hunter2@h/d?";
  for (const auto& [wrong, told] :
       {std::pair<const char*, const char*>{"prepare=no",
                                            "prepare is \"no\"; allowed are on and off"},
        {"migrate=", "?migrate=off"},
        {"migrate", "allowed are on and off"},
        {"schema=", "?schema=jobs"},
        {"wait=soon", "wait: "},
        {"wait=2h", "wait is \"2h\"; it is at most 1h"},
        {"readers=0", "readers is \"0\"; allowed are 1 to 32"},
        {"readers=33", "allowed are 1 to 32, as in"},
        {"readers=-1", "allowed are 1 to 32"},
        {"readers=two", "readers is \"two\""},
        {"readers=4x", "readers is \"4x\""},
        {"schema=%4", "schema has a %"},
        {"listen_url=hunter2", "postgres%3A%2F%2F"},
        {"listen_url=http%3A%2F%2Fhunter2", "listen_url is not the URL"},
        {"listen_url=%hunter2", "listen_url has a %"}}) {
    EXPECT_THAT(error(base + wrong), AllOf(HasSubstr(told), Not(HasSubstr("hunter2"))));
  }
  EXPECT_THAT(error("postgres:app"), HasSubstr("postgres://millrace@localhost/app"));
  EXPECT_THAT(error("postgress://u:hunter2@h/d"),
              AllOf(HasSubstr("postgress: is not a kind of store"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(parse_store_url("s3://bucket").error().message,
              AllOf(HasSubstr("s3:// is not a kind of store"), Not(HasSubstr("http://s3"))));
  EXPECT_THAT(error("postgre-sql://u:hunter2@h/d"), Not(HasSubstr("hunter2")));
}

TEST(StoreUrl, is_shown_without_passwords) {
  for (const auto* plain : {"./data", "journal:a@b:c", "memory:?snapshot=x", "postgres://h/d",
                            "postgres://u@h:5432/d?sslmode=require"}) {
    EXPECT_EQ(without_password(plain), plain);
  }
  EXPECT_EQ(without_password("postgres://u:pw@h:5432/d"), "postgres://u:***@h:5432/d");
  EXPECT_EQ(without_password("postgres://u:pw@a:1,b:2/d"), "postgres://u:***@a:1,b:2/d");
  EXPECT_EQ(without_password("postgres://u@a:1,b:2/d"), "postgres://u@a:1,b:2/d");
  EXPECT_EQ(without_password("postgres://u@h/d?password=pw&schema=s&sslpassword=pw"),
            "postgres://u@h/d?password=***&schema=s&sslpassword=***");
  EXPECT_EQ(without_password("postgres://u@h/d?listen_url=postgres%3A%2F%2Fu%3Apw%40h"),
            "postgres://u@h/d?listen_url=***");
  for (const auto* odd :
       {"postgres://u:hunter2@h/d?x=a@b", "postgres://u:hu/hunter2@h/d", "redis://:hunter2@h",
        "postgres://u:a?b@hunter2@h/d", "postgres://u@h:5432/d?password=a@hunter2",
        "postgres://u:a@h/d?password=hunter2&password=hunter2"}) {
    EXPECT_THAT(without_password(odd), Not(HasSubstr("hunter2"))) << odd;
  }
}

}  // namespace
}  // namespace millrace
