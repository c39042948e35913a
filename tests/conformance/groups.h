// Groups of a queue, for the suite.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {

// The queue "grouped", made or with other rules.
inline Queue grouped(StoreDriver& driver, std::optional<GroupRules> rules,
                     QueueSettings fields = {}) {
  static const Uuid id = fresh_uuid();
  fields.id = id;
  fields.groups = std::move(rules);
  return driver.make_queue(queue("grouped", std::move(fields)));
}

// A task of a group of that queue: of("a", {.priority = 9}).
inline NewTask of(std::string group, NewTask fields = {}) {
  fields.group = std::move(group);
  return task("grouped", std::move(fields));
}

// One task of each of the groups, in this order: put_groups(*this, "aab").
inline std::vector<TaskId> put_groups(StoreDriver& driver, const std::string& groups) {
  std::vector<NewTask> tasks;
  for (const char name : groups) tasks.push_back(of(std::string(1, name)));
  return ids_of(driver.put_all(tasks));
}

// "aab": the groups of what was taken; a task without a group is '-'.
inline std::string groups_of(const std::vector<Lease>& leases) {
  std::string names;
  for (const Lease& lease : leases) names += lease.group.empty() ? "-" : lease.group;
  return names;
}

inline std::string take_groups(StoreDriver& driver, std::uint32_t most = 1000) {
  return groups_of(driver.take("grouped", most));
}

inline Group find_group(StoreDriver& driver, const std::string& name,
                        const QueueRef& queue = "grouped", Where where = Where::current()) {
  GroupPage page = must(driver.store().groups({.queue = queue, .name = name}, driver.now), where);
  if (page.groups.size() != 1) give_up("one group was asked for", where);
  return std::move(page.groups.front());
}

// What the group does differently from now on, whatever it did until now.
inline Result<Group> try_change_group(StoreDriver& driver, const std::string& name,
                                      std::optional<GroupOverride> to) {
  const auto seen = find_group(driver, name).override;
  return driver.store().put_group({.queue = "grouped", .name = name, .seen = seen, .now = to},
                                  driver.now);
}

inline Group change_group(StoreDriver& driver, const std::string& name,
                          std::optional<GroupOverride> to, Where where = Where::current()) {
  return must(try_change_group(driver, name, std::move(to)), where);
}

}  // namespace millrace::test
