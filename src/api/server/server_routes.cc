#include <fmt/format.h>
#include <algorithm>
#include <utility>

#include "access/key_text.h"
#include "api/server/handlers.h"
#include "api/wire/text_writer.h"
#include "api/wire/views.h"
#include "api/wire/work.h"
#include "core/limits.h"
#include "core/quote.h"

namespace millrace::api {
namespace {

// What a restricted key may see of workers: nothing of workers that only work for other queues.
std::vector<WorkerView> visible(const Call& call, std::vector<WorkerView> workers) {
  if (!call.restricted()) return workers;
  for (WorkerView& worker : workers) {
    std::erase_if(worker.queues, [&](const auto& queue) { return !call.may_touch(queue); });
    worker.tasks.clear();
    std::erase_if(worker.running,
                  [&](const HeldTask& each) { return !call.may_touch(each.queue); });
    std::erase_if(worker.assignments,
                  [&](const Assignment& each) { return !call.may_touch(each.queue); });
    if (!worker.report) continue;
    std::erase_if(worker.report->queues,
                  [&](const QueueReport& each) { return !call.may_touch(each.queue); });
  }
  std::erase_if(workers, [](const WorkerView& worker) { return worker.queues.empty(); });
  return workers;
}

template <class Then>
void with_workers(CallPtr call, Then then) {
  if (!call->query_is_good()) return;
  Broker& broker = *call->broker;
  const Ask ask = call->ask();
  broker.workers(ask, answered<std::vector<WorkerView>>(
                          std::move(call), [then](CallPtr back, std::vector<WorkerView> workers) {
                            then(*back, visible(*back, std::move(workers)));
                          }));
}

// Only unrestricted keys may manage keys: a restricted one could make a key that may do more.
bool may_manage_keys(Call& call) {
  if (!call.query_is_good()) return false;
  if (!call.restricted()) return true;
  call.refuse(Problem{.status = 403,
                      .code = "forbidden",
                      .detail = "this key is for some queues only and may not manage keys"});
  return false;
}

}  // namespace

void list_workers(CallPtr call) {
  with_workers(std::move(call), [](Call& back, const std::vector<WorkerView>& workers) {
    std::string out;
    wire::TextWriter writer(out);
    wire::append(writer.key("workers"), workers);
    // Only keys that may see all queues learn how many processors all queues together could use.
    if (!back.restricted()) wire::append(writer.key("manager"), back.broker->manager_view());
    writer.close();
    back.answer(std::move(out));
  });
}

void get_worker(CallPtr call) {
  with_workers(std::move(call), [](Call& back, const std::vector<WorkerView>& workers) {
    const auto found = std::ranges::find(workers, back.path[0], &WorkerView::name);
    if (found == workers.end()) {
      return back.refuse(Error{ErrorCode::not_found,
                               fmt::format("no worker is called {}", in_quotes(back.path[0]))});
    }
    back.answer(wire::text_of(*found));
  });
}

void list_keys(CallPtr call) {
  if (!may_manage_keys(*call)) return;
  StoredKeys& keys = *call->options.keys;
  LocalBroker& broker = *call->broker;
  keys.list(broker, answered<std::vector<access::Key>>(
                        std::move(call), [](CallPtr back, const std::vector<access::Key>& all) {
                          back->answer(access::text_of(all));
                        }));
}

void create_key(CallPtr call) {
  if (!may_manage_keys(*call)) return;
  const auto request = call->good(access::read_key_request(call->request.body));
  if (!request) return;
  StoredKeys& keys = *call->options.keys;
  LocalBroker& broker = *call->broker;
  std::string by(call->key());
  keys.create(
      broker, std::move(by), *request,
      answered<access::MadeKey>(std::move(call), [](CallPtr back, const access::MadeKey& made) {
        back->answer(access::text_of(made), 201);
      }));
}

void revoke_key(CallPtr call) {
  const bool force = call->query.flag("force");
  if (!may_manage_keys(*call)) return;
  StoredKeys& keys = *call->options.keys;
  LocalBroker& broker = *call->broker;
  std::string by(call->key());
  std::string id = call->path[0];
  keys.revoke(broker, std::move(by), std::move(id), force,
              answered<void>(std::move(call),
                             [](CallPtr back) { back->answer(HttpResponse{.status = 204}); }));
}

void server_info(CallPtr call) {
  if (!call->query_is_good()) return;
  const ApiOptions& options = call->options;
  Traits store = call->broker->traits();
  if (store.durability == Durability::none) store.loss_window = {};  // all may be lost
  std::string out;
  wire::TextWriter writer(out);
  writer("version", options.version), writer("store", store);
  writer("started_at", options.started_at), writer("now", call->broker->now());
  wire::TextWriter most(writer.key("limits"));
  most("batch", limits::max_batch), most("payload_bytes", limits::max_payload);
  most("result_bytes", limits::max_result), most("metadata_bytes", limits::max_metadata);
  most("body_bytes", options.max_body), most("line_bytes", options.max_line);
  most("follow_ups", limits::max_follow_ups), most("page", limits::max_page);
  most("wait_ms", wire::max_wait), most("lease_ms", limits::max_lease);
  most("delay_ms", limits::max_delay);
  most.close();
  if (options.traffic) wire::append(writer.key("connections"), options.traffic().open);
  const CurrentAlerts current = call->broker->current_alerts();
  wire::append(writer.key("alerts_enabled"), current.alerts_sent);
  wire::append(writer.key("manager"), current.manager);
  if (current.disk && !call->restricted()) {
    wire::TextWriter disk(writer.key("disk"));
    disk("free", wire::always(current.disk->free)), disk("total", current.disk->total);
    disk.close();
  }
  writer.close();
  call->answer(std::move(out));
}

}  // namespace millrace::api
