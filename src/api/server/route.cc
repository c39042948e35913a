#include "api/server/route.h"

#include <algorithm>

#include "api/server/handlers.h"
#include "api/server/query.h"

namespace millrace::api {
namespace {

using enum Method;
constexpr std::optional<Scope> no_key;

constexpr auto table = std::to_array<Route>({
    {post, "/v1/tasks", Scope::put, "putTasks", put_tasks, Body::tasks},
    {post, "/v1/queues/{queue}/tasks", Scope::put, "putQueueTasks", put_queue_tasks, Body::tasks},
    {post, "/v1/work", Scope::work, "work", do_work, Body::json},
    {post, "/v1/take", Scope::work, "take", take_tasks, Body::json},
    {post, "/v1/tasks/{id}/settle", Scope::work, "settleTask", settle_task, Body::json},
    {post, "/v1/tasks/{id}/extend", Scope::work, "extendTask", extend_task, Body::json},
    {post, "/v1/tasks/{id}/progress", Scope::work, "reportProgress", report_progress, Body::json},
    {post, "/v1/tasks/{id}/log", Scope::work, "addLogLines", add_log_lines, Body::json},
    {post, "/v1/workers/{name}/beat", Scope::work, "beat", beat, Body::json},

    {get, "/v1/tasks", Scope::read, "listTasks", list_tasks},
    {get, "/v1/tasks/{id}", Scope::read, "getTask", get_task},
    {get, "/v1/tasks/{id}/result", Scope::read, "getResult", get_result},
    {get, "/v1/tasks/{id}/explain", Scope::read, "explainTask", explain_task},
    {get, "/v1/tasks/{id}/history", Scope::read, "getHistory", get_history},
    {get, "/v1/tasks/{id}/log", Scope::read, "getLog", get_log},
    {get, "/v1/tasks/{id}/parents", Scope::read, "getParents", get_parents},
    {get, "/v1/tasks/{id}/graph", Scope::read, "getGraph", get_graph},
    {get, "/v1/tasks/{id}/family", Scope::read, "getFamily", get_family},
    {post, "/v1/tasks/actions", Scope::put, "actOnTasks", act_on_tasks, Body::json, true},
    {post, "/v1/tasks/{id}/cancel", Scope::put, "cancelTask", cancel_task, Body::optional},
    {post, "/v1/tasks/{id}/retry", Scope::admin, "retryTask", retry_task},
    {post, "/v1/tasks/{id}/redeliver", Scope::admin, "redeliverWebhook", redeliver_webhook},
    {post, "/v1/tasks/{id}/release", Scope::put, "releaseTask", release_task, Body::optional},
    {patch, "/v1/tasks/{id}", Scope::put, "changeTask", change_task, Body::json, true},
    {remove, "/v1/tasks/{id}", Scope::admin, "removeTask", remove_task},

    {get, "/v1/dead", Scope::read, "listDead", list_dead},
    {get, "/v1/dead/groups", Scope::read, "groupDead", group_dead},
    {post, "/v1/dead/retry", Scope::admin, "retryDead", retry_dead, Body::json},
    {post, "/v1/dead/remove", Scope::admin, "removeDead", remove_dead, Body::json},

    {get, "/v1/bulk", Scope::read, "listBulk", list_bulk},
    {post, "/v1/bulk", Scope::admin, "startBulk", start_bulk, Body::json},
    {get, "/v1/bulk/{id}", Scope::read, "getBulk", get_bulk},
    {post, "/v1/bulk/{id}/cancel", Scope::admin, "cancelBulk", cancel_bulk, Body::optional},

    {get, "/v1/queues", Scope::read, "listQueues", list_queues},
    {post, "/v1/queues", Scope::admin, "createQueue", create_queue, Body::json},
    {get, "/v1/queues/{queue}", Scope::read, "getQueue", get_queue},
    {put, "/v1/queues/{queue}", Scope::admin, "replaceQueue", replace_queue, Body::optional},
    {patch, "/v1/queues/{queue}", Scope::admin, "changeQueue", change_queue, Body::json},
    {remove, "/v1/queues/{queue}", Scope::admin, "removeQueue", remove_queue},
    {post, "/v1/queues/{queue}/pause", Scope::admin, "pauseQueue", pause_queue, Body::optional},
    {post, "/v1/queues/{queue}/resume", Scope::admin, "resumeQueue", resume_queue},
    {post, "/v1/queues/{queue}/drain", Scope::admin, "drainQueue", drain_queue},
    {post, "/v1/queues/{queue}/clear", Scope::admin, "clearQueue", clear_queue},
    {get, "/v1/queues/{queue}/stats", Scope::read, "getQueueStats", queue_stats},
    {get, "/v1/queues/{queue}/types", Scope::read, "getQueueTypes", queue_types},
    {get, "/v1/queues/{queue}/groups", Scope::read, "listGroups", list_groups},
    {get, "/v1/queues/{queue}/groups/{group}", Scope::read, "getGroup", get_group},
    {patch, "/v1/queues/{queue}/groups/{group}", Scope::admin, "changeGroup", change_group,
     Body::json},
    {remove, "/v1/queues/{queue}/groups/{group}", Scope::admin, "resetGroup", reset_group},
    {get, "/v1/stats", Scope::read, "getStats", all_stats},

    {get, "/v1/schedules", Scope::read, "listSchedules", list_schedules},
    {post, "/v1/schedules", Scope::admin, "createSchedule", create_schedule, Body::json},
    {get, "/v1/schedules/{name}", Scope::read, "getSchedule", get_schedule},
    {put, "/v1/schedules/{name}", Scope::admin, "replaceSchedule", replace_schedule, Body::json},
    {patch, "/v1/schedules/{name}", Scope::admin, "changeSchedule", change_schedule, Body::json},
    {remove, "/v1/schedules/{name}", Scope::admin, "removeSchedule", remove_schedule},
    {post, "/v1/schedules/{name}/pause", Scope::admin, "pauseSchedule", pause_schedule},
    {post, "/v1/schedules/{name}/resume", Scope::admin, "resumeSchedule", resume_schedule},
    {post, "/v1/schedules/{name}/run", Scope::admin, "runSchedule", run_schedule},
    {get, "/v1/schedules/{name}/next", Scope::read, "getNextTicks", next_ticks},

    {get, "/v1/workers", Scope::read, "listWorkers", list_workers},
    {get, "/v1/workers/{name}", Scope::read, "getWorker", get_worker},
    {get, "/v1/keys", Scope::admin, "listKeys", list_keys},
    {post, "/v1/keys", Scope::admin, "createKey", create_key, Body::json},
    {remove, "/v1/keys/{id}", Scope::admin, "revokeKey", revoke_key},
    {get, "/v1/session", no_key, "getSession", get_session},
    {post, "/v1/session", no_key, "openSession", open_session, Body::json},
    {remove, "/v1/session", no_key, "closeSession", close_session},
    {get, "/v1/actions", Scope::read, "listActions", list_actions},
    {get, "/v1/server", Scope::read, "getServer", server_info},
    {get, "/v1/events", Scope::read, "getEvents", get_events},
    {get, "/v1/history", Scope::read, "getPast", get_past},
    {get, "/v1/alerts", Scope::read, "getAlerts", get_alerts},
    {get, "/metrics", Scope::read, "getMetrics", get_metrics},
    {get, "/v1/export", Scope::admin, "exportLines", export_lines},
    {post, "/v1/import", Scope::admin, "importLines", nullptr, Body::lines},
    // Answered by the API itself, since they need no broker.
    {get, "/health", no_key, "getHealth", nullptr, Body::none, false, true},
    {get, "/ready", no_key, "getReady", nullptr, Body::none, false, true},
    {get, "/openapi.json", no_key, "getOpenApi", nullptr, Body::none, false, true},
});

// Patterns cut into their parts once.
struct Pattern {
  Segments segments = {};
  const Route* route = nullptr;
  bool literal = false;  // without {…}
};

const auto& patterns() {
  static const auto all = [] {
    std::array<Pattern, table.size()> cut{};
    for (std::size_t i = 0; i < table.size(); ++i) {
      cut[i] = {.segments = segments_of(table[i].pattern),
                .route = &table[i],
                .literal = !table[i].pattern.contains('{')};
    }
    return cut;
  }();
  return all;
}

bool fits(const Segments& pattern, const Segments& path, Match& found) {
  if (pattern.count != path.count) return false;
  std::size_t values = 0;
  std::array<std::string_view, 2> taken{};
  for (std::size_t i = 0; i < path.count; ++i) {
    if (pattern.parts[i].starts_with('{')) {
      if (path.parts[i].empty()) return false;
      taken[values++] = path.parts[i];
    } else if (pattern.parts[i] != path.parts[i]) {
      return false;
    }
  }
  found.path = taken;
  return true;
}

// A path that is spelled out in the table is no value of {…}: /v1/tasks/actions is not a task.
bool is_literal(const Segments& path) {
  Match ignored;
  return std::ranges::any_of(patterns(), [&](const Pattern& pattern) {
    return pattern.literal && fits(pattern.segments, path, ignored);
  });
}

}  // namespace

std::span<const Route> routes() {
  return table;
}

std::string_view name_of(Method method) {
  constexpr std::array<std::string_view, 8> names = {"GET",   "HEAD",   "POST",    "PUT",
                                                     "PATCH", "DELETE", "OPTIONS", "?"};
  return names[static_cast<std::size_t>(method)];
}

Match match(Method method, std::string_view path) {
  const Segments segments = segments_of(path);
  Match found;
  if (segments.too_many) return found;
  const Method wanted = method == head ? get : method;
  for (const Pattern& pattern : patterns()) {
    if (!fits(pattern.segments, segments, found)) continue;
    if (!pattern.literal && is_literal(segments)) continue;
    if (pattern.route->method == wanted) {
      found.route = pattern.route;
      found.allow.clear();
      return found;
    }
    if (!found.allow.empty()) found.allow += ", ";
    found.allow += name_of(pattern.route->method);
    if (pattern.route->method == get) found.allow += ", HEAD";
  }
  return found;
}

}  // namespace millrace::api
