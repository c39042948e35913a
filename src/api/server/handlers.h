// The handlers of the routes: thin functions, each of which turns a call into one verb of the
// broker, and the broker's answer into a response.
#pragma once

#include "api/server/call.h"

namespace millrace::api {

// put_routes.cc
void put_tasks(CallPtr call);
void put_queue_tasks(CallPtr call);
// Plans how a body of lines is read, or refuses it.
BodyPlan plan_lines(CallPtr call);

// import_lines.cc, export_stream.cc
BodyPlan plan_import(CallPtr call);
void export_lines(CallPtr call);

// work_routes.cc
void do_work(CallPtr call);
void take_tasks(CallPtr call);
void settle_task(CallPtr call);
void extend_task(CallPtr call);
void report_progress(CallPtr call);
void add_log_lines(CallPtr call);
void beat(CallPtr call);

// task_routes.cc
void list_tasks(CallPtr call);
void get_task(CallPtr call);
void get_result(CallPtr call);
void explain_task(CallPtr call);
void get_history(CallPtr call);
void get_log(CallPtr call);
void cancel_task(CallPtr call);
void retry_task(CallPtr call);
void redeliver_webhook(CallPtr call);
void release_task(CallPtr call);
void change_task(CallPtr call);
void remove_task(CallPtr call);
void list_dead(CallPtr call);
void retry_dead(CallPtr call);
void remove_dead(CallPtr call);

// action_on_tasks.cc, family_routes.cc
void act_on_tasks(CallPtr call);
void get_family(CallPtr call);
void get_parents(CallPtr call);
void get_graph(CallPtr call);

// dead_routes.cc
void group_dead(CallPtr call);

// bulk_routes.cc
void start_bulk(CallPtr call);
void list_bulk(CallPtr call);
void get_bulk(CallPtr call);
void cancel_bulk(CallPtr call);

// queue_routes.cc
void list_queues(CallPtr call);
void create_queue(CallPtr call);
void get_queue(CallPtr call);
void replace_queue(CallPtr call);
void change_queue(CallPtr call);
void remove_queue(CallPtr call);
void pause_queue(CallPtr call);
void resume_queue(CallPtr call);
void drain_queue(CallPtr call);
void clear_queue(CallPtr call);
void queue_stats(CallPtr call);
void all_stats(CallPtr call);

// group_routes.cc
void list_groups(CallPtr call);
void get_group(CallPtr call);
void change_group(CallPtr call);
void reset_group(CallPtr call);

// type_routes.cc
void queue_types(CallPtr call);

// schedule_routes.cc
void list_schedules(CallPtr call);
void create_schedule(CallPtr call);
void get_schedule(CallPtr call);
void replace_schedule(CallPtr call);
void change_schedule(CallPtr call);
void remove_schedule(CallPtr call);
void pause_schedule(CallPtr call);
void resume_schedule(CallPtr call);
void run_schedule(CallPtr call);
void next_ticks(CallPtr call);

// observability_routes.cc
void get_metrics(CallPtr call);
void get_events(CallPtr call);
void get_past(CallPtr call);
void get_alerts(CallPtr call);

// session_routes.cc
void get_session(CallPtr call);
void open_session(CallPtr call);
void close_session(CallPtr call);

// action_routes.cc
void list_actions(CallPtr call);

// server_routes.cc
void list_workers(CallPtr call);
void get_worker(CallPtr call);
void list_keys(CallPtr call);
void create_key(CallPtr call);
void revoke_key(CallPtr call);
void server_info(CallPtr call);

}  // namespace millrace::api
