#include "cli/bench_report.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

#include "api/wire/text_writer.h"
#include "cli/console.h"
#include "cli/top_view.h"

namespace millrace::cli {
namespace {

using Nanoseconds = std::chrono::nanoseconds;

double seconds_of(Nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

// 0.34 ms, 3.4 ms, 340 ms, 3.4 s: three digits.
std::string span_text(LatencyBook::Microseconds time) {
  const double ms = static_cast<double>(time.count()) / 1000;
  if (ms >= 1000) return fmt::format("{:.1f} s", ms / 1000);
  return ms >= 100 ? fmt::format("{:.0f} ms", ms)
                   : (ms >= 10 ? fmt::format("{:.1f} ms", ms) : fmt::format("{:.2f} ms", ms));
}

std::string rate_of(double rate) {
  return rate >= 100 ? grouped(static_cast<std::uint64_t>(std::llround(rate)))
                     : fmt::format("{:.1f}", rate);
}

void add_row(Table& table, const char* name, const BenchPhase& phase) {
  table.add({name, grouped(phase.tasks), fmt::format("{:.2f} s", seconds_of(phase.took)),
             Cell(rate_of(phase.rate()), Paint::title), span_text(phase.round_trips.at(0.5)),
             span_text(phase.round_trips.at(0.99)), span_text(phase.round_trips.most()),
             number_cell(phase.errors, Paint::bad)});
}

void add_row(Table& table, const char* name, const LatencyBook& book, std::uint64_t errors) {
  table.add({name, grouped(book.count()), "", "", span_text(book.at(0.5)), span_text(book.at(0.99)),
             span_text(book.most()), number_cell(errors, Paint::bad)});
}

std::string durability_sentence(const Traits& store) {
  switch (store.durability) {
    case Durability::none:
      return store.name == "memory" ? "kept in memory only" : "stored, but not synced to disk";
    case Durability::interval:
      return fmt::format("stored, but not yet safe from a crash of the last {} ms",
                         store.loss_window.count());
    case Durability::synced:
      break;
  }
  return "synced to disk";
}

// What the numbers mean, and what they do not.
std::string reading(const BenchReport& report) {
  const BenchPlan& plan = report.plan;
  std::string text = fmt::format(
      "Measured from {} over {}, network and client included.\n"
      "P50, P99 and MAX are round trips of requests with {} each.\n",
      report.host, counted(plan.connections, "connection", "connections"),
      plan.batch == 1 ? "one task" : fmt::format("up to {} tasks", grouped(plan.batch)));
  if (report.put) {
    text += fmt::format("put: tasks acknowledged, that is {}.\n",
                        durability_sentence(report.server.store));
  }
  if (report.work) {
    text +=
        "work: tasks taken and settled by a worker that does nothing; real handlers add their own "
        "time.\n";
  }
  if (report.trickle) {
    text +=
        "one at a time: from sending a put until it was acknowledged, and until a waiting "
        "worker\nhad the task.\n";
  }
  return text;
}

// What the client itself costs, and whether it was the bottleneck.
std::string client_sentence(const BenchReport& report) {
  Nanoseconds wall{};
  std::uint64_t tasks = 0;
  for (const auto* phase : {&report.put, &report.work}) {
    if (!*phase) continue;
    wall += (*phase)->took;
    tasks += (*phase)->tasks;
  }
  if (wall <= Nanoseconds{} || tasks == 0) return {};
  const double processors = seconds_of(report.client_cpu) / seconds_of(wall);
  std::string text = fmt::format(
      "This client used {:.2f} s of processor time, {:.1f} µs per task put or worked.\n",
      seconds_of(report.client_cpu),
      seconds_of(report.client_cpu) * 1e6 / static_cast<double>(tasks));
  if (processors > 0.7) {
    text += fmt::format(
        "That is {:.1f} processors all the time: the client may have been the bottleneck, and on\n"
        "one machine it takes processor time from the server. Compare with a run from another "
        "machine.\n",
        processors);
  }
  return text;
}

void write(wire::TextWriter& writer, std::string_view name, const LatencyBook& book) {
  const auto ms = [](LatencyBook::Microseconds time) {
    return static_cast<double>(time.count()) / 1000;
  };
  wire::TextWriter times(writer.key(name));
  wire::append(times.key("p50"), ms(book.at(0.5)));
  wire::append(times.key("p99"), ms(book.at(0.99)));
  wire::append(times.key("max"), ms(book.most()));
  times.close();
}

void write(wire::TextWriter& writer, std::string_view name,
           const std::optional<BenchPhase>& phase) {
  if (!phase) return;
  wire::TextWriter part(writer.key(name));
  wire::append(part.key("tasks"), phase->tasks);
  wire::append(part.key("seconds"), seconds_of(phase->took));
  wire::append(part.key("rate"), phase->rate());
  write(part, "round_trip_ms", phase->round_trips);
  wire::append(part.key("errors"), phase->errors);
  if (phase->error) wire::append(part.key("error"), phase->error->message);
  part.close();
}

}  // namespace

double BenchPhase::rate() const {
  const double seconds = seconds_of(took);
  return seconds > 0 ? static_cast<double>(tasks) / seconds : 0;
}

std::uint64_t BenchReport::errors() const {
  return (put ? put->errors : 0) + (work ? work->errors : 0) + (trickle ? trickle->errors : 0);
}

std::string text_of(const BenchReport& report, const Look& look) {
  const BenchPlan& plan = report.plan;
  std::string text =
      fmt::format("{} of {} bytes, {} per request, {}\n{}, millrace {}, {}\n\n",
                  counted(plan.tasks, "task", "tasks"), grouped(plan.payload), grouped(plan.batch),
                  counted(plan.connections, "connection", "connections"), report.url,
                  report.server.version, store_text(report.server.store));
  Table table({{""},
               {"TASKS", true},
               {"TIME", true},
               {"TASKS/S", true},
               {"P50", true},
               {"P99", true},
               {"MAX", true},
               {"ERRORS", true}});
  if (report.put) add_row(table, "put", *report.put);
  if (report.work) add_row(table, "work", *report.work);
  if (report.trickle) {
    add_row(table, "one at a time: put", report.trickle->puts, report.trickle->errors);
    add_row(table, "one at a time: start", report.trickle->starts, 0);
  }
  text += table.text(look) + "\n";
  if (report.stopped) text += "Stopped before the end: the figures cover what was done.\n";
  return text + reading(report) + client_sentence(report);
}

std::string json_of(const BenchReport& report) {
  const BenchPlan& plan = report.plan;
  std::string out;
  wire::TextWriter writer(out);
  wire::append(writer.key("url"), report.url);
  wire::append(writer.key("host"), report.host);
  wire::TextWriter server(writer.key("server"));
  wire::append(server.key("version"), report.server.version);
  wire::append(server.key("store"), report.server.store.name);
  wire::append(server.key("durability"), report.server.store.durability);
  server.close();
  wire::TextWriter settings(writer.key("settings"));
  wire::append(settings.key("tasks"), plan.tasks);
  wire::append(settings.key("payload"), plan.payload);
  wire::append(settings.key("batch"), plan.batch);
  wire::append(settings.key("connections"), plan.connections);
  wire::append(settings.key("queue"), plan.queue);
  settings.close();
  write(writer, "put", report.put);
  write(writer, "work", report.work);
  if (report.trickle) {
    wire::TextWriter trickle(writer.key("trickle"));
    wire::append(trickle.key("tasks"), report.trickle->starts.count());
    write(trickle, "put_ms", report.trickle->puts);
    write(trickle, "start_ms", report.trickle->starts);
    wire::append(trickle.key("errors"), report.trickle->errors);
    trickle.close();
  }
  wire::append(writer.key("client_cpu_seconds"), seconds_of(report.client_cpu));
  wire::append(writer.key("stopped"), report.stopped);
  writer.close();
  return out;
}

}  // namespace millrace::cli
