#include "api/server/metrics_port.h"

#include <string>
#include <utility>

namespace millrace::api {
namespace {

HttpResponse plain(unsigned status, std::string body) {
  return {.status = status, .content_type = "text/plain", .body = std::move(body)};
}

}  // namespace

ListenerLimits metrics_limits() {
  return {.connections = 32, .refusals = 8};
}

// What is refused is refused by its head, whatever body follows.
BodyPlan MetricsPort::plan(HttpRequest head, Peer&) {
  const std::string_view path = std::string_view(head.target).substr(0, head.target.find('?'));
  std::optional<HttpResponse> page;
  if (path == "/health") page = health();
  if (path == "/ready") page = ready();
  if (path != "/metrics" && !page) {
    return plain(404, "only /metrics, /health and /ready are here\n");
  }
  if (head.method != Method::get && head.method != Method::head) {
    HttpResponse refused = plain(405, "this can only be read\n");
    refused.headers.emplace_back("Allow", "GET, HEAD");
    return refused;
  }
  if (page) return std::move(*page);
  return Whole{.most = 0, .handle = [this](const std::string&, Respond respond) {
                 metrics(std::move(respond));
               }};
}

HttpResponse MetricsPort::problem(unsigned status, std::string_view detail) {
  return plain(status, std::string(detail) + "\n");
}

}  // namespace millrace::api
