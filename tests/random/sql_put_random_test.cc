// millrace.put_task() in SQL is a second implementation of put. Random tasks go through it into
// PostgreSQL and through Store::put into memory, at the same moment: both have to answer alike, and
// both have to hold the same task afterwards, field by field.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/limits.h"
#include "core/transition.h"
#include "core/uuid.h"
#include "postgres/connection.h"
#include "store/embedded/memory.h"
#include "store/store.h"
#include "tests/random/describe.h"
#include "tests/random/dice.h"
#include "tests/random/seeds.h"
#include "tests/support/builders.h"
#include "tests/support/driver.h"
#include "tests/support/postgres_stores.h"
#include "tests/support/print.h"
#include "tests/support/shared_postgres.h"

namespace millrace::test {
namespace {

using namespace std::chrono_literals;

// The ways to give a payload. A jsonb has forgotten what it was made from.
enum class Form : std::uint8_t { bytes = 0, text = 1, json = 2, jsonb = 3 };
constexpr std::uint32_t form_count = 4;

constexpr std::string_view put_task = R"sql(
  select task_id, number, state, existing from millrace.put_task(
    queue => $1, payload => {}, type => $3, priority => $4,
    delay => $5::bigint * interval '1 millisecond', start => $6, start_by => $7, unique_key => $8,
    unique_scope => $9, unique_window => $10::bigint * interval '1 millisecond', client_id => $11,
    request_id => $12, "group" => $13, tags => $14, metadata => $15::jsonb, content_type => $16,
    timeout => $17::bigint * interval '1 millisecond', max_retries => $18,
    keep_for => $19::bigint * interval '1 millisecond', held => $20, id => $21, wake => $22))sql";

const postgres::Sql& statement_of(Form form) {
  static const std::array<std::string, form_count> texts = {
      fmt::format(put_task, "$2::bytea"), fmt::format(put_task, "convert_from($2, 'UTF8')"),
      fmt::format(put_task, "convert_from($2, 'UTF8')::json"),
      fmt::format(put_task, "convert_from($2, 'UTF8')::jsonb")};
  static const std::array<postgres::Sql, form_count> statements = {
      postgres::Sql{"put_bytes", texts[0]}, postgres::Sql{"put_text", texts[1]},
      postgres::Sql{"put_json", texts[2]}, postgres::Sql{"put_jsonb", texts[3]}};
  return statements[static_cast<std::size_t>(form)];
}

// A call of put_task().
struct Call {
  NewTask task;
  Form form = Form::bytes;
  bool names_id = true;  // false: SQL makes one
  bool wakes = false;
};

// The largest integer stands for no limit.
std::optional<std::int32_t> max_retries_of(const NewTask& task) {
  constexpr std::uint32_t no_limit = std::numeric_limits<std::int32_t>::max();
  if (!task.retry) return std::nullopt;
  return static_cast<std::int32_t>(std::min(*task.retry->max_retries, no_limit));
}

ErrorCode code_of(const std::string& state) {
  if (state == "22023" || state == "22004") return ErrorCode::invalid;
  if (state == "54000") return ErrorCode::too_large;
  if (state == "42704") return ErrorCode::not_found;
  if (state == "55000") return ErrorCode::conflict;
  if (state == "53400") return ErrorCode::limited;
  return ErrorCode::internal;
}

std::string text_of(const QueueRef& queue) {
  if (const auto* name = std::get_if<std::string>(&queue)) return *name;
  if (const auto* number = std::get_if<QueueNumber>(&queue)) return std::to_string(number->value);
  return to_text(std::get<Uuid>(queue));
}

std::optional<std::string_view> some(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<std::string_view>(text);
}

std::optional<std::int64_t> ms(const std::optional<Duration>& duration) {
  return duration ? std::optional<std::int64_t>(duration->count()) : std::nullopt;
}

postgres::Params params_of(const Call& call) {
  const NewTask& task = call.task;
  constexpr std::array<std::string_view, 3> scopes = {"until_started", "until_finished", "window"};
  postgres::Params params;
  params.add(text_of(task.queue)), params.add_bytes(task.payload), params.add(task.type);
  params.add(std::int32_t{task.priority}), params.add(ms(task.delay)), params.add(task.start);
  params.add(task.start_by);
  if (task.unique) {
    const bool window = task.unique->scope == UniqueScope::window;
    params.add(task.unique->key);
    params.add(scopes[static_cast<std::size_t>(task.unique->scope)]);
    params.add(window ? std::optional<std::int64_t>(task.unique->window.count()) : std::nullopt);
  } else {
    params.add(std::optional<std::string_view>()), params.add(std::optional<std::string_view>());
    params.add(std::optional<std::int64_t>());
  }
  params.add(some(task.client_id)), params.add(some(task.request_id)), params.add(some(task.group));
  postgres::Array<std::string_view> tags;
  for (const std::string& tag : task.tags) tags.push(tag);
  params.add_whole(tags);
  params.add(some(task.metadata)), params.add(some(task.content_type));
  params.add(ms(task.timeout));
  params.add(max_retries_of(task));
  params.add(ms(task.keep_for)), params.add(task.held);
  params.add(call.names_id ? std::optional(task.id.value) : std::nullopt);
  params.add(call.wakes);
  return params;
}

class SqlPutDuel {
 public:
  explicit SqlPutDuel(std::uint64_t seed) : dice_(seed) {
    auto opened = postgres::Connection::open({.url = shared_postgres().url()});
    if (!opened) throw std::runtime_error(opened.error().message);
    connection_ = std::move(*opened);
    for (std::uint32_t i = 0; i < 3; ++i) put_queue(i);
    begin_removal();
  }

