// Groups of a queue, and what single ones do differently.
#include <utility>

#include "api/server/handlers.h"
#include "api/wire/groups.h"
#include "api/wire/views.h"
#include "core/limits.h"

namespace millrace::api {
namespace {

void show_group(CallPtr call, const Group& group) {
  call->answer(wire::view_of(group));
}

void edit_group(CallPtr call, GroupChange change,
                std::move_only_function<void(CallPtr, Group)> then) {
  with_queue(std::move(call), [change = std::move(change), then = std::move(then)](
                                  CallPtr back, QueueRef queue) mutable {
    Broker& broker = *back->broker;
    const Ask ask = back->ask();
    std::string name = back->path[1];
    broker.change_group(ask, std::move(queue), std::move(name), std::move(change),
                        answered<Group>(std::move(back), std::move(then)));
  });
}

}  // namespace

void list_groups(CallPtr call) {
  GroupsRequest request{.name = call->query.text("name")};
  request.after = call->query.text("after").value_or("");
  if (const auto limit = call->query.number("limit", 1, limits::max_page)) {
    request.limit = static_cast<std::uint32_t>(*limit);
  }
  with_queue(std::move(call), [request = std::move(request)](CallPtr back, QueueRef queue) mutable {
    Broker& broker = *back->broker;
    const Ask ask = back->ask();
    request.queue = std::move(queue);
    broker.groups(ask, std::move(request),
                  answered<GroupPage>(std::move(back), [](CallPtr again, const GroupPage& page) {
                    again->answer(wire::page_of(page));
                  }));
  });
}

void get_group(CallPtr call) {
  with_queue(std::move(call), [](CallPtr back, QueueRef queue) {
    Broker& broker = *back->broker;
    const Ask ask = back->ask();
    GroupsRequest request{.queue = std::move(queue), .name = back->path[1]};
    auto then = [](CallPtr again, const GroupPage& page) {
      if (page.groups.empty()) {
        return again->refuse(Error{ErrorCode::not_found, "there is no such group"});
      }
      show_group(std::move(again), page.groups.front());
    };
    broker.groups(ask, std::move(request), answered<GroupPage>(std::move(back), std::move(then)));
  });
}

void change_group(CallPtr call) {
  if (auto wrong = wire::merged("{}", call->request.body, {}); !wrong) {
    return call->refuse(wrong.error());
  }
  const TimePoint now = call->broker->now();
  std::string patch = call->request.body;
  edit_group(
      std::move(call),
      [patch = std::move(patch), now](GroupOverride& override) -> Result<void> {
        auto patched = wire::patched(override, patch, now);
        if (!patched) return std::unexpected(std::move(patched.error().error));
        override = std::move(*patched);
        return {};
      },
      show_group);
}

void reset_group(CallPtr call) {
  edit_group(
      std::move(call),
      [](GroupOverride& override) -> Result<void> {
        override = {};
        return {};
      },
      [](CallPtr back, const Group&) { back->answer(HttpResponse{.status = 204}); });
}

}  // namespace millrace::api
