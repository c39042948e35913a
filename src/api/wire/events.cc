#include "api/wire/events.h"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "api/wire/text_reader.h"
#include "api/wire/text_writer.h"

namespace millrace::wire {

void fields(A<EventRecord> auto& of, auto& visit) {
  visit("id", required(of.id)), visit("queue", required(of.queue)), visit("type", of.type);
  visit("client_id", of.client_id), visit("state", of.state), visit("at", of.at);
  visit("worker", of.worker), visit("error_code", of.error_code);
  visit("progress", of.progress);
}

struct SkippedEvents {
  std::uint64_t count = 0;
};
void fields(A<SkippedEvents> auto& of, auto& visit) {
  visit("count", required(of.count));
}

namespace {

constexpr std::size_t longest_line = std::size_t{1} << 20U;

bool is_known(std::string_view event) {
  static constexpr auto all = names(EventKind{});
  return std::ranges::find(all, event) != all.end();
}

}  // namespace

std::string event_id(std::uint64_t boot, std::uint64_t number) {
  return fmt::format("{:x}-{}", boot, number);
}

std::optional<EventId> event_id_from(std::string_view text) {
  EventId id;
  const char* const end = text.data() + text.size();
  const auto boot = std::from_chars(text.data(), end, id.boot, 16);
  if (boot.ec != std::errc() || boot.ptr == end || *boot.ptr != '-') return std::nullopt;
  const auto number = std::from_chars(boot.ptr + 1, end, id.number);
  if (number.ec != std::errc() || number.ptr != end) return std::nullopt;
  return id;
}

void append_event(std::string& out, std::uint64_t boot, const EventRecord& event) {
  static constexpr auto all = names(EventKind{});
  fmt::format_to(std::back_inserter(out), "id: {:x}-{}\nevent: {}\ndata: ", boot, event.number,
                 all[static_cast<std::size_t>(event.what)]);
  append(out, event);
  out += "\n\n";
}

std::string text_of(const EventRecord& event) {
  std::string out;
  append(out, event);
  return out;
}

Result<EventRecord> event_from(std::string_view id, std::string_view what, std::string_view data) {
  static constexpr auto all = names(EventKind{});
  auto event = read_answer<EventRecord>(data);
  if (!event) return event;
  const auto found = std::ranges::find(all, what);
  if (found == all.end()) {
    return fail(ErrorCode::unavailable,
                fmt::format("the answer cannot be read: the event {} is not known", what));
  }
  event->what = static_cast<EventKind>(found - all.begin());
  if (const auto parsed = event_id_from(id)) event->number = parsed->number;
  return event;
}

Result<std::uint64_t> skipped_from(std::string_view data) {
  auto read = read_answer<SkippedEvents>(data);
  if (!read) return std::unexpected(std::move(read.error()));
  return read->count;
}

std::optional<std::string> EventReader::line() {
  const std::size_t end = text_.find('\n', at_);
  if (end == std::string::npos) {
    text_.erase(0, std::exchange(at_, 0));
    return std::nullopt;
  }
  std::string found = text_.substr(at_, end - at_);
  at_ = end + 1;
  if (found.ends_with('\r')) found.pop_back();
  return found;
}

Result<std::optional<StreamedEvent>> EventReader::next() {
  while (auto found = line()) {
    if (!found->empty()) {
      const std::size_t colon = std::min(found->find(':'), found->size());
      std::string value = found->substr(std::min(colon + 1, found->size()));
      if (value.starts_with(' ')) value.erase(0, 1);
      const std::string_view name = std::string_view(*found).substr(0, colon);
      if (name == "data") data_ += value;
      if (name == "id") last_id_ = value;
      if (name == "event") event_ = value;
      continue;
    }
    const std::string event = std::exchange(event_, {});
    const std::string data = std::exchange(data_, {});
    if (data.empty()) continue;  // a comment, or only an id
    StreamedEvent news{.id = last_id_};
    if (event == "reset") {
      news.reset = true;
    } else if (event == "skipped") {
      auto count = skipped_from(data);
      if (!count) return std::unexpected(std::move(count.error()));
      news.skipped = *count;
    } else if (!is_known(event)) {
      continue;  // sent by a newer server
    } else {
      auto read = event_from(last_id_, event, data);
      if (!read) return std::unexpected(std::move(read.error()));
      news.event = std::move(*read);
    }
    return news;
  }
  if (text_.size() > longest_line) {
    return fail(ErrorCode::unavailable, "the answer cannot be read: a line of events has no end");
  }
  return std::nullopt;
}

}  // namespace millrace::wire
