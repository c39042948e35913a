// Queues on a terminal.
#pragma once

#include <millrace/time.h>
#include <string>
#include <vector>

#include "broker/broker.h"
#include "broker/history.h"
#include "cli/table.h"

namespace millrace::cli {

// active, paused, draining, inactive, being removed; and until when.
Cell state_of(const Queue& queue, TimePoint now);

// Per second: 12.5, 340, 1,200.
std::string rate_text(double rate);

// The present state, one line per queue.
Table queues_table(const std::vector<QueueView>& queues, TimePoint now);
// What happened since the server started, one line per queue and one for all.
Table stats_table(const std::vector<QueueView>& queues);
// Everything about one queue, with its last hour by minutes if that is known.
std::string view_of(const QueueView& queue, const History& hour, TimePoint now, const Look& look);

}  // namespace millrace::cli
