// Settings of queues and schedules: reading them, and merging patches into them.
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "api/wire/put.h"
#include "api/wire/text_reader.h"
#include "api/wire/text_writer.h"
#include "api/wire/views.h"
#include "core/quote.h"
#include "core/validate.h"

namespace millrace::wire {

// Fields that the server shows and no caller can set: ignored.
struct Shown {};
static void read(Input& in, Shown&, const Path&) {
  in.raw();
}

struct QueueWords {
  QueueSettings settings = {};
  std::optional<std::string> name = std::nullopt;
  Shown shown = {};
};
void fields(A<QueueWords> auto& of, auto& visit) {
  visit("name", of.name);
  fields_of_queue(of.settings, visit);
  visit("created_at", of.shown), visit("updated_at", of.shown), visit("removing", of.shown);
  visit("counts", of.shown);
}

struct ScheduleWords {
  Schedule schedule = {};
  std::optional<std::string> name = std::nullopt;
  PutWords task = {};
  Shown shown = {};
};
void fields(A<ScheduleWords> auto& of, auto& visit) {
  visit("name", of.name), visit("rule", required(of.schedule.rule));
  visit("task", required(of.task)), visit("overlap", of.schedule.overlap);
  visit("missed", of.schedule.missed), visit("missed_most", of.schedule.missed_most);
  visit("jitter_ms", of.schedule.jitter), visit("paused", of.schedule.paused);
  visit("next", of.shown), visit("last", of.shown), visit("last_task", of.shown);
  visit("fired", of.shown), visit("skipped", of.shown), visit("created_at", of.shown);
  visit("updated_at", of.shown);
}

namespace {

// The name in the path, which the body may repeat; without one, the name in the body.
std::string name_from(std::optional<std::string> given, std::string_view name, Input& in) {
  const Path at{.key = "name"};
  if (!given && name.empty()) {
    in.miss(at);
  } else if (given && !name.empty() && *given != name) {
    in.refuse(at, fmt::format("name is {}, but the path says {}; names cannot be changed",
                              in_quotes(*given), in_quotes(name)));
  }
  return given ? std::move(*given) : std::string(name);
}

// ---- Merging ----

struct Member {
  std::string key = {};
  std::string value = {};  // its text
};

// More than any of our objects has, and few enough to compare pairwise.
constexpr std::size_t most_members = 100;

// The members of the object at the cursor.
std::vector<Member> members_of(Input& in, const Path& at) {
  std::vector<Member> members;
  if (!in.open('{', at)) return members;
  std::string scratch;
  bool first = true;
  while (const auto key = in.key(scratch, first)) {
    const std::string name(*key);
    const Path here{.above = &at, .key = name};
    if (std::ranges::find(members, name, &Member::key) != members.end()) in.twice(here);
    const auto value = in.raw();
    if (members.size() == most_members) in.too_long(at, most_members);
    if (value) members.push_back({.key = name, .value = std::string(*value)});
  }
  return members;
}

// Values that are replaced whole although they are objects.
bool is_opaque(std::string_view key) {
  return key == "payload" || key == "metadata";
}

// Keys that set the same thing in different ways: giving one removes the others.
std::vector<std::string_view> replaced_by(std::string_view key) {
  if (key.starts_with("payload")) {
    return {"payload", "payload_text", "payload_base64", "content_type"};
  }
  if (key == "cron") return {"every_ms", "anchor"};
  if (key == "every_ms") return {"cron", "zone", "dst"};
  return {};
}

bool is_object(std::string_view text) {
  return text.starts_with('{');
}

std::vector<Member> merge(std::vector<Member> target, std::vector<Member> patch, Input& in,
                          const Path& at) {
  for (const Member& member : patch) {
    if (member.value == "null") continue;
    std::erase_if(target, [&](const Member& old) {
      return old.key != member.key && std::ranges::count(replaced_by(member.key), old.key) != 0;
    });
  }
  for (Member& member : patch) {
    const auto old = std::ranges::find(target, member.key, &Member::key);
    if (member.value == "null") {
      if (old != target.end()) target.erase(old);
    } else if (old == target.end()) {
      target.push_back(std::move(member));
    } else if (is_object(member.value) && is_object(old->value) && !is_opaque(member.key)) {
      auto inner = merged(old->value, member.value, Path{.above = &at, .key = member.key});
      if (inner) {
        old->value = std::move(*inner);
      } else if (in.good()) {
        in.refuse(Path{.above = &at, .key = member.key}, inner.error().error.message);
        in.refusal() = std::move(inner.error());
      }
    } else {
      old->value = std::move(member.value);
    }
  }
  return target;
}

// What merging a changed member into the old ones would remove: a patch must repeat it.
std::vector<std::string_view> removed_by(const std::vector<Member>& old_members,
                                         const std::vector<Member>& new_members) {
  std::vector<std::string_view> removed;
  for (const Member& member : new_members) {
    const auto old = std::ranges::find(old_members, member.key, &Member::key);
    if (old != old_members.end() && old->value == member.value) continue;
    for (const std::string_view key : replaced_by(member.key)) removed.push_back(key);
  }
  return removed;
}

std::string text_of_members(const std::vector<Member>& members) {
  std::string out = "{";
  for (const Member& member : members) {
    if (out.size() > 1) out += ',';
    append(out, member.key);
    out += ':';
    out += member.value;
  }
  out += '}';
  return out;
}

template <class Value, class ReadText>
Read<Value> patched_by(const Value& value, std::string_view patch, ReadText read_text) {
  auto text = merged(text_of(value), patch, Path{});
  if (!text) return std::unexpected(std::move(text.error()));
  return read_text(*text, value.name);
}

// ---- Policies by type ----

Read<TypePolicy> patched_policy(const TypePolicy& policy, std::string_view patch, const Path& at) {
  auto text = merged(text_of(policy), patch, at);
  if (!text) return std::unexpected(std::move(text.error()));
  Input in(*text);
  TypePolicy changed;
  read(in, changed, at);
  if (in.good() && changed.type != policy.type) {
    in.refuse(Path{.above = &at, .key = "type"},
              fmt::format("type is {}, but the policy is that of {}; give the other type a policy "
                          "of its own",
                          in_quotes(changed.type), in_quotes(policy.type)));
  }
  return finished(in, std::move(changed));
}

// Policies are a list. A patch that is an object by type changes the types it names and leaves the
// others alone.
Read<std::vector<TypePolicy>> patched_policies(std::vector<TypePolicy> policies,
                                               std::string_view patch) {
  const Path at{.key = "types"};
  Input in(patch);
  for (const Member& member : members_of(in, at)) {
    const Path here{.above = &at, .key = member.key};
    const auto old = std::ranges::find(policies, member.key, &TypePolicy::type);
    if (member.value == "null") {
      if (old != policies.end()) policies.erase(old);
      continue;
    }
    if (auto ok = validate_name({"task type", "type"}, member.key, true); !ok)
      in.refuse(here, ok.error());
    if (!in.good()) break;
    auto changed = patched_policy(old == policies.end() ? TypePolicy{.type = member.key} : *old,
                                  member.value, here);
    if (!changed) return std::unexpected(std::move(changed.error()));
    if (old == policies.end()) {
      policies.push_back(std::move(*changed));
    } else {
      *old = std::move(*changed);
    }
  }
  return finished(in, std::move(policies));
}

}  // namespace

Read<QueueSettings> read_queue(std::string_view text, std::string_view name) {
  Input in(text);
  QueueWords words;
  read(in, words, Path{});
  if (in.good()) words.settings.name = name_from(std::move(words.name), name, in);
  return finished(in, std::move(words.settings));
}

Read<Schedule> read_schedule(std::string_view text, std::string_view name) {
  Input in(text);
  ScheduleWords words;
  read(in, words, Path{});
  const Path task{.key = "task"};
  if (in.good() && !words.task.task.id.value.is_nil()) {
    in.refuse(Path{.above = &task, .key = "id"},
              "task.id is given; leave it out, since every tick puts a task of its own");
  }
  words.schedule.task = meant(std::move(words.task), nullptr, in, task);
  if (in.good()) words.schedule.name = name_from(std::move(words.name), name, in);
  return finished(in, std::move(words.schedule));
}

Read<QueueSettings> patched(const QueueSettings& settings, std::string_view patch) {
  Input in(patch);
  auto members = members_of(in, Path{});
  in.finish();
  if (!in.good()) return std::unexpected(std::move(in.refusal()));
  const auto types = std::ranges::find(members, "types", &Member::key);
  if (types == members.end() || !is_object(types->value)) {
    return patched_by(settings, patch, read_queue);
  }
  const std::string by_type = std::move(types->value);
  members.erase(types);
  auto changed = patched_by(settings, text_of_members(members), read_queue);
  if (!changed) return changed;
  auto policies = patched_policies(std::move(changed->types), by_type);
  if (!policies) return std::unexpected(std::move(policies.error()));
  changed->types = std::move(*policies);
  return changed;
}

Read<Schedule> patched(const Schedule& schedule, std::string_view patch) {
  return patched_by(schedule, patch, read_schedule);
}

Read<std::string> difference(std::string_view from, std::string_view to) {
  Input before(from);
  Input after(to);
  const auto old_members = members_of(before, Path{});
  const auto new_members = members_of(after, Path{});
  before.finish(), after.finish();
  if (!before.good()) return std::unexpected(std::move(before.refusal()));
  if (!after.good()) return std::unexpected(std::move(after.refusal()));
  std::string out;
  TextWriter writer(out);
  for (const Member& old : old_members) {
    if (std::ranges::find(new_members, old.key, &Member::key) == new_members.end()) {
      writer.raw(old.key, "null");
    }
  }
  const std::vector<std::string_view> removed = removed_by(old_members, new_members);
  for (const Member& member : new_members) {
    const auto old = std::ranges::find(old_members, member.key, &Member::key);
    if (old == old_members.end() || std::ranges::count(removed, member.key) != 0) {
      writer.raw(member.key, member.value);
    } else if (old->value == member.value) {
      continue;
    } else if (is_object(old->value) && is_object(member.value) && !is_opaque(member.key)) {
      auto inner = difference(old->value, member.value);
      if (!inner) return inner;
      writer.raw(member.key, *inner);
    } else {
      writer.raw(member.key, member.value);
    }
  }
  writer.close();
  return out;
}

Read<std::string> merged(std::string_view target, std::string_view patch, const Path& at) {
  Input from(target);
  Input with(patch);
  auto new_members = members_of(with, at);
  with.finish();
  if (!with.good()) return std::unexpected(std::move(with.refusal()));
  const auto members = merge(members_of(from, at), std::move(new_members), with, at);
  if (!with.good()) return std::unexpected(std::move(with.refusal()));
  return text_of_members(members);
}

}  // namespace millrace::wire
