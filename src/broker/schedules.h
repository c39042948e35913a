// Schedules, as the API, the App and the tools use them. Completions follow the rules of Broker.
#pragma once

#include <millrace/result.h>
#include <millrace/schedule.h>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "broker/broker.h"

namespace millrace {

using ScheduleChange = std::move_only_function<Result<void>(Schedule&)>;

class Schedules {
 public:
  virtual ~Schedules() = default;

  // One schedule or all, by name.
  virtual void schedules(Ask ask, std::optional<std::string> name,
                         Completion<std::vector<Schedule>> done) = 0;
  // `next` is computed from the rule. `create` of a schedule that exists is a `conflict`.
  virtual void put_schedule(Ask ask, Schedule schedule, PutQueue mode,
                            Completion<Schedule> done) = 0;
  // Like Broker::change_queue().
  virtual void change_schedule(Ask ask, std::string name, ScheduleChange change,
                               Completion<Schedule> done) = 0;
  virtual void remove_schedule(Ask ask, std::string name, Completion<void> done) = 0;
  // Puts the schedule's task now, whatever its overlap rule; its ticks go on as before.
  virtual void run_schedule(Ask ask, std::string name, Completion<Put> done) = 0;
};

}  // namespace millrace
