// What those who watch a server need beside the broker's verbs; somebody else provides it.
#pragma once

#include <functional>

#include "broker/broker.h"
#include "broker/caller.h"
#include "broker/events.h"
#include "broker/history.h"
#include "broker/observed.h"
#include "broker/standing.h"
#include "broker/types_past.h"

namespace millrace::api {

struct Eyes {
  std::function<void(Ask ask, Completion<Observed> done)> observe = {};
  std::function<ManagerView()> manager = {};
  std::function<void(Ask ask, HistoryRequest request, Completion<TypesPast> done)> types = {};
  std::function<void(Ask ask, HistoryRequest request, Completion<History> done)> history = {};
  std::function<EventRing&()> events = {};
  std::function<Standing()> standing = {};
};

}  // namespace millrace::api
