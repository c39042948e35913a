#include "broker/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "broker/explain_words.h"
#include "core/limits.h"
#include "core/time_text.h"
#include "core/transition.h"
#include "core/uuid.h"

namespace millrace {
namespace {

// Longer than the longest poll for work: a worker that still waits has asked since.
constexpr Duration silence = std::chrono::minutes(2);

std::string rate_text(double per_second) {
  if (per_second >= 10)
    return fmt::format("{} per second", number_text(static_cast<std::uint64_t>(per_second + 0.5)));
  if (per_second >= 1) return fmt::format("{:.1f} per second", per_second);
  return fmt::format("{:.1f} per minute", per_second * 60);
}

std::optional<TimePoint> after(std::uint64_t tasks, double per_second, TimePoint now) {
  if (per_second <= 0) return std::nullopt;
  const double ms = std::ceil(static_cast<double>(tasks) / per_second * 1000);
  if (ms > static_cast<double>(limits::max_delay.count())) return std::nullopt;
  return later(now, Duration(static_cast<Duration::rep>(ms)));
}

// How many of `count` equals come before a task that became ready then: as if they had come evenly
// between the oldest and now.
std::uint64_t place_among(std::uint64_t count, std::optional<TimePoint> oldest, TimePoint start,
                          TimePoint now) {
  if (!oldest || count <= 1 || start <= *oldest || now <= *oldest) return 0;
  const double share = std::min(1.0, static_cast<double>((start - *oldest).count()) /
                                         static_cast<double>((now - *oldest).count()));
  return static_cast<std::uint64_t>(share * static_cast<double>(count - 1));
}

// About how many tasks of the queue are taken before this one.
std::uint64_t ahead_of(const ExplainFacts& facts) {
  const auto& queued = facts.counts.by[static_cast<std::size_t>(TaskState::queued)];
  std::uint64_t ahead = 0;
  for (std::size_t p = facts.task.priority + 1U; p < priority_count; ++p) ahead += queued[p];
  const std::uint64_t same = queued[std::min<std::size_t>(facts.task.priority, 9)];
  return ahead + place_among(same, facts.counts.oldest, facts.task.start, facts.now);
}

// One function per gate, or per few that belong together: nullopt if the gate is open.
class Gates {
 public:
  explicit Gates(const ExplainFacts& facts)
      : facts_(facts), task_(facts.task), settings_(facts.queue.settings), now_(facts.now) {}

  Explanation first_closed() const {
    using Look = std::optional<Explanation> (Gates::*)() const;
    for (const Look look :
         {&Gates::ended, &Gates::runs, &Gates::held, &Gates::not_due, &Gates::inactive,
          &Gates::paused, &Gates::concurrency, &Gates::rate, &Gates::group, &Gates::no_worker,
          &Gates::behind_in_turn, &Gates::behind}) {
      if (auto closed = (this->*look)()) return *closed;
    }
    return at(Gate::next, "It is next: the next worker that asks for tasks of its queue gets it.");
  }

 private:
  Explanation at(Gate gate, std::string sentence,
                 std::optional<TimePoint> until = std::nullopt) const {
    return {.id = task_.id,
            .state = task_.state,
            .gate = gate,
            .sentence = std::move(sentence),
            .until = until};
  }

  std::optional<Explanation> ended() const {
    if (!is_final(task_.state)) return std::nullopt;
    std::string text = fmt::format("It ended as {} at {}.", name_of(task_.state),
                                   format_time(task_.finished_at.value_or(task_.updated_at)));
    if (task_.error) {
      text.pop_back();
      text += fmt::format(": {}: {}", task_.error->code, task_.error->message);
      if (!text.ends_with('.')) text += '.';
    }
    return at(Gate::final, std::move(text));
  }

