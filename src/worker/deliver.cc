#include "worker/deliver.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/uuid.h"
#include "payload/delivery_payload.h"
#include "worker/reply.h"

namespace millrace::worker {
namespace {

constexpr std::size_t most_of_an_answer = 1024;

}  // namespace

Result<Delivery> webhook_of(const Lease& task) {
  auto payload = parse_delivery(task.payload);
  if (!payload) return std::unexpected(std::move(payload.error()));
  if (payload->url.empty()) return fail(ErrorCode::invalid, "the payload has no url to send to");
  Delivery delivery{
      .id = task.id, .url = std::move(payload->url), .body = std::move(payload->body)};
  auto& headers = delivery.headers;
  headers = {{"Content-Type", "application/json"}, {"X-Task-ID", to_text(task.parent.value)}};
  add_header(headers, "X-Task-Queue", payload->queue);
  add_header(headers, "X-Task-Type", payload->type);
  add_header(headers, "X-Task-State", payload->state);
  add_header(headers, "X-Client-ID", payload->client_id);
  add_header(headers, "X-Request-ID", payload->request_id);
  return delivery;
}

Result<Delivery> alert_of(const Lease& task, const std::string& url) {
  auto payload = parse_delivery(task.payload);
  if (!payload) return std::unexpected(std::move(payload.error()));
  Delivery delivery{.id = task.id, .url = url, .body = std::move(payload->body)};
  delivery.headers = {{"Content-Type", "application/json"}};
  if (!task.parent.value.is_nil()) {
    add_header(delivery.headers, "X-Task-ID", to_text(task.parent.value));
  }
  return delivery;
}

Delivered deliver(outgoing::HttpClient& client, const Delivery& delivery,
                  const DeliverOptions& options, TimePoint now, std::stop_token stop) {
  outgoing::HttpRequest request{.method = "POST",
                                .url = delivery.url,
                                .headers = delivery.headers,
                                .body = delivery.body,
                                .timeout = options.timeout,
                                .connect_timeout = options.timeout,
                                .most = most_of_an_answer,
                                .clip = true,
                                .stop = std::move(stop)};
  for (auto& header : outgoing::signature_headers(options.secrets, to_text(delivery.id.value), now,
                                                  delivery.body)) {
    request.headers.push_back(std::move(header));
  }
  const auto reply = client.send(std::move(request));
  Delivered delivered{.outcome = judge(reply, "the receiver", now), .status = status_of(reply)};
  // The receiver's answer is not kept as a result.
  if (auto* done = std::get_if<Done>(&delivered.outcome)) done->result.clear();
  return delivered;
}

std::string origin_of(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return "an invalid address";
  const std::size_t begin = scheme + 3;
  const std::size_t end = std::min(url.find_first_of("/?#\\", begin), url.size());
  std::string_view place = url.substr(begin, end - begin);
  if (const std::size_t at = place.rfind('@'); at != std::string_view::npos) {
    place.remove_prefix(at + 1);
  }
  return fmt::format("{}://{}", url.substr(0, scheme), place);
}

}  // namespace millrace::worker
