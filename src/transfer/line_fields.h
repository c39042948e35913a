// The fields of the lines that only an export has: its first and its last.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/wire/fields.h"
#include "transfer/format.h"

namespace millrace::wire {

struct HeaderFields {
  std::uint64_t format = 0;
  std::uint64_t minor = 0;
  std::string store = {};
  std::string exported_at = {};

  friend bool operator==(const HeaderFields&, const HeaderFields&) = default;
};

void fields(A<HeaderFields> auto& of, auto& visit) {
  visit("format", always(of.format)), visit("minor", always(of.minor));
  visit("store", of.store), visit("exported_at", of.exported_at);
}

void fields(A<transfer::Counts> auto& of, auto& visit) {
  visit("queues", always(of.queues)), visit("schedules", always(of.schedules));
  visit("memos", always(of.memos)), visit("tasks", always(of.tasks));
  visit("groups", of.groups);
}

struct EndFields {
  transfer::Counts counts = {};
  std::vector<std::string> left_out = {};  // what could not be moved, in words

  friend bool operator==(const EndFields&, const EndFields&) = default;
};

void fields(A<EndFields> auto& of, auto& visit) {
  fields(of.counts, visit);
  visit("left_out", of.left_out);
}

}  // namespace millrace::wire
