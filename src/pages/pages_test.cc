#include "pages/pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <array>
#include <map>

namespace millrace::pages {
namespace {

using api::HttpRequest;
using api::HttpResponse;
using api::Method;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view html = "<head><base href=\"./\" /><script src=\"./assets/a-1.js\">";
const std::array test_files = {
    File{.path = "/assets/a-1.js",
         .content_type = "text/javascript; charset=utf-8",
         .tag = "1",
         .plain = "plain js",
         .gzip = "gz",
         .brotli = "br"},
    File{.path = "/assets/b-2.png", .content_type = "image/png", .tag = "2", .plain = "png"},
    File{.path = "/index.html",
         .content_type = "text/html; charset=utf-8",
         .tag = "abc",
         .plain = html}};

class PagesTest : public ::testing::Test {
 protected:
  std::optional<HttpResponse> ask(std::string_view path, HttpRequest head = {}) const {
    return Dashboard(options_).answer(head, path);
  }
  std::optional<HttpResponse> browse(std::string_view path, HttpRequest head = {}) const {
    head.accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    return ask(path, std::move(head));
  }
  static std::map<std::string, std::string> headers(const HttpResponse& response) {
    return {response.headers.begin(), response.headers.end()};
  }

  PagesOptions options_{.version = "7.8", .files = test_files};
};

TEST_F(PagesTest, files_may_be_kept_for_ever_and_come_packed_as_the_browser_likes) {
  const auto plain = ask("/assets/a-1.js");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->body, "plain js");
  EXPECT_EQ(plain->content_type, "text/javascript; charset=utf-8");
  EXPECT_EQ(headers(*plain)["Cache-Control"], "public, max-age=31536000, immutable");
  EXPECT_EQ(headers(*plain)["Vary"], "Accept-Encoding");
  EXPECT_FALSE(headers(*plain).contains("Content-Encoding"));
  const auto brotli = ask("/assets/a-1.js", {.accept_encoding = "gzip, deflate, br, zstd"});
  EXPECT_EQ(brotli->body, "br");
  EXPECT_EQ(headers(*brotli)["Content-Encoding"], "br");
  const auto gzip = ask("/assets/a-1.js", {.accept_encoding = "br;q=0, gzip;q=0.5"});
  EXPECT_EQ(gzip->body, "gz");
  EXPECT_EQ(headers(*gzip)["Content-Encoding"], "gzip");
  EXPECT_EQ(ask("/assets/b-2.png", {.accept_encoding = "br"})->body, "png");
}

TEST_F(PagesTest, files_that_are_not_there_are_not_the_page) {
  EXPECT_FALSE(browse("/assets/old-0.js"));
  EXPECT_FALSE(browse("/assets/"));
  EXPECT_FALSE(browse("/assets/../index.html"));
}

TEST_F(PagesTest, every_address_of_the_page_is_the_page_which_knows_the_way_to_the_root) {
  for (const auto& [path, base] :
       std::map<std::string, std::string>{{"/", "./"},
                                          {"/tasks", "./"},
                                          {"/tasks/", "../"},
                                          {"/tasks/17", "../"},
                                          {"/a/b/c", "../../"},
                                          {"//evil.example/x", "../../"}}) {
    const auto page = browse(path);
    ASSERT_TRUE(page) << path;
    EXPECT_EQ(page->status, 200U);
    EXPECT_THAT(page->body, HasSubstr("<base href=\"" + base + "\" />")) << path;
    EXPECT_EQ(headers(*page)["Cache-Control"], "no-cache");
  }
}

TEST_F(PagesTest, the_page_is_not_sent_again_where_nothing_has_changed) {
  const std::string tag = headers(*browse("/"))["ETag"];
  EXPECT_EQ(browse("/", {.if_none_match = tag})->status, 304U);
  EXPECT_EQ(browse("/", {.if_none_match = "\"x\", W/" + tag})->status, 304U);
  EXPECT_EQ(browse("/", {.if_none_match = tag})->body, "");
  EXPECT_EQ(browse("/", {.if_none_match = "\"other\""})->status, 200U);
  EXPECT_EQ(browse("/tasks/1", {.if_none_match = tag})->status, 200U) << "says another base";
}

// S3-054
TEST_F(PagesTest, a_proxy_may_say_where_it_has_put_the_page) {
  EXPECT_THAT(browse("/tasks/1", {.forwarded_prefix = "/admin/queues"})->body,
              HasSubstr("<base href=\"/admin/queues/\" />"));
  for (const auto* bad :
       {"//evil.example", "https://evil.example", "/a\"><script>", "/a/../..", "a", "/a, /b"}) {
    EXPECT_THAT(browse("/tasks/1", {.forwarded_prefix = bad})->body,
                HasSubstr("<base href=\"../\" />"))
        << bad;
  }
  options_.base_path = "/mill";
  EXPECT_THAT(browse("/tasks/1", {.forwarded_prefix = "/other"})->body,
              HasSubstr("<base href=\"/mill/\" />"));
}

TEST_F(PagesTest, programs_are_told_where_the_api_is_and_get_no_page) {
  const auto hint = ask("/", {.accept = "*/*"});
  ASSERT_TRUE(hint);
  EXPECT_EQ(hint->content_type, "text/plain; charset=utf-8");
  EXPECT_THAT(hint->body, HasSubstr("Millrace 7.8"));
  EXPECT_THAT(hint->body, HasSubstr("/openapi.json"));
  EXPECT_FALSE(ask("/tasks", {.accept = "*/*"}));
  EXPECT_FALSE(ask("/nope"));
  EXPECT_FALSE(browse("/", {.method = Method::post}));
  for (const auto* path : {"/v1", "/v1/", "/v1/task", "/v1/tasks/a/b"}) EXPECT_FALSE(browse(path));
}

TEST_F(PagesTest, no_foreign_code_may_run_and_no_site_may_frame_it) {
  for (const auto& response :
       {browse("/"), ask("/assets/a-1.js"), ask("/"), browse("/", {.method = Method::head})}) {
    auto all = headers(*response);
    EXPECT_THAT(all["Content-Security-Policy"], HasSubstr("default-src 'none'"));
    EXPECT_THAT(all["Content-Security-Policy"], HasSubstr("frame-ancestors 'none'"));
    EXPECT_THAT(all["Content-Security-Policy"], Not(HasSubstr("unsafe")));
    EXPECT_EQ(all["X-Frame-Options"], "DENY");
    EXPECT_EQ(all["Referrer-Policy"], "no-referrer");
  }
}

TEST_F(PagesTest, a_program_without_a_dashboard_says_so) {
  options_.files = {};
  EXPECT_THAT(browse("/")->body, HasSubstr("not in this program"));
  EXPECT_FALSE(browse("/tasks"));
  EXPECT_FALSE(ask("/assets/a-1.js"));
}

TEST(PagesFiles, what_is_built_in_is_complete) {
  if (files().empty()) GTEST_SKIP() << "built without a dashboard";
  const auto page = Dashboard().answer({.accept = "text/html"}, "/");
  ASSERT_TRUE(page);
  EXPECT_THAT(page->body, HasSubstr("<base href=\"./\" />"));
  std::size_t found = 0;
  for (std::size_t at = page->body.find("./assets/"); at != std::string::npos;
       at = page->body.find("./assets/", at + 1), ++found) {
    const std::size_t end = page->body.find('"', at);
    EXPECT_TRUE(Dashboard().answer({}, page->body.substr(at + 1, end - at - 1)));
  }
  EXPECT_GE(found, 2U);
  for (const File& file : files()) {
    if (file.content_type.starts_with("text/javascript") && file.plain.size() > 10'000) {
      EXPECT_LT(file.brotli.size(), file.plain.size() / 2) << file.path;
      EXPECT_LT(file.gzip.size(), file.plain.size() / 2) << file.path;
    }
  }
}

}  // namespace
}  // namespace millrace::pages