  void step() {
    const auto roll = dice_.below(100);
    if (roll < 75) return put();
    if (roll < 92) return work();
    put_queue(dice_.below(3));
  }

  int added = 0;
  int existing = 0;
  std::map<ErrorCode, int> refused;

 private:
  TimePoint time() { return must(postgres_->time()).value(); }

  void put_queue(std::uint32_t index) {
    QueueSettings settings = queue(fmt::format("q{}", index));
    settings.number = QueueNumber{index + 1};
    settings.id = queue_id(index + 1);
    if (dice_.percent(30)) settings.max_depth = 3 + dice_.below(6);
    if (dice_.percent(10)) settings.active = false;
    if (dice_.percent(10)) settings.draining = true;
    settings.keep_completed = {.for_time = dice_.percent(30) ? 0ms : Duration(1h)};
    const TimePoint now = time();
    ASSERT_TRUE(memory_->put_queue(settings, PutQueue::replace, now).has_value());
    ASSERT_TRUE(postgres_->put_queue(settings, PutQueue::replace, now).has_value());
  }

  // One more queue, which is being removed for as long as no upkeep runs.
  void begin_removal() {
    const TimePoint now = time();
    const NewTask inside = task("removed");
    for (Store* store : {memory_.get(), postgres_.get()}) {
      must(store->put_queue(queue("removed"), PutQueue::create, now));
      must(only(store->put(std::vector<NewTask>{inside}, now)));
      must(store->remove_queue("removed", true, now));
    }
  }

  // ---- Tasks ----------------------------------------------------------------------------------

  QueueRef some_queue() {
    const auto index = dice_.below(3);
    const auto roll = dice_.below(100);
    if (roll < 3) return std::string("ghost");
    if (roll < 5) return std::string("removed");
    if (roll < 13) return QueueNumber{index + 1};
    if (roll < 23) return queue_id(index + 1);
    return fmt::format("q{}", index);
  }

  std::string label(const std::string& usual) {
    static const std::vector<std::string> odd = {"null", "{a,b}", "a\"b",    "a\\b",
                                                 " a ",  "'; --", "\xC3\xA9"};
    return dice_.percent(15) ? dice_.pick(odd) : dice_.word(usual, 3);
  }

