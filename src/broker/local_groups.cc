// Groups of queues: lists of them, and what single ones do differently.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broker/compare_and_set.h"
#include "broker/local_broker.h"
#include "core/ensure.h"
#include "core/group_rules.h"
#include "core/quote.h"
#include "core/time_text.h"
#include "core/validate.h"
#include "store/store.h"

namespace millrace {
namespace {

Result<Group> find_group(Reader& reader, const QueueRef& queue, const std::string& name,
                         TimePoint now) {
  auto page = reader.groups({.queue = queue, .name = name}, now);
  if (!page) return std::unexpected(std::move(page.error()));
  ensure(page->groups.size() == 1, "the store did not answer with the group that was asked for");
  return std::move(page->groups.front());
}

// Without what changes all the while: whether another server has changed the override shows in the
// rest.
Result<std::vector<Group>> found_override(Reader& reader, const QueueRef& queue,
                                          const std::string& name, TimePoint now) {
  auto group = find_group(reader, queue, name, now);
  if (!group) return std::unexpected(std::move(group.error()));
  std::vector<Group> found(1);
  found.front().name = std::move(group->name);
  found.front().override = std::move(group->override);
  return found;
}

// nullopt: it says nothing.
Result<std::optional<GroupOverride>> override_meant(const GroupOverride& old, GroupOverride changed,
                                                    TimePoint now) {
  GroupOverride said = changed;
  said.until.reset();
  if (said == GroupOverride{} && changed.until && changed.until != old.until) {
    return fail(ErrorCode::invalid,
                "until says when the changes of a group end, but there are none; give a limit, a "
                "weight or a pause with it",
                "until");
  }
  if (said == GroupOverride{}) return std::optional<GroupOverride>();
  if (changed.until && *changed.until <= now) {
    return fail(ErrorCode::invalid,
                fmt::format("until is {}, and it is {} now; allowed is a later moment, or none for "
                            "a change without an end",
                            format_time(*changed.until), format_time(now)),
                "until");
  }
  return std::optional(std::move(changed));
}

}  // namespace

void LocalBroker::groups(Ask ask, GroupsRequest request, Completion<GroupPage> done) {
  if (auto good = validate(request); !good) return done(std::unexpected(std::move(good.error())));
  read<GroupPage>(
      ask,
      [request = std::move(request)](Reader& reader, TimePoint now) {
        return reader.groups(request, now);
      },
      std::move(done));
}

void LocalBroker::change_group(Ask ask, QueueRef queue, std::string name, GroupChange change,
                               Completion<Group> done) {
  if (auto good = validate(PutGroup{.queue = queue, .name = name}); !good) {
    return done(std::unexpected(std::move(good.error())));
  }
  call<Group>(
      ask,
      [this, queue = std::move(queue), name = std::move(name), change = std::move(change)](
          Store& store, TimePoint now) mutable -> Result<Group> {
        return compare_and_set<Group>(
            fmt::format("group {} of queue {}", in_quotes(name), text_of(queue)),
            [&] { return found_override(store, queue, name, now); },
            [&](const Group* old) { return store_group(store, queue, *old, change, now); });
      },
      std::move(done));
}

Result<Group> LocalBroker::store_group(Store& store, const QueueRef& queue, const Group& old,
                                       GroupChange& change, TimePoint now) {
  PutGroup put{.queue = queue, .name = old.name, .seen = old.override};
  const GroupOverride before =
      old.override && counts(*old.override, now) ? *old.override : GroupOverride{};
  GroupOverride changed = before;
  if (auto good = change(changed); !good) return std::unexpected(std::move(good.error()));
  auto to = override_meant(before, std::move(changed), now);
  if (!to) return std::unexpected(std::move(to.error()));
  put.now = std::move(*to);
  if (auto good = validate(put); !good) return std::unexpected(std::move(good.error()));
  if (put.now == put.seen) return find_group(store, queue, old.name, now);
  auto stored = store.put_group(put, now);
  if (stored) {
    books_.log()(LogLevel::info,
                 fmt::format("group {} of queue {} {}", in_quotes(stored->name), stored->queue,
                             put.now ? "changed" : "is as its queue says again"),
                 {{"queue", stored->queue}, {"group", stored->name}});
  }
  return stored;
}

}  // namespace millrace
