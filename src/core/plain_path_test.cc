#include "core/plain_path.h"

#include <gtest/gtest.h>
#include <string>

namespace millrace {
namespace {

TEST(PlainPath, what_is_one) {
  for (const auto* path : {"/", "/admin", "/admin/queues", "/admin/queues/", "/a.b/c_d~e-f/G7"}) {
    EXPECT_TRUE(is_plain_path(path)) << path;
  }
  EXPECT_TRUE(is_plain_path("/" + std::string(255, 'a')));
}

TEST(PlainPath, what_is_none) {
  for (const auto* path :
       {"", "admin", "//", "//evil.example", "/a//b", "/a/../b", "/..", "/./a", "/a b", "/a;b",
        "/a\"b", "/a<b", "/a%2e", "/\xd0\xb0", "/a, /b", "/a?b", "/a#b", "/a\\b"}) {
    EXPECT_FALSE(is_plain_path(path)) << path;
  }
  EXPECT_FALSE(is_plain_path("/" + std::string(256, 'a')));
}

TEST(CookiePath, what_browsers_leave_in_a_path_is_one) {
  for (const auto* path : {"/", "/admin/queues/", "/a%20b/", "/%D0%BE%d1%87", "/a%2e", "/a@b:c",
                           "/!$&'()*+=", "/~me/(x)/"}) {
    EXPECT_TRUE(is_cookie_path(path)) << path;
  }
}

TEST(CookiePath, what_is_none) {
  for (const auto* path :
       {"",      "admin",     "//",   "//evil.example", "/a//b", "/a/../b", "/..",  "/./a",
        "/a b",  "/a;b",      "/a,b", "/a\"b",          "/a<b",  "/a%",     "/a%2", "/a%2/",
        "/a%g0", "/\xd0\xb0", "/a?b", "/a#b",           "/a\\b", "/a\r\nb"}) {
    EXPECT_FALSE(is_cookie_path(path)) << path;
  }
  EXPECT_FALSE(is_cookie_path("/" + std::string(256, 'a')));
}

}  // namespace
}  // namespace millrace