  NewTask new_task(TimePoint now) {
    NewTask task{.queue = some_queue()};
    task.id = dice_.percent(90) || last_ == 0 ? task_id(++last_) : task_id(1 + dice_.below(last_));
    if (dice_.percent(60)) task.type = dice_.word("type", 3);
    if (dice_.percent(60)) task.payload = std::string("\0\xFF", 2) + dice_.word("payload", 9);
    if (dice_.percent(50)) task.priority = static_cast<std::uint8_t>(dice_.below(10));
    if (dice_.percent(20)) task.delay = dice_.between(0ms, 2h);
    if (!task.delay && dice_.percent(20)) task.start = now + (dice_.percent(50) ? 1h : -1h);
    if (dice_.percent(20)) task.start_by = now + 3h;
    if (dice_.percent(40)) {
      task.unique =
          UniqueKey{.key = dice_.word("key", 4), .scope = static_cast<UniqueScope>(dice_.below(3))};
      if (task.unique->scope == UniqueScope::window) task.unique->window = dice_.between(1h, 2h);
    }
    if (dice_.percent(30)) task.client_id = label("client");
    if (dice_.percent(30)) task.request_id = label("request");
    if (dice_.percent(30)) task.group = label("group");
    while (dice_.percent(40)) task.tags.push_back(label("tag"));
    if (dice_.percent(20))
      task.metadata = metadata_of(dice_.percent(20) ? limits::max_metadata : 20);
    if (dice_.percent(20)) task.content_type = "text/plain";
    if (dice_.percent(20)) task.timeout = dice_.between(1ms, 1h);
    if (dice_.percent(20)) {
      task.retry.emplace().max_retries = dice_.percent(20) ? unlimited : dice_.below(9);
    }
    if (dice_.percent(20)) task.keep_for = dice_.between(0ms, 1h);
    if (dice_.percent(10)) task.held = true;
    if (dice_.percent(10)) spoil(task, now);
    return task;
  }

  // As jsonb prints it, so that its bytes come back.
  static std::string metadata_of(std::size_t size) {
    const std::string begin = "{\"a\": \"";
    const std::string end = "\"}";
    return begin + std::string(size - begin.size() - end.size(), 'x') + end;
  }

  Call new_call(TimePoint now) {
    Call call{.task = new_task(now)};
    call.wakes = dice_.percent(10);
    call.names_id = call.task.id.value.is_nil() || dice_.percent(85);
    const std::vector<std::string> as_json = {"{\"a\": [1, null]}", "\"text\"", "0"};
    if (call.task.payload.size() > limits::usual_task_size || dice_.percent(70)) return call;
    call.form = static_cast<Form>(1 + dice_.below(form_count - 1));
    call.task.payload = call.form == Form::text   ? "any text"
                        : call.form == Form::json ? " " + dice_.pick(as_json)
                                                  : dice_.pick(as_json);
    return call;
  }

  void spoil(NewTask& task, TimePoint now) {
    const auto too_long = [](std::size_t most) { return std::string(most + 1, 'x'); };
    const std::vector<std::function<void()>> ways = {
        [&] { task.id = {}; },
        [&] { task.type = "no spaces"; },
        [&] { task.type = too_long(limits::max_name); },
        [&] { task.payload = too_long(limits::usual_task_size); },
        [&] { task.priority = limits::max_priority + 1; },
        [&] { task.start = now, task.delay = 1s; },
        [&] { task.delay = -1ms, task.start.reset(); },
        [&] { task.delay = limits::max_delay + 1ms, task.start.reset(); },
        [&] { task.start = now + limits::max_delay + 1h, task.delay.reset(); },
        [&] { task.start_by = now + limits::max_delay + 1h; },
        [&] { task.delay = 2h, task.start.reset(), task.start_by = now + 1h; },
        [&] { task.client_id = too_long(limits::max_label); },
        [&] { task.request_id = too_long(limits::max_label); },
        [&] { task.group = "line\nbreak"; },
        [&] { task.content_type = "\x7F"; },
        [&] { task.tags = {""}; },
        [&] { task.tags = {too_long(limits::max_tag)}; },
        [&] { task.tags.assign(limits::max_tags + 1, "t"); },
        [&] { task.metadata = metadata_of(limits::max_metadata + 1); },
        [&] { task.timeout = 0ms; },
        [&] { task.timeout = limits::max_delay + 1ms; },
        [&] { task.keep_for = -1ms; },
        [&] { task.keep_for = limits::max_delay + 1ms; },
        [&] { task.unique = UniqueKey{.key = ""}; },
        [&] { task.unique = UniqueKey{.key = too_long(limits::max_unique_key)}; },
        [&] { task.unique = UniqueKey{.key = "k", .scope = UniqueScope::window}; },
        // SQL answers with a task that has the id before it looks at the name.
        [&] { task.queue = std::string("bad name"), task.id = task_id(++last_); },
    };
    dice_.pick(ways)();
  }

  // ---- Both sides -----------------------------------------------------------------------------

