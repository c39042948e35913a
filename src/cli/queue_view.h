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

// 12.5, 340, 1,200: a second.
std::string rate_text(double rate);

// What is there now, a line a queue.
Table queues_table(const std::vector<QueueView>& queues, TimePoint now);
// What happened since the server started, a line a queue and one for all.
Table figures_table(const std::vector<QueueView>& queues);
// Everything about one, and the last hour of it by minutes where that is known.
std::string view_of(const QueueView& queue, const History& hour, TimePoint now, const Look& look);

}  // namespace millrace::cli
