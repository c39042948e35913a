// Changes over HTTP that other writers overtake.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/client/http_broker.h"
#include "api/wire/views.h"
#include "broker/wait_for_answer.h"
#include "core/clock.h"
#include "tests/support/builders.h"
#include "tests/support/driver.h"
#include "tests/support/http_peer.h"

namespace millrace::test {
namespace {

class HttpConflict : public ::testing::Test {
 protected:
  // A server that answers the first `conflicts` patches with 409. `others_write`: each of them
  // because the queue was changed.
  void conflict(int conflicts, bool others_write) {
    peer.emplace([this, conflicts, others_write](const PeerRequest& request, PeerConnection& to) {
      if (request.method == "GET") return to.answer(queue_text());
      patches.push_back(request.body);
      if (static_cast<int>(patches.size()) > conflicts) return to.answer(queue_text());
      if (others_write) ++depth;
      to.answer(R"({"status":409,"code":"conflict","detail":"overtaken"})", "409 Conflict",
                "Content-Type: application/problem+json\r\n");
    });
    broker =
        must(HttpBroker::open(clock, {.url = fmt::format("http://127.0.0.1:{}", peer->port())}));
  }
  std::string queue_text() const {
    return wire::view_of(
        QueueView{.queue = {.settings = test::queue("q", {.max_depth = depth.load()})}});
  }
  Result<Queue> change() {
    auto changed = wait_for_answer<Queue>([&](auto done) {
      QueueChange twice = [](QueueSettings& to) -> Result<void> {
        to.max_depth = *to.max_depth * 2;
        return {};
      };
      broker->change_queue({.caller = {1}}, "q", std::move(twice), std::move(done));
    });
    peer.reset();  // its threads write to `patches`
    return changed;
  }

  std::atomic<std::uint64_t> depth = 10;
  std::vector<std::string> patches;
  SystemClock clock;
  std::optional<HttpPeer> peer;
  std::unique_ptr<HttpBroker> broker;
};

TEST_F(HttpConflict, a_change_is_decided_again_from_what_is_stored_by_then) {
  conflict(2, true);
  must(change());
  EXPECT_THAT(patches, ::testing::ElementsAre(R"({"max_depth":20})", R"({"max_depth":22})",
                                              R"({"max_depth":24})"));
}

TEST_F(HttpConflict, a_change_that_is_always_overtaken_is_a_conflict_in_the_end) {
  conflict(1000, true);
  EXPECT_EQ(change().error().code, ErrorCode::conflict);
  EXPECT_EQ(patches.size(), 5U);
}

TEST_F(HttpConflict, a_conflict_for_another_reason_is_not_tried_again) {
  conflict(1000, false);
  EXPECT_THAT(change().error().message, ::testing::HasSubstr("overtaken"));
  EXPECT_EQ(patches.size(), 1U);
}

}  // namespace
}  // namespace millrace::test
