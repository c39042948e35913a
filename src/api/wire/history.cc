#include "api/wire/history.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "api/wire/text_reader.h"
#include "api/wire/text_writer.h"

namespace millrace::wire {

// Milliseconds.
struct Spread {
  std::optional<double> p50 = std::nullopt;
  std::optional<double> p95 = std::nullopt;
  std::optional<double> p99 = std::nullopt;

  friend bool operator==(const Spread&, const Spread&) = default;
};
void fields(A<Spread> auto& of, auto& visit) {
  visit("p50", of.p50), visit("p95", of.p95), visit("p99", of.p99);
}

// A point as it is sent.
struct PointText {
  HistoryPoint point = {};
  Spread wait_ms = {};
  Spread run_ms = {};
  std::optional<std::uint64_t> waiting = std::nullopt;
  std::optional<std::uint64_t> running = std::nullopt;
};
void fields(A<PointText> auto& of, auto& visit) {
  auto& point = of.point;
  visit("at", point.at), visit("put", always(point.put)), visit("taken", always(point.taken));
  visit("completed", always(point.completed)), visit("failed", always(point.failed));
  visit("retried", always(point.retried)), visit("lost", always(point.lost));
  visit("cancelled", always(point.cancelled));
  visit("wait_ms", of.wait_ms), visit("run_ms", of.run_ms);
  visit("waiting", of.waiting), visit("running", of.running);
}
// The sum of all points: it has no moment of its own.
struct TotalText {
  HistoryPoint point = {};
  Spread wait_ms = {};
  Spread run_ms = {};
};
void fields(A<TotalText> auto& of, auto& visit) {
  auto& point = of.point;
  visit("put", always(point.put)), visit("taken", always(point.taken));
  visit("completed", always(point.completed)), visit("failed", always(point.failed));
  visit("retried", always(point.retried)), visit("lost", always(point.lost));
  visit("cancelled", always(point.cancelled));
  visit("wait_ms", of.wait_ms), visit("run_ms", of.run_ms);
}
void fields(A<HistorySeries> auto& of, auto& visit) {
  visit("name", always(of.name)), visit("put", of.put), visit("completed", of.completed);
  visit("failed", of.failed), visit("retried", of.retried);
  visit("waiting", of.waiting), visit("running", of.running);
}
struct HistoryText {
  Duration step{};
  std::vector<PointText> points = {};
  TotalText total = {};
  std::vector<HistorySeries> series = {};
};
void fields(A<HistoryText> auto& of, auto& visit) {
  visit("step_ms", required(of.step)), visit("points", required(of.points));
  visit("total", always(of.total)), visit("series", of.series);
}

namespace {

constexpr double ms_per_second = 1000;

std::optional<double> scaled(const std::optional<double>& value, double by) {
  return value ? std::optional(*value * by) : std::nullopt;
}

template <class Text>
void set_spreads(Text& text) {
  const HistoryPoint& point = text.point;
  text.wait_ms = {scaled(point.wait_p50, ms_per_second), scaled(point.wait_p95, ms_per_second),
                  scaled(point.wait_p99, ms_per_second)};
  text.run_ms = {scaled(point.run_p50, ms_per_second), scaled(point.run_p95, ms_per_second),
                 scaled(point.run_p99, ms_per_second)};
}

PointText as_sent(const HistoryPoint& point, bool depths) {
  PointText text{.point = point};
  if (depths) text.waiting = point.waiting, text.running = point.running;
  set_spreads(text);
  return text;
}

template <class Text>
HistoryPoint as_meant(const Text& text) {
  constexpr double back = 1 / ms_per_second;
  HistoryPoint point = text.point;
  point.wait_p50 = scaled(text.wait_ms.p50, back), point.wait_p95 = scaled(text.wait_ms.p95, back);
  point.wait_p99 = scaled(text.wait_ms.p99, back), point.run_p50 = scaled(text.run_ms.p50, back);
  point.run_p95 = scaled(text.run_ms.p95, back), point.run_p99 = scaled(text.run_ms.p99, back);
  return point;
}

}  // namespace

std::string text_of(const History& history, bool depths) {
  HistoryText text{.step = history.step, .series = history.series};
  text.points.reserve(history.points.size());
  for (const HistoryPoint& point : history.points) text.points.push_back(as_sent(point, depths));
  text.total.point = history.total;
  set_spreads(text.total);
  std::string out;
  append(out, text);
  return out;
}

Result<History> history_from(std::string_view text) {
  auto read = read_answer<HistoryText>(text);
  if (!read) return std::unexpected(std::move(read.error()));
  History history{.step = read->step};
  history.points.reserve(read->points.size());
  for (const PointText& sent : read->points) {
    HistoryPoint& point = history.points.emplace_back(as_meant(sent));
    point.waiting = sent.waiting.value_or(0), point.running = sent.running.value_or(0);
  }
  history.total = as_meant(read->total);
  history.series = std::move(read->series);
  return history;
}

// ---- Types of a queue ----

namespace {

void append_type(std::string& out, const TypePast& past, double seconds) {
  const PointText sent = as_sent(past.sum, false);
  const HistoryPoint& sum = past.sum;
  TextWriter writer(out);
  append(writer.key("type"), past.type);
  for (const auto& [name, value] :
       {std::pair{"put", sum.put}, std::pair{"taken", sum.taken},
        std::pair{"completed", sum.completed}, std::pair{"failed", sum.failed},
        std::pair{"dead", past.dead}, std::pair{"retried", sum.retried},
        std::pair{"lost", sum.lost}, std::pair{"cancelled", sum.cancelled}}) {
    append(writer.key(name), value);
  }
  const auto rate = [&](std::uint64_t count) { return static_cast<double>(count) / seconds; };
  TextWriter rates(writer.key("rates"));
  append(rates.key("put"), rate(sum.put)), append(rates.key("take"), rate(sum.taken));
  append(rates.key("finish"), rate(sum.completed + sum.failed));
  append(rates.key("fail"), rate(sum.failed)), append(rates.key("retry"), rate(sum.retried));
  rates.close();
  writer("wait_ms", sent.wait_ms), writer("run_ms", sent.run_ms);
  writer.close();
}

}  // namespace

std::string text_of(const TypesPast& past, TimePoint since, TimePoint now) {
  // Counts of less than a second are treated as those of one second.
  const double seconds = std::max(1.0, std::chrono::duration<double>(now - since).count());
  std::string out;
  TextWriter writer(out);
  append(writer.key("since"), since);
  append_type(writer.key("total"), past.all, seconds);
  writer.key("types") += '[';
  for (const TypePast& each : past.types) {
    if (&each != &past.types.front()) out += ',';
    append_type(out, each, seconds);
  }
  out += ']';
  writer.close();
  return out;
}

}  // namespace millrace::wire
