#include "cli/first_steps.h"

#include <fmt/format.h>

namespace millrace::cli {

std::string url_of(const Place& place) {
  config::Address address = place.address;
  if (address.host == "0.0.0.0") address.host = "127.0.0.1";
  if (address.host.find_first_not_of("0:") == std::string::npos) address.host = "::1";
  return fmt::format("{}://{}", place.tls ? "https" : "http", config::to_text(address));
}

std::string first_steps(const Place& place) {
  std::string curl = "curl -sS";
  std::string first;
  if (place.tls) {
    curl += " --cacert \"$CA\"";
    first += "  CA=certificate.pem   # the certificate to trust\n";
  }
  if (place.needs_key) {
    curl += " -H \"Authorization: Bearer $KEY\"";
    first += "  KEY=mr_...           # an API key that may put, work and read\n";
  }
  const std::string url = url_of(place) + "/v1";
  const std::string post = curl + " -H 'Content-Type: application/json'";
  return fmt::format(
      R"(
Try it from another terminal: put a task, take it, settle it with ID and TOKEN from that answer,
look at the queue.
{0}  {2} {3}/queues/emails/tasks -d '{{"type":"welcome","payload":{{"to":"ann@example.com"}}}}'
  {2} {3}/take -d '{{"worker":"me","queue":"emails"}}'
  ID=...  TOKEN=...
  {2} {3}/tasks/$ID/settle -d '{{"token":"'$TOKEN'","outcome":"done"}}'
  {1} {3}/queues/emails
Or with this program:
{4}  millrace put emails '{{"to":"ann@example.com"}}'
  millrace queues
{5}
)",
      first, curl, post, url,
      fmt::format("  export MILLRACE_URL={}{}{}\n", url_of(place),
                  place.needs_key ? " MILLRACE_KEY=$KEY" : "",
                  place.tls ? " MILLRACE_CA_FILE=\"$CA\"" : ""),
      place.dashboard ? fmt::format("Or watch it in a browser: {}\n", url_of(place)) : "");
}

}  // namespace millrace::cli
