#include "api/wire/groups.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/wire/tasks.h"
#include "api/wire/text_reader.h"
#include "api/wire/text_writer.h"
#include "api/wire/views.h"

namespace millrace::wire {

struct GroupWords {
  GroupOverride override = {};
  std::optional<bool> paused = std::nullopt;
  std::optional<Duration> pause_for = std::nullopt;
  std::optional<Duration> for_time = std::nullopt;
};
void fields(A<GroupWords> auto& of, auto& visit) {
  fields(of.override, visit);
  visit("paused", of.paused), visit("pause_for_ms", of.pause_for), visit("for_ms", of.for_time);
}

namespace {

// Different words for one field.
constexpr std::array<std::string_view, 3> pause_words = {"paused", "paused_until", "pause_for_ms"};
constexpr std::array<std::string_view, 2> end_words = {"until", "for_ms"};

// The keys of an object that was read before.
std::vector<std::string> keys_of(std::string_view object) {
  std::vector<std::string> keys;
  Input in(object);
  if (!in.open('{', Path{})) return keys;
  std::string scratch;
  bool first = true;
  while (const auto key = in.key(scratch, first)) {
    keys.emplace_back(*key);
    in.raw();
  }
  return keys;
}

// Whether one of the words is given; more than one is refused.
bool gives(const std::vector<std::string>& keys, std::span<const std::string_view> words,
           Input& in) {
  std::string_view given;
  for (const std::string_view word : words) {
    if (std::ranges::find(keys, word) == keys.end()) continue;
    if (!given.empty()) {
      in.refuse(Path{.key = word},
                fmt::format("both {} and {} are given; give one of them", given, word));
      return true;
    }
    given = word;
  }
  return !given.empty();
}

}  // namespace

std::string view_of(const Group& group) {
  return text_of(group);
}

std::string page_of(const GroupPage& page) {
  return text_of(page);
}

std::string override_text(const GroupOverride& override) {
  return text_of(override);
}

Result<Group> group_from(std::string_view text) {
  return read_answer<Group>(text);
}

Result<GroupPage> group_page_from(std::string_view text) {
  return read_answer<GroupPage>(text);
}

Read<GroupOverride> patched(const GroupOverride& override, std::string_view patch, TimePoint now) {
  if (auto good = merged("{}", patch, Path{}); !good) {
    return std::unexpected(std::move(good.error()));
  }
  Input given(patch);
  const std::vector<std::string> keys = keys_of(patch);
  GroupOverride base = override;
  if (gives(keys, pause_words, given)) base.paused_until.reset();
  if (gives(keys, end_words, given)) base.until.reset();
  if (!given.good()) return std::unexpected(std::move(given.refusal()));
  auto text = merged(text_of(base), patch, Path{});
  if (!text) return std::unexpected(std::move(text.error()));
  Input in(*text);
  GroupWords words;
  read(in, words, Path{});
  GroupOverride& changed = words.override;
  if (!in.good()) return finished(in, std::move(changed));
  if (words.paused && *words.paused) changed.paused_until = never;
  if (words.pause_for) {
    changed.paused_until = moment_after(now, *words.pause_for, "pause_for_ms", in);
  }
  if (words.for_time) changed.until = moment_after(now, *words.for_time, "for_ms", in);
  return finished(in, std::move(changed));
}

}  // namespace millrace::wire
