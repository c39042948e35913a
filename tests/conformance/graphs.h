// Tasks that wait for others, for the suite.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/decide.h"
#include "store/store.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {

inline NewTask after(std::vector<TaskId> parents, After how = {}, NewTask fields = {}) {
  how.tasks = std::move(parents);
  fields.after = std::move(how);
  return task("q", std::move(fields));
}

inline std::vector<Put> put_graph(StoreDriver& driver, const std::vector<NewTask>& tasks,
                                  Where where = Where::current()) {
  return must(driver.store().put_all(tasks, driver.now), where);
}

// The lease of the only task that may be taken.
inline Lease only_ready(StoreDriver& driver, Where where = Where::current()) {
  auto leases = driver.take("q");
  if (leases.size() != 1) give_up("not one task is ready", where);
  return std::move(leases.front());
}

// What the broker does with tasks whose parents ended otherwise; returns how many there were.
inline std::size_t cancel_orphans(StoreDriver& driver) {
  std::size_t count = 0;
  for (const Overdue& overdue : driver.due()) {
    if (!overdue.parent) continue;
    const Version version = std::get<Unchanged>(overdue.expect).version;
    driver.settle(decide_orphaned(overdue.lease.id, version, *overdue.parent, driver.now));
    ++count;
  }
  return count;
}

}  // namespace millrace::test
