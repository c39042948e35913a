#include "api/server/metrics_port.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace millrace::api {
namespace {

HttpResponse plain(unsigned status, std::string body) {
  return {.status = status, .content_type = "text/plain", .body = std::move(body)};
}

void answer(const MetricsPort& port, const HttpRequest& request, Respond respond) {
  const std::string_view target = request.target;
  const std::string_view path = target.substr(0, std::min(target.find('?'), target.size()));
  const std::function<HttpResponse()>* page = path == "/health"  ? &port.health
                                              : path == "/ready" ? &port.ready
                                                                 : nullptr;
  const bool known = path == "/metrics" || (page != nullptr && *page);
  if (!known) return respond(plain(404, "only /metrics, /health and /ready are here\n"));
  if (request.method != Method::get && request.method != Method::head) {
    HttpResponse refused = plain(405, "this can only be read\n");
    refused.headers.emplace_back("Allow", "GET, HEAD");
    return respond(std::move(refused));
  }
  if (page != nullptr) return respond((*page)());
  port.metrics(std::move(respond));
}

}  // namespace

HttpHandler handler_of(MetricsPort port) {
  return {
      .plan = [](const HttpRequest&) -> BodyPlan { return Whole{.most = 0}; },
      .handle = [port = std::move(port)](
                    HttpRequest request,
                    Respond respond) { answer(port, request, std::move(respond)); },
      .closed = [](ConnectionId) {},
      .problem = [](unsigned status,
                    std::string_view detail) { return plain(status, std::string(detail) + "\n"); }};
}

}  // namespace millrace::api
