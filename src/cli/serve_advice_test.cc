#include "cli/serve_advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ServeAdvice, a_taken_port_is_told_the_next_one) {
  const Error taken{ErrorCode::conflict, "in use"};
  EXPECT_THAT(listen_advice(taken, {}), AllOf(HasSubstr("curl http://127.0.0.1:7070/health"),
                                              HasSubstr("--listen 127.0.0.1:7071")));
  EXPECT_THAT(listen_advice(taken, {.listen = {"::1", 65535}, .tls_key = "k"}),
              AllOf(HasSubstr("https://[::1]:65535"), HasSubstr("--listen [::1]:7070")));
  EXPECT_THAT(listen_advice({ErrorCode::unavailable, "denied"}, {.listen = {"127.0.0.1", 80}}),
              HasSubstr("CAP_NET_BIND_SERVICE"));
  EXPECT_EQ(listen_advice({ErrorCode::unavailable, "?"}, {.listen = {"127.0.0.1", 0}}), "");
}

TEST(ServeAdvice, a_store_in_use_or_damaged) {
  EXPECT_THAT(store_advice({ErrorCode::conflict, ""}, {}), HasSubstr("--store ./other"));
  EXPECT_THAT(store_advice({ErrorCode::corrupt, ""}, {.store = "/d"}),
              HasSubstr("millrace verify /d"));
  EXPECT_EQ(store_advice({ErrorCode::unavailable, ""}, {}), "");
}

// Safe by default.
TEST(ServeAdvice, only_this_machine_may_come_without_a_key) {
  EXPECT_FALSE(too_open({}, false));
  EXPECT_TRUE(too_open({.listen = {"0.0.0.0", 1}}, false));
  EXPECT_TRUE(too_open({.listen = {"::", 1}}, false));
  EXPECT_TRUE(too_open({.listen = {"192.168.1.1", 1}}, false));
  EXPECT_FALSE(too_open({.listen = {"0.0.0.0", 1}}, true));
  EXPECT_THAT(too_open_error({.listen = {"0.0.0.0", 1}}).message, HasSubstr("0.0.0.0:1"));
  EXPECT_THAT(too_open_advice({.store = "/d"}),
              AllOf(HasSubstr("millrace keys create --store /d --name ops --scope admin"),
                    HasSubstr("MILLRACE_ADMIN_KEY=")));
  EXPECT_THAT(too_open_advice({.store = "memory:"}), Not(HasSubstr("keys create")));
}

}  // namespace
}  // namespace millrace::cli
