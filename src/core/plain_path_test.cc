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

}  // namespace
}  // namespace millrace
