// The stored fields of what only records hold; see fields.h.
#pragma once

#include "core/rate_window.h"
#include "store/embedded/bytes.h"
#include "store/embedded/fields.h"
#include "store/embedded/holders.h"
#include "store/embedded/slot.h"
#include "store/store.h"

namespace millrace::embedded {

void fields(A<RateWindow> auto& of, const auto& visit) {
  for (auto& used : of.used) visit(used);
  visit(of.newest), visit(of.width);
}
void fields(A<Counters> auto& of, const auto& visit) {
  visit(of.deliveries), visit(of.attempts), visit(of.retries), visit(of.lost);
}
void fields(A<Holder> auto& of, const auto& visit) {
  visit(of.id), visit(of.number), visit(of.until);
}
void fields(A<Memo> auto& of, const auto& visit) {
  visit(of.key), visit(of.value), visit(of.version), visit(of.expires);
}

// The mutable part of a task but for flags, its worker's name and its notes.
void mutable_fields(A<Slot> auto& of, const auto& visit) {
  visit(of.start), visit(of.previous_start), visit(of.started_at), visit(of.updated_at);
  visit(of.moment), visit(of.token), visit(of.state), visit(of.priority), visit(of.counters);
}

}  // namespace millrace::embedded
