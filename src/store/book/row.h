// A task as a store of rows has it, on its way to the state machine and back.
#pragma once

#include <millrace/task.h>
#include <string>

#include "store/embedded/codec.h"
#include "store/embedded/slot.h"

namespace millrace::book {

struct Row {
  embedded::Slot slot = {};  // without its bytes, which are the fields below
  NewTask given = {};        // payload and result are empty where only the head was read
  TimePoint created_at{};
  embedded::Notes notes = {};
  std::string worker = {};
  // Why a part of the row cannot be read: it is damaged, or a newer program has written it. That
  // part is then empty here, and the task may only be looked at and removed.
  std::string unreadable = {};
};

}  // namespace millrace::book