  Result<Put> put_with_sql(const Call& call) {
    const auto rows = connection_->transact(statement_of(call.form), params_of(call));
    if (!rows) {
      return std::unexpected(Error{code_of(rows.error().state), rows.error().message});
    }
    const auto state = rows->get<std::optional<std::string>>(0, 2);
    return Put{.id = {rows->get<Uuid>(0, 0)},
               .number = {rows->get<std::uint64_t>(0, 1)},
               .state = state ? state_from_name(*state) : std::nullopt,
               .existing = rows->get<bool>(0, 3)};
  }

  static Task comparable(Task task) {
    task.number = {};
    return task;
  }

  void put() {
    const TimePoint before = time();
    const Call call = new_call(before);
    const Result<Put> theirs = put_with_sql(call);
    NewTask task = call.task;
    if (!call.names_id) task.id = theirs && !theirs->existing ? theirs->id : task_id(++last_);
    TimePoint now = before;
    if (theirs && !theirs->existing) {
      const Task there = must(find_task(*postgres_, theirs->id));
      EXPECT_EQ(there.number, theirs->number);
      now = there.updated_at;
    }
    const Result<Put> ours = only(memory_->put(std::vector<NewTask>{task}, now));
    const std::string what = ::testing::PrintToString(task);
    ASSERT_EQ(ours.has_value(), theirs.has_value())
        << what << "\n"
        << (ours ? theirs.error() : ours.error()).message;
    if (!ours) {
      ++refused[ours.error().code];
      ASSERT_EQ(ours.error().code, theirs.error().code) << what << "\n"
                                                        << ours.error().message << "\n"
                                                        << theirs.error().message;
      return;
    }
    ++(ours->existing ? existing : added);
    ASSERT_EQ(ours->id, theirs->id) << what;
    ASSERT_EQ(ours->existing, theirs->existing) << what;
    ASSERT_EQ(ours->state, theirs->state) << what;
    compare(ours->id);
  }

  void compare(const TaskId& id) {
    const auto ours = find_task(*memory_, id);
    const auto theirs = find_task(*postgres_, id);
    ASSERT_EQ(ours.has_value(), theirs.has_value()) << to_text(id.value);
    if (!ours) return;
    ASSERT_EQ(comparable(*ours), comparable(*theirs));
  }

  void work() {
    const TimePoint now = time();
    const TakeRequest request{.worker = "w",
                              .queues = {{fmt::format("q{}", dice_.below(3)), 1 + dice_.below(4)}}};
    const auto take = [&](Store& store) {
      return must(must(store.work({}, {}, std::vector{request}, now)).taken.at(0));
    };
    const auto ours = take(*memory_);
    const auto theirs = take(*postgres_);
    ASSERT_EQ(ours.size(), theirs.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
      ASSERT_EQ(ours[i].id, theirs[i].id);
      if (dice_.percent(20)) continue;  // it stays leased
      const auto settle = [&](Store& store, const Lease& lease) {
        return only(Result<std::vector<Result<Settled>>>(
            must(store.work(std::vector{done(lease)}, {}, {}, now)).settled));
      };
      ASSERT_EQ(must(settle(*memory_, ours[i])), must(settle(*postgres_, theirs[i])));
      compare(ours[i].id);
    }
  }

  Dice dice_;
  std::unique_ptr<Store> memory_ = open_memory();
  std::unique_ptr<Store> postgres_ = open_fresh_postgres();
  std::unique_ptr<postgres::Connection> connection_;
  std::uint32_t last_ = 0;
};

TEST(RandomSqlPut, agrees_with_memory) {
  int added = 0;
  int existing = 0;
  std::map<ErrorCode, int> refused;
  const auto [first, count] = seeds_to_run(10);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    SqlPutDuel duel(seed);
    for (int i = 0; i < 150 && !::testing::Test::HasFailure(); ++i) duel.step();
    if (::testing::Test::HasFailure()) return;
    added += duel.added;
    existing += duel.existing;
    for (const auto& [code, times] : duel.refused) refused[code] += times;
  }
  if (count < 10) return;  // too few to have met everything
  EXPECT_GT(added, 300);
  EXPECT_GT(existing, 100);
  for (const ErrorCode code : {ErrorCode::invalid, ErrorCode::too_large, ErrorCode::not_found,
                               ErrorCode::conflict, ErrorCode::limited}) {
    EXPECT_GT(refused[code], 5) << name_of(code);
  }
}

}  // namespace
}  // namespace millrace::test
