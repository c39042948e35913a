#include "api/server/metrics_port.h"

#include <string>
#include <utility>

namespace millrace::api {
namespace {

HttpResponse plain(unsigned status, std::string body) {
  return {.status = status, .content_type = "text/plain", .body = std::move(body)};
}

}  // namespace

BodyPlan MetricsPort::plan(HttpRequest head, Peer&) {
  const Method method = head.method;
  const std::string_view target = head.target;
  std::string path(target.substr(0, target.find('?')));
  return Whole{
      .most = 0,
      .handle = [this, method, path = std::move(path)](const std::string&, Respond respond) {
        answer(method, path, std::move(respond));
      }};
}

HttpResponse MetricsPort::problem(unsigned status, std::string_view detail) {
  return plain(status, std::string(detail) + "\n");
}

void MetricsPort::answer(Method method, std::string_view path, Respond respond) {
  std::optional<HttpResponse> page;
  if (path == "/health") page = health();
  if (path == "/ready") page = ready();
  if (path != "/metrics" && !page) {
    return respond(plain(404, "only /metrics, /health and /ready are here\n"));
  }
  if (method != Method::get && method != Method::head) {
    HttpResponse refused = plain(405, "this can only be read\n");
    refused.headers.emplace_back("Allow", "GET, HEAD");
    return respond(std::move(refused));
  }
  if (page) return respond(std::move(*page));
  metrics(std::move(respond));
}

}  // namespace millrace::api
