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

void append_alert(std::string& out, const CurrentAlert& alert) {
  TextWriter writer(out);
  writer("kind", name_of(alert.kind)), writer("level", name_of_level(alert.level));
  writer("queue", alert.queue), writer("since", alert.since);
  writer("message", alert.message);
  append(writer.key("count"), alert.count);
  writer.close();
}

}  // namespace

std::string text_of(const CurrentAlerts& current) {
  std::string out;
  TextWriter writer(out);
  writer.key("alerts") += '[';
  for (std::size_t i = 0; i < current.alerts.size(); ++i) {
    if (i != 0) out += ',';
    append_alert(out, current.alerts[i]);
  }
  out += ']';
  append(writer.key("total"), current.total);
  writer("looked_at", current.looked_at);
  writer.close();
  return out;
}

}  // namespace millrace::wire
