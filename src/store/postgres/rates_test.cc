// The bytes of rates, which several versions of the program write and read beside each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "store/embedded/record_fields.h"
#include "store/store.h"
#include "tests/support/matchers.h"
#include "tests/support/sql_session.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

class StoredRates : public SqlSession {
 protected:
  StoredRates() {
    make_queue(queue("slow", {.put_rate = Rate{.max = 3, .per = 1h},
                              .process_rate = Rate{.max = 2, .per = 1h}}));
    put(task("slow")), put(task("slow"));
    take("slow", 1);
  }

  static std::size_t size_of_fields() {
    std::string bytes;
    embedded::Appender out(bytes);
    embedded::write(out, RateWindow{});
    return bytes.size();
  }

  Result<std::vector<Lease>> take_slow() {
    return try_take({.worker = "w", .queues = {{"slow", 10}}});
  }
};

// As the first programs wrote them: the fields alone.
TEST_F(StoredRates, without_a_format_are_read) {
  sql(fmt::format("update millrace.rates set used = substr(used, 1, {})", size_of_fields()));
  EXPECT_THAT(try_put(task("slow")), IsOk());
  EXPECT_THAT(try_put(task("slow")), IsLimited());
  EXPECT_THAT(take("slow"), SizeIs(1));
  EXPECT_THAT(take("slow"), IsEmpty());
}

// The first programs read the fields and do not look at what is behind them.
TEST_F(StoredRates, have_the_format_behind_the_fields) {
  EXPECT_EQ(
      sql("select distinct length(used), get_byte(used, length(used) - 1) from millrace.rates"),
      fmt::format("{}|1", size_of_fields() + 1));
}

TEST_F(StoredRates, of_a_newer_format_are_refused_with_its_number) {
  sql("update millrace.rates set used = used || '\\x0002'");
  const std::string before = sql("select queue, kind, used from millrace.rates order by kind");
  const auto what = AllOf(HasSubstr("rates of queue \"slow\" have format 2"), HasSubstr("up to 1"));
  EXPECT_THAT(try_put(task("slow")), FailsWith(ErrorCode::corrupt, what));
  EXPECT_THAT(take_slow(), FailsWith(ErrorCode::corrupt, what));
  EXPECT_EQ(sql("select queue, kind, used from millrace.rates order by kind"), before);
}

TEST_F(StoredRates, that_are_damaged_are_refused) {
  const auto what = HasSubstr("rates of queue \"slow\" are damaged");
  for (const std::string damage : {"substr(used, 3)", "'\\x01'", "''", "used || '\\x00'"}) {
    sql("update millrace.rates set used = " + damage);
    EXPECT_THAT(try_put(task("slow")), FailsWith(ErrorCode::corrupt, what)) << damage;
    EXPECT_THAT(take_slow(), FailsWith(ErrorCode::corrupt, what)) << damage;
  }
}

TEST_F(StoredRates, that_cannot_be_read_do_not_stop_other_queues) {
  make_queue(queue("other", {.max_depth = 5}));
  sql("update millrace.rates set used = '\\x01'");
  const auto put = store().put(std::vector<NewTask>{task("slow"), task("other")}, now);
  ASSERT_THAT(put, IsOk());
  EXPECT_THAT(put->at(0), FailsWith(ErrorCode::corrupt));
  EXPECT_THAT(put->at(1), IsOk());
  const std::vector<TakeRequest> takes = {{.worker = "w", .queues = {{"slow", 1}}},
                                          {.worker = "w", .queues = {{"other", 1}}}};
  const auto answer = store().work({}, {}, takes, now);
  ASSERT_THAT(answer, IsOk());
  EXPECT_THAT(answer->taken[0], FailsWith(ErrorCode::corrupt));
  ASSERT_THAT(answer->taken[1], IsOk());
  EXPECT_THAT(*answer->taken[1], SizeIs(1));
}

// A rate that was taken away counts for nothing.
TEST_F(StoredRates, that_no_queue_has_any_more_are_not_read) {
  sql("update millrace.rates set used = '\\x01'");
  make_queue(queue("slow", {.max_depth = 9}));
  EXPECT_THAT(try_put(task("slow")), IsOk());
}

}  // namespace
}  // namespace millrace::test
