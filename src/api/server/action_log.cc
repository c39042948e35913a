#include "api/server/action_log.h"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "api/server/action_words.h"
#include "api/server/own_ask.h"
#include "core/clip.h"
#include "core/mutex.h"
#include "core/quote.h"

namespace millrace::api {
namespace {

constexpr std::string_view prefix = "$action/";
constexpr Duration kept_for = std::chrono::days(30);
constexpr std::size_t most_waiting = 1000;
constexpr std::uint32_t hours_per_page = 10;
constexpr int most_tries = 5;
// Keys are listed in ascending order, and the newest are wanted first.
constexpr std::int64_t end_of_time = 9'999'999'999;

std::string key_of(std::int64_t hour) {
  return fmt::format("{}{:010}", prefix, end_of_time - hour);
}

std::int64_t hour_of(TimePoint at) {
  return std::chrono::floor<std::chrono::hours>(at.time_since_epoch()).count();
}

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool good = error == std::errc() && stop == text.data() + text.size() && number >= 0;
  return good ? std::optional(number) : std::nullopt;
}

// A write has no deadline, since no caller waits for it. A read has one, since its caller does:
// own_ask().
Ask to_write(LocalBroker& broker) {
  return {.caller = broker.new_caller(), .internal = true};
}

bool alike(const Action& a, const Action& b) {
  return a.key == b.key && a.session == b.session && a.operation == b.operation;
}

// Fields that differ are cleared, since the joined act would claim them for both.
void join(Action& into, const Action& action) {
  into.last_at = action.last_at.value_or(action.at);
  into.count += action.count;
  if (into.subject != action.subject) into.subject.clear();
  if (into.request != action.request) into.request.clear();
}

// Where a page begins: the hour, and how many of its acts are left to show. nullopt: the newest
// hour, and all of its acts.
struct Place {
  std::optional<std::int64_t> hour = std::nullopt;
  std::optional<std::int64_t> left = std::nullopt;
};

std::optional<Place> place_of(std::string_view cursor) {
  if (cursor.empty()) return Place{};
  const std::size_t dot = cursor.find('.');
  const auto hour = number_in(cursor.substr(0, dot));
  const auto left = dot == cursor.npos ? std::nullopt : number_in(cursor.substr(dot + 1));
  if (!hour || !left || *hour >= end_of_time) return std::nullopt;
  return Place{.hour = hour, .left = left};
}

// Adds the acts of an hour to the page, newest first, until the page is full.
void take_hour(const Memo& memo, const Place& place, std::size_t limit, ActionPage& page) {
  const auto inverted = number_in(std::string_view(memo.key).substr(prefix.size()));
  auto acts = read_actions(memo.value);
  if (!inverted || !acts) return;  // not written by an action log
  const std::int64_t hour = end_of_time - *inverted;
  auto left = static_cast<std::int64_t>(acts->size());
  if (place.hour == hour && place.left) left = std::min(left, *place.left);
  while (left > 0 && page.actions.size() < limit) {
    page.actions.push_back(std::move((*acts)[static_cast<std::size_t>(--left)]));
  }
  page.next = left > 0 ? fmt::format("{}.{}", hour, left) : fmt::format("{}.0", hour);
}

ActionPage page_of(const std::vector<Memo>& hours, const Place& place, std::size_t limit) {
  ActionPage page;
  for (const Memo& memo : hours) {
    if (page.actions.size() >= limit) return page;
    take_hour(memo, place, limit, page);
  }
  // Every stored hour has been read to its end.
  if (hours.size() < hours_per_page && page.next.ends_with(".0")) page.next.clear();
  return page;
}

}  // namespace

