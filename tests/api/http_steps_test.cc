// Checkpoints, parked tasks and answers over HTTP, beside the same verbs of a LocalBroker.
#include "tests/api/http_twins.h"
#include "tests/support/matchers.h"

namespace millrace::test {
namespace {

using ::testing::HasSubstr;

class HttpSteps : public HttpTwins {
 protected:
  Result<Settled> settle_with(const Lease& lease, Outcome outcome, std::string checkpoint) {
    WorkOrder order;
    order.reports.push_back({.id = lease.id,
                             .token = lease.token,
                             .outcome = std::move(outcome),
                             .checkpoint = std::move(checkpoint)});
    return must(work(order)).settled.front();
  }
  Result<Extended> extend_with(const Lease& lease, std::string checkpoint) {
    WorkOrder order;
    order.extensions.push_back(
        {.id = lease.id, .token = lease.token, .checkpoint = std::move(checkpoint)});
    return must(work(order)).extended.front();
  }
  Result<TaskState> update(const TaskUpdate& update) {
    return must(both<Broker::States>([&](Broker& broker, auto done) {
             broker.update({.caller = {1}}, {update}, std::move(done));
           }))
        .front();
  }
};

TEST_F(HttpSteps, checkpoints_and_answers_arrive_byte_for_byte) {
  const TaskId id = put_one();
  for (const char* text : {R"({"page":  17})", "null", " 5 ", "no json", "\xff\xfe", ""}) {
    const Lease lease = take().at(0);
    must(extend_with(lease, text));
    EXPECT_EQ(must(find(id)).checkpoint, text);
    must(settle_with(lease, Park{.until = t0 + 1h}, std::string(text) + "!"));
    EXPECT_EQ(must(find(id)).checkpoint, std::string(text) + "!");
    EXPECT_EQ(must(find(id)).state, TaskState::created);
    must(update({.id = id, .release = true, .answer = text}));
    EXPECT_EQ(must(find(id)).answer, text);
    const Lease again = take().at(0);
    EXPECT_EQ(again.checkpoint, std::string(text) + "!");
    EXPECT_EQ(again.answer, text);
    must(settle(again, GiveBack{}));
  }
}

TEST_F(HttpSteps, a_task_may_be_parked_for_ever_and_released_without_an_answer) {
  const TaskId id = put_one();
  must(settle(take().at(0), Park{}));
  EXPECT_EQ(must(find(id)).start, never);
  must(update({.id = id, .release = true}));
  EXPECT_EQ(take().at(0).answer, std::nullopt);
}

TEST_F(HttpSteps, a_release_may_expect_a_version) {
  const TaskId id = put_one();
  must(settle(take().at(0), Park{}));
  const Version seen = must(find(id)).version;
  const TaskUpdate other{.id = id, .release = true, .expect_version = Version{seen.value + 1}};
  EXPECT_THAT(update(other), FailsWith(ErrorCode::conflict, HasSubstr("has the version")));
  must(update({.id = id, .release = true, .answer = "yes", .expect_version = seen}));
  EXPECT_EQ(take().at(0).answer, "yes");
}

TEST_F(HttpSteps, explain_says_since_when_and_until_when_a_task_is_parked) {
  const auto why = [&](TaskId id) {
    return must(both<Explanation>(
        [&](Broker& broker, auto done) { broker.explain({.caller = {1}}, id, std::move(done)); }));
  };
  const TaskId id = put_one();
  must(settle(take().at(0), Park{.until = t0 + 1h}));
  EXPECT_EQ(why(id).gate, Gate::parked);
  EXPECT_EQ(why(id).until, t0 + 1h);
  EXPECT_THAT(why(id).sentence, HasSubstr("parked since 2030-01-01T00:00:00.000Z"));
  const TaskId for_ever = put_one();
  must(settle(take().at(0), Park{}));
  EXPECT_EQ(why(for_ever).until, std::nullopt);
  EXPECT_EQ(why(put_one({.held = true})).gate, Gate::held);
}

TEST_F(HttpSteps, what_cannot_be_kept_is_refused) {
  const TaskId id = put_one();
  const Lease lease = take().at(0);
  EXPECT_EQ(extend_with(lease, std::string((64 << 10) + 1, 'c')).error().code,
            ErrorCode::too_large);
  EXPECT_EQ(settle_with(lease, Park{}, std::string((64 << 10) + 1, 'c')).error().code,
            ErrorCode::too_large);
  EXPECT_EQ(update({.id = id, .release = true, .answer = "yes"}).error().code, ErrorCode::conflict);
  Lease stale = lease;
  stale.token.value += 1000;
  EXPECT_EQ(extend_with(stale, "late").error().code, ErrorCode::lease_lost);
  EXPECT_EQ(settle_with(stale, Park{}, "late").error().code, ErrorCode::lease_lost);
}

}  // namespace
}  // namespace millrace::test
