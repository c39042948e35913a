// Groups of a queue, and what single ones do differently.
#pragma once

#include <millrace/queue.h>
#include <millrace/result.h>
#include <millrace/time.h>
#include <string>
#include <string_view>

#include "api/wire/fields.h"
#include "api/wire/input.h"
#include "core/values.h"

namespace millrace::wire {

void fields(A<Group> auto& of, auto& visit) {
  visit("queue", required(of.queue)), visit("group", required(of.name));
  visit("waiting", always(of.waiting)), visit("ready", always(of.ready));
  visit("running", always(of.running)), visit("oldest", of.oldest);
  visit("room_at", of.room_at), visit("first", of.first), visit("override", of.override);
}
void fields(A<GroupPage> auto& of, auto& visit) {
  visit("groups", required(of.groups)), visit("next", of.next);
}

// What one group does differently, in an export.
void fields(A<PutGroup> auto& of, auto& visit) {
  visit("queue", required(of.queue)), visit("group", required(of.name));
  visit("override", of.now);
}

std::string view_of(const Group& group);
// {"groups":[…],"next":…}
std::string page_of(const GroupPage& page);

Result<Group> group_from(std::string_view text);
Result<GroupPage> group_page_from(std::string_view text);

// A merge patch, as of queues: null takes a field away. Beside the fields of an override it may
// have `paused` (true or false) or `pause_for_ms` instead of paused_until, and `for_ms` instead of
// until; both count from `now`.
Read<GroupOverride> patched(const GroupOverride& override, std::string_view patch, TimePoint now);
std::string override_text(const GroupOverride& override);

}  // namespace millrace::wire