  std::optional<Explanation> runs() const {
    if (task_.state != TaskState::processing) return std::nullopt;
    std::string text = task_.started_at ? "It has been running" : "It is running";
    if (!task_.worker.empty()) text += fmt::format(" on {}", task_.worker);
    if (task_.started_at) text += fmt::format(" since {}", format_time(*task_.started_at));
    if (task_.cancel_requested) text += "; its worker is asked to cancel it";
    if (task_.lease_until && *task_.lease_until <= now_) {
      text += "; its lease is over, and it will count as lost soon";
    }
    return at(Gate::running, text + ".", task_.lease_until);
  }

  std::optional<Explanation> held() const {
    if (task_.state != TaskState::created) return std::nullopt;
    if (!task_.waits_for.empty()) return waits();
    if (!is_parked(task_)) return at(Gate::held, "It is held until it is released.");
    const std::string since = format_time(task_.updated_at);
    if (task_.start == never) {
      return at(Gate::parked,
                fmt::format("It has been parked since {} until it is released.", since));
    }
    if (task_.start <= now_) {
      return at(Gate::parked,
                fmt::format("It has been parked since {} until {}. That time has come, and the "
                            "next upkeep of a server with the role all or scheduler releases it.",
                            since, format_time(task_.start)),
                task_.start);
    }
    return at(Gate::parked,
              fmt::format("It has been parked since {} until it is released, at the latest {}.",
                          since, moment_text(task_.start, now_)),
              task_.start);
  }

  Explanation waits() const {
    const After& after = *task_.after;
    std::string text = fmt::format("It waits for {} of {} {}: ", task_.waits_for.size(),
                                   after.tasks.size(), after.tasks.size() == 1 ? "task" : "tasks");
    bool ended = false;
    bool gone = false;
    for (std::size_t i = 0; i < facts_.parents.size(); ++i) {
      const auto& [id, state] = facts_.parents[i];
      ended = ended || (state && is_final(*state));
      gone = gone || !state;
      text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", to_text(id.value),
                          state ? name_of(*state) : "not there");
    }
    const std::size_t more = task_.waits_for.size() - facts_.parents.size();
    if (more != 0) text += fmt::format(" and {} more", more);
    text += '.';
    if (ended && after.otherwise == Otherwise::cancel) {
      text += " It will be cancelled because of how one of them ended.";
    } else if (ended) {
      text += " A release lets it run, and so does a retry of what ended that completes.";
    } else if (gone) {
      text += " A release lets it run.";
    }
    return at(Gate::waits_for, std::move(text));
  }

  std::optional<Explanation> not_due() const {
    // What is queued is due, also where the clock was set back since.
    if (task_.start <= now_ || task_.state == TaskState::queued) return std::nullopt;
    const std::string when = moment_text(task_.start, now_);
    auto closed = at(Gate::not_due,
                     task_.state == TaskState::retrying
                         ? fmt::format("It failed {} and is tried again at {}.",
                                       task_.counters.retries == 1
                                           ? std::string("once")
                                           : fmt::format("{} times", task_.counters.retries),
                                       when)
                         : fmt::format("It is not due until {}.", when),
                     task_.start);
    closed.estimate = task_.start;
    return closed;
  }

  std::optional<Explanation> inactive() const {
    if (facts_.queue.removing) {
      return at(Gate::inactive, fmt::format("The queue {} is being removed.", settings_.name));
    }
    if (settings_.active) return std::nullopt;
    return at(Gate::inactive, fmt::format("The queue {} is switched off.", settings_.name));
  }

  std::optional<Explanation> paused() const {
    const auto until = settings_.paused_until;
    if (!until || *until <= now_) return std::nullopt;
    if (*until == never) {
      return at(Gate::paused,
                fmt::format("The queue {} is paused until it is resumed.", settings_.name));
    }
    return at(
        Gate::paused,
        fmt::format("The queue {} is paused until {}.", settings_.name, moment_text(*until, now_)),
        until);
  }

  std::optional<Explanation> concurrency() const {
    const std::uint64_t running = facts_.counts.taken();
    if (!settings_.max_concurrent || running < *settings_.max_concurrent) return std::nullopt;
    return with_place(at(Gate::concurrency,
                         fmt::format("{} of {} tasks of the queue {} are running; max_concurrent "
                                     "is {}.",
                                     number_text(running), number_text(*settings_.max_concurrent),
                                     settings_.name, number_text(*settings_.max_concurrent))));
  }

