#include "core/store_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::HasSubstr;

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

TEST(StoreUrl, that_makes_no_sense_is_told_how_it_is_written) {
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
  EXPECT_THAT(error("postgres://host/db"), HasSubstr("not part of this Millrace yet"));
  EXPECT_THAT(error("jurnal:./data"), HasSubstr("no kind of store"));
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

}  // namespace
}  // namespace millrace