void add_action(std::vector<Action>& actions, Action action, std::size_t most) {
  for (auto each = actions.rbegin(); each != actions.rend(); ++each) {
    if (!alike(*each, action)) continue;
    if (each->subject == action.subject && each->request == action.request) {
      return join(*each, action);
    }
  }
  if (actions.size() >= most) {
    const auto like =
        std::ranges::find_if(actions, [&](const Action& each) { return alike(each, action); });
    if (like != actions.end()) return join(*like, action);
    actions.erase(actions.begin());
  }
  actions.push_back(std::move(action));
}

// ---- Writing -----------------------------------------------------------------------------------

void ActionLog::note(LocalBroker& broker, Action action) {
  action.request = clip(std::move(action.request), most_bytes);
  log_(LogLevel::info, "action",
       {{"operation", action.operation},
        {"subject", action.subject},
        {"key", action.key},
        {"name", action.name},
        {"session", action.session},
        {"request_id", action.request_id}});
  {
    const Lock lock(mutex_);
    add_action(waiting_, std::move(action), most_waiting);
    if (std::exchange(writing_, true)) return;
  }
  write(broker);
}

void ActionLog::write(LocalBroker& broker) {
  std::vector<Action> fresh;
  std::int64_t hour = 0;
  {
    const Lock lock(mutex_);
    if (waiting_.empty()) {
      writing_ = false;
      return;
    }
    hour = hour_of(waiting_.front().at);
    const auto same = [&](const Action& each) { return hour_of(each.at) == hour; };
    const auto rest = std::ranges::find_if_not(waiting_, same);
    fresh.assign(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(rest));
    waiting_.erase(waiting_.begin(), rest);
  }
  read_then_write(broker, hour, std::move(fresh), 1);
}

// By compare-and-set, since other servers may write the same hour.
void ActionLog::read_then_write(LocalBroker& broker, std::int64_t hour, std::vector<Action> fresh,
                                int tries) {
  broker.recall(
      to_write(broker), {.prefix = key_of(hour), .limit = 1},
      [this, &broker, hour, fresh = std::move(fresh),
       tries](Result<std::vector<Memo>> found) mutable {
        if (!found) {
          log_(LogLevel::warning, "actions were not kept", {{"error", found.error().message}});
          return write(broker);
        }
        std::vector<Action> all;
        if (!found->empty()) {
          all = read_actions(found->front().value).value_or(std::vector<Action>());
        }
        for (const Action& action : fresh) add_action(all, action, most_per_hour);
        Remember memo{.key = key_of(hour),
                      .value = text_of(all),
                      .expected = found->empty() ? 0 : found->front().version,
                      .lifetime = kept_for};
        broker.remember(to_write(broker), std::move(memo),
                        [this, &broker, hour, fresh = std::move(fresh),
                         tries](const Result<Memo>& stored) mutable {
                          if (stored) return write(broker);
                          if (stored.error().code == ErrorCode::conflict && tries < most_tries) {
                            return read_then_write(broker, hour, std::move(fresh), tries + 1);
                          }
                          log_(LogLevel::warning, "actions were not kept",
                               {{"error", stored.error().message}});
                          write(broker);
                        });
      });
}

// ---- Reading -----------------------------------------------------------------------------------

void ActionLog::list(LocalBroker& broker, std::string_view cursor, std::size_t limit,
                     Completion<ActionPage> done) {
  const auto place = place_of(cursor);
  if (!place) {
    return done(fail(ErrorCode::invalid,
                     fmt::format("cursor {} is not known; use the `next` of "
                                 "the page before",
                                 in_quotes(cursor)),
                     "cursor"));
  }
  Recall recall{.prefix = std::string(prefix), .limit = hours_per_page};
  // An hour that has been read to its end is left out.
  if (place->hour) recall.after = key_of(*place->left > 0 ? *place->hour + 1 : *place->hour);
  broker.recall(
      own_ask(broker), std::move(recall),
      [place = *place, limit, done = std::move(done)](Result<std::vector<Memo>> hours) mutable {
        if (!hours) return done(std::unexpected(std::move(hours.error())));
        done(page_of(*hours, place, limit));
      });
}

}  // namespace millrace::api
