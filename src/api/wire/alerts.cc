#include "api/wire/alerts.h"

#include <array>
#include <string_view>

#include "api/wire/text_writer.h"

namespace millrace::wire {
namespace {

std::string_view name_of_level(LogLevel level) {
  constexpr std::array<std::string_view, 4> levels = {"debug", "info", "warning", "error"};
  return levels[static_cast<std::size_t>(level)];
}

void append_alert(std::string& out, const StandingAlert& alert) {
  TextWriter writer(out);
  writer("kind", name_of(alert.kind)), writer("level", name_of_level(alert.level));
  writer("queue", alert.queue), writer("since", alert.since);
  writer("message", alert.message);
  append(writer.key("count"), alert.count);
  writer.close();
}

}  // namespace

std::string text_of(const Standing& standing) {
  std::string out;
  TextWriter writer(out);
  writer.key("alerts") += '[';
  for (std::size_t i = 0; i < standing.alerts.size(); ++i) {
    if (i != 0) out += ',';
    append_alert(out, standing.alerts[i]);
  }
  out += ']';
  append(writer.key("total"), standing.total);
  writer("looked_at", standing.looked_at);
  writer.close();
  return out;
}

}  // namespace millrace::wire
