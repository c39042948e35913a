// What a client sends to a server: the other direction of put.h, work.h, tasks.h and views.h.
//
// The server stores payloads and results byte for byte.
#pragma once

#include <millrace/queue.h>
#include <millrace/schedule.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <millrace/work.h>
#include <span>
#include <string>
#include <string_view>

#include "broker/broker.h"
#include "core/values.h"

namespace millrace::wire {

// A list, whatever its length.
std::string put_text(std::span<const NewTask> tasks);
// All of them or none.
std::string put_all_text(std::span<const NewTask> tasks);

// At most one take: a server accepts one per request.
std::string work_text(std::span<const Report> reports, std::span<const Extension> extensions,
                      const TakeRequest* take, Duration wait);

std::string cancel_text(std::string_view reason);
// Priority, start and queue; releases and delivery notes have no place in this request.
std::string update_text(const TaskUpdate& update);
// What a release brings and expects; empty: nothing.
std::string release_text(const TaskUpdate& update);
std::string dead_letters_text(const DeadLetters& which);
std::string queue_text(const QueueSettings& settings);
std::string schedule_text(const Schedule& schedule);
std::string beat_text(const WorkerReport& report);

}  // namespace millrace::wire
