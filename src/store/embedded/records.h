// The state as records: results, not commands, so that replaying them decides nothing.
//
// A record is its kind (one byte, changes.h), the length of the rest (four bytes) and the rest.
#pragma once

#include <string>

#include "store/embedded/state.h"

namespace millrace::embedded {

// Appends the records of everything that changed since the last call. REQUIRES: Options::record.
void take_records(State& state, std::string& out);

// Appends the whole state as records, in an order that depends on nothing but the state: two
// states are equal if and only if these bytes are.
void write_state(const State& state, std::string& out);

}  // namespace millrace::embedded