  std::optional<Explanation> rate() const {
    if (!settings_.process_rate) return std::nullopt;
    const Rate& rate = *settings_.process_rate;
    const bool costs = settings_.rate_of == RateOf::cost;
    const std::uint32_t needed = costs ? task_.cost : 1;
    if (facts_.takes.fits(rate, now_, needed)) return std::nullopt;
    const TimePoint until = later(now_, facts_.takes.retry_after(rate, now_, needed));
    const std::string per = format_duration(rate.per);
    const std::string in = about(until - now_);
    return with_place(at(
        Gate::rate,
        costs ? fmt::format("The queue {} may use a cost of {} in {}, and too little is left for "
                            "this task, which costs {}; there is room in {}.",
                            settings_.name, number_text(rate.max), per, number_text(needed), in)
              : fmt::format("The queue {} may start {} tasks in {} and has; more may start in "
                            "{}.",
                            settings_.name, number_text(rate.max), per, in),
        until));
  }

  std::optional<Explanation> group() const {
    auto closed = closed_by_group(facts_);
    if (!closed) return std::nullopt;
    return at(closed->gate, std::move(closed->sentence), closed->until);
  }

  std::optional<Explanation> no_worker() const {
    const auto asked = facts_.stats.last_asked;
    if (asked && now_ - *asked <= silence) return std::nullopt;
    const TimePoint since = asked.value_or(facts_.stats.since);
    std::string text =
        asked ? fmt::format("No worker has asked for the queue {} for {}.", settings_.name,
                            about(now_ - since))
              : fmt::format(
                    "No worker has asked for the queue {} since this server started ({} "
                    "ago).",
                    settings_.name, about(now_ - since));
    auto closed = at(Gate::no_worker, std::move(text));
    closed.ahead = ahead_of(facts_);
    return closed;
  }

  // Where groups have turns, the place among all tasks of the queue says nothing.
  std::optional<Explanation> behind_in_turn() const {
    const auto& rules = settings_.groups;
    if (!rules || rules->order != GroupOrder::fair || !facts_.group) return std::nullopt;
    if (facts_.group->ready >= facts_.counts.ready()) return std::nullopt;  // no other group waits
    const std::uint64_t ahead =
        place_among(facts_.group->ready, facts_.group->oldest, task_.start, now_);
    auto closed =
        at(Gate::behind,
           fmt::format("About {} {} of its group \"{}\" {} before it, and the groups of its queue "
                       "have turns.",
                       number_text(ahead), ahead == 1 ? "task" : "tasks", facts_.group->name,
                       ahead == 1 ? "is" : "are"));
    closed.ahead = ahead;
    return closed;
  }

  std::optional<Explanation> behind() const {
    const std::uint64_t ahead = ahead_of(facts_);
    if (ahead == 0) return std::nullopt;
    std::string text = fmt::format("About {} {} before it", number_text(ahead),
                                   ahead == 1 ? "task is" : "tasks are");
    const double pace = facts_.stats.take_rate;
    const auto estimate = after(ahead, pace, now_);
    if (estimate) {
      text += fmt::format("; at {} it should start in about {}", rate_text(pace),
                          about(*estimate - now_));
    }
    auto closed = at(Gate::behind, text + ".");
    closed.ahead = ahead;
    closed.estimate = estimate;
    return closed;
  }

  Explanation with_place(Explanation closed) const {
    closed.ahead = ahead_of(facts_);
    closed.estimate = after(*closed.ahead + 1, facts_.stats.take_rate, now_);
    return closed;
  }

  const ExplainFacts& facts_;
  const Task& task_;
  const QueueSettings& settings_;
  TimePoint now_;
};

}  // namespace

Explanation explain(const ExplainFacts& facts) {
  return Gates(facts).first_closed();
}

}  // namespace millrace
