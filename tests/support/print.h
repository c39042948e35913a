// How Millrace's values look in a failing test. A field that is empty, zero or false is left out.
#pragma once

#include <gtest/gtest.h>
#include <millrace/ids.h>
#include <millrace/queue.h>
#include <millrace/result.h>
#include <millrace/schedule.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <millrace/work.h>
#include <ostream>
#include <string>

#include "core/values.h"

namespace millrace {

namespace test {

// "t0+1h5s": moments as tests write them, relative to t0.
std::string to_text(TimePoint moment);
std::string to_text(Duration duration);

}  // namespace test

// GoogleTest finds these by the namespace of their arguments.
void PrintTo(const Uuid& id, std::ostream* os);
void PrintTo(const TaskId& id, std::ostream* os);
void PrintTo(ErrorCode code, std::ostream* os);
void PrintTo(const Error& error, std::ostream* os);
void PrintTo(TaskState state, std::ostream* os);
void PrintTo(Event event, std::ostream* os);
void PrintTo(SettleStatus status, std::ostream* os);
void PrintTo(UniqueScope scope, std::ostream* os);
void PrintTo(Overlap overlap, std::ostream* os);

void PrintTo(const Counters& counters, std::ostream* os);
void PrintTo(const UniqueKey& unique, std::ostream* os);
void PrintTo(const After& after, std::ostream* os);
void PrintTo(const EndedParent& parent, std::ostream* os);
void PrintTo(const Callback& callback, std::ostream* os);
void PrintTo(const Keep& keep, std::ostream* os);
void PrintTo(const TaskError& error, std::ostream* os);
void PrintTo(const Attempt& attempt, std::ostream* os);
void PrintTo(const LogLine& line, std::ostream* os);
void PrintTo(const DeliveryNote& note, std::ostream* os);
void PrintTo(const NewTask& task, std::ostream* os);
void PrintTo(const Task& task, std::ostream* os);
void PrintTo(const Lease& lease, std::ostream* os);

void PrintTo(const Rate& rate, std::ostream* os);
void PrintTo(const RetryRules& rules, std::ostream* os);
void PrintTo(const TypePolicy& policy, std::ostream* os);
void PrintTo(RateOf counts, std::ostream* os);
void PrintTo(GroupOrder order, std::ostream* os);
void PrintTo(const GroupRules& rules, std::ostream* os);
void PrintTo(const GroupOverride& override, std::ostream* os);
void PrintTo(const Group& group, std::ostream* os);
void PrintTo(const GroupPage& page, std::ostream* os);
void PrintTo(const QueueSettings& settings, std::ostream* os);
void PrintTo(const Queue& queue, std::ostream* os);
void PrintTo(const QueueCounts& counts, std::ostream* os);
void PrintTo(const TickRule& rule, std::ostream* os);
void PrintTo(const Schedule& schedule, std::ostream* os);

void PrintTo(const Put& put, std::ostream* os);
void PrintTo(const Settled& settled, std::ostream* os);
void PrintTo(const Extended& extended, std::ostream* os);
void PrintTo(const Held& expect, std::ostream* os);
void PrintTo(const Lost& expect, std::ostream* os);
void PrintTo(const Unchanged& expect, std::ostream* os);
void PrintTo(const Overdue& overdue, std::ostream* os);
void PrintTo(const Advanced& advanced, std::ostream* os);
void PrintTo(const Memo& memo, std::ostream* os);
void PrintTo(const TaskPage& page, std::ostream* os);
void PrintTo(const WorkResult& result, std::ostream* os);
void PrintTo(const Fired& fired, std::ostream* os);

template <class Tag, class Rep>
void PrintTo(const Strong<Tag, Rep>& strong, std::ostream* os) {
  *os << '#' << strong.value;
}

template <class T>
void PrintTo(const Result<T>& result, std::ostream* os) {
  if (!result) {
    PrintTo(result.error(), os);
  } else if constexpr (std::is_void_v<T>) {
    *os << "ok";
  } else {
    *os << "ok: " << ::testing::PrintToString(*result);
  }
}

}  // namespace millrace

// Moments and durations are types of std::chrono, for which GoogleTest finds no printer of ours.
template <>
class testing::internal::UniversalPrinter<millrace::TimePoint> {
 public:
  static void Print(millrace::TimePoint moment, std::ostream* os) {
    *os << millrace::test::to_text(moment);
  }
};
template <>
class testing::internal::UniversalPrinter<millrace::Duration> {
 public:
  static void Print(millrace::Duration duration, std::ostream* os) {
    *os << millrace::test::to_text(duration);
  }
};
