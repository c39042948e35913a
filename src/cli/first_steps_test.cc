#include "cli/first_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(FirstSteps, name_an_address_that_can_be_reached) {
  EXPECT_EQ(url_of({.address = {"127.0.0.1", 7070}}), "http://127.0.0.1:7070");
  EXPECT_EQ(url_of({.address = {"0.0.0.0", 80}}), "http://127.0.0.1:80");
  EXPECT_EQ(url_of({.address = {"::", 80}, .tls = true}), "https://[::1]:80");
  EXPECT_EQ(url_of({.address = {"::1", 80}}), "http://[::1]:80");
  EXPECT_EQ(url_of({.address = {"10.0.0.5", 80}}), "http://10.0.0.5:80");
}

TEST(FirstSteps, ask_for_a_key_and_a_certificate_only_where_they_are_needed) {
  EXPECT_THAT(first_steps({}), AllOf(HasSubstr("http://127.0.0.1:7070/v1/take"),
                                     Not(HasSubstr("KEY")), Not(HasSubstr("cacert"))));
  EXPECT_THAT(first_steps({.needs_key = true}),
              AllOf(HasSubstr("KEY=mr_"), HasSubstr("-H \"Authorization: Bearer $KEY\"")));
  EXPECT_THAT(first_steps({.tls = true}),
              AllOf(HasSubstr("CA="), HasSubstr("https://"), HasSubstr("--cacert \"$CA\""),
                    HasSubstr("MILLRACE_CA_FILE=\"$CA\"")));
}

TEST(FirstSteps, name_the_dashboard_where_there_is_one) {
  EXPECT_THAT(first_steps({}), Not(HasSubstr("browser")));
  EXPECT_THAT(first_steps({.address = {"0.0.0.0", 80}, .dashboard = true}),
              HasSubstr("Or watch it in a browser: http://127.0.0.1:80\n"));
}

}  // namespace
}  // namespace millrace::cli
