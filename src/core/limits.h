// How large, long and many things may be. Every refusal of core/validate names one of these.
#pragma once

#include <millrace/time.h>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace millrace::limits {

inline constexpr std::size_t kib = 1024;
inline constexpr std::size_t mib = 1024 * kib;

// Text, in bytes.
inline constexpr std::size_t max_name = 100;  // queue, task type, schedule
inline constexpr std::size_t max_unique_key = 255;
inline constexpr std::size_t max_tag = 100;
inline constexpr std::size_t max_label = 255;  // worker, client, request, group, content type
inline constexpr std::size_t max_description = 1 * kib;
inline constexpr std::size_t max_url = 2048;
inline constexpr std::size_t max_metadata = 16 * kib;
inline constexpr std::size_t max_payload = 16 * mib;  // where the queue's max_task_size allows it
inline constexpr std::size_t max_result = max_payload;
inline constexpr std::size_t usual_task_size = 1 * mib;  // of payload or result, unless it says so
inline constexpr std::size_t least_task_size = 1 * kib;  // that a queue may set
inline constexpr std::size_t max_error_code = 100;
inline constexpr std::size_t max_error_text = 8 * kib;  // message, details and stack, each
inline constexpr std::size_t max_log_line = 2 * kib;
inline constexpr std::size_t max_checkpoint = 64 * kib;
inline constexpr std::size_t max_answer = 64 * kib;           // that a task is released with
inline constexpr std::size_t max_follow_up_bytes = 16 * mib;  // of one settlement, all together
inline constexpr std::size_t max_taken_bytes = 16 * mib;      // of its tasks; a take ends with it
inline constexpr std::size_t max_put_all_bytes = 64 * mib;    // payloads and metadata, all together
inline constexpr std::size_t max_memo_key = 255;
inline constexpr std::size_t max_memo_value = 1 * mib;
inline constexpr std::size_t max_cron = 255;
inline constexpr std::size_t max_zone = 64;

// How many.
inline constexpr std::size_t max_tags = 16;
inline constexpr std::size_t max_log_lines = 100;  // kept of a task, and sent with one extension
inline constexpr std::size_t max_history = 20;
inline constexpr std::size_t max_batch = 1000;
inline constexpr std::size_t max_follow_ups = 32;
inline constexpr std::size_t max_parents = 1000;    // that one task may wait for
inline constexpr std::size_t max_put_all = 10'000;  // tasks of a put that is all or none
inline constexpr std::size_t max_told = 1000;       // children released with the end of a parent
inline constexpr std::size_t max_told_by_call = 10'000;  // by one call of a store
inline constexpr std::size_t max_type_policies = 100;
inline constexpr std::size_t usual_queues_per_key = 1000;
inline constexpr std::size_t max_queues = 30'000;    // that a store keeps
inline constexpr std::size_t usual_queues = 10'000;  // unless a setting says otherwise
inline constexpr std::size_t max_schedules = 10'000;
inline constexpr std::size_t max_memos = 100'000;
inline constexpr std::uint32_t max_page = 1000;           // entries of one page of a list
inline constexpr std::uint32_t max_drawn = 200;           // tasks of one answer with a graph
inline constexpr std::uint32_t max_walk = 20'000;         // entries looked at for one page
inline constexpr std::size_t max_due = 1000;              // overdue tasks returned at once
inline constexpr std::size_t max_advance = 10'000;        // tasks touched by one call of upkeep
inline constexpr std::uint32_t max_processors = 100'000;  // of one worker
inline constexpr std::uint8_t max_priority = 9;
inline constexpr std::uint32_t max_weight = 1000;
inline constexpr std::size_t max_group_overrides = 10'000;  // of one queue
inline constexpr std::uint32_t max_callback_attempts = 100;
inline constexpr std::uint32_t max_missed = 1000;  // ticks made up for at once

// How long.
inline constexpr Duration max_delay = std::chrono::days(3653);  // ten years, with leap days
inline constexpr Duration min_lease = std::chrono::seconds(1);
inline constexpr Duration max_lease = std::chrono::hours(12);
inline constexpr Duration min_rate_per{1};
inline constexpr Duration max_rate_per = std::chrono::days(1);
inline constexpr Duration min_every{100};  // between two ticks of an interval schedule
inline constexpr Duration max_schedule_jitter = std::chrono::days(1);

// How often a lease may be lost before the task is dead, where nothing else is said.
inline constexpr std::uint32_t default_max_lost = 3;

}  // namespace millrace::limits
