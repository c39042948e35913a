#include "api/wire/beat.h"

#include "api/wire/text_reader.h"
#include "api/wire/text_writer.h"

namespace millrace::wire {

void append(std::string& out, const WorkerReport& report) {
  TextWriter writer(out);
  fields(report, writer);
  writer.close();
}

Read<WorkerReport> read_report(std::string_view text, std::string_view worker) {
  auto report = read_text<WorkerReport>(text);
  if (report) report->worker = worker;
  return report;
}

void append(std::string& out, const Instructions& instructions) {
  TextWriter writer(out);
  fields(instructions, writer);
  writer.close();
}

Read<Instructions> read_instructions(std::string_view text) {
  return read_text<Instructions>(text);
}

}  // namespace millrace::wire
