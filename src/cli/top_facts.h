// What `millrace top` asks a server: five requests per refresh, however many tasks there are.
#pragma once

#include <cstddef>
#include <string>

#include "api/client/http_broker.h"
#include "broker/caller.h"
#include "cli/top_state.h"
#include "core/clock.h"

namespace millrace::cli {

// At most `tasks` running ones and as many dead letters. The broker and the clock must outlive the
// answer.
void ask_facts(HttpBroker& broker, Clock& clock, std::size_t tasks, Completion<TopFacts> done);

// {"url":…,"server":{…},"queues":[…],"stats":[…],"running":[…],"dead":[…]}
std::string json_of(const TopFacts& facts, const std::string& url);

}  // namespace millrace::cli
