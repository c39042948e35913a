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
};

}  // namespace millrace::book
