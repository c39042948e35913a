#include "bench/stock.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "bench/http_load.h"
#include "bench/require.h"
#include "bench/server_load.h"

namespace millrace::bench {
namespace {

constexpr std::array<std::string_view, 4> queues{"orders", "invoices", "reports", "pictures"};
constexpr std::array<std::string_view, 4> types{"import", "render", "charge", "notify"};
constexpr std::size_t clients = 100;
constexpr std::size_t needle_every = 50;
constexpr std::string_view needle = "amaryllis";
constexpr std::size_t dead_every = 100;
constexpr std::size_t put_batch = 200;
constexpr std::size_t put_connections = 4;

// Letters that neither a database nor a file system can compress much; payloads are cut out of
// them, each at another place.
const std::string& letters() {
  static const std::string made = [] {
    std::mt19937_64 random(1);
    std::string text(1U << 20U, ' ');
    for (char& letter : text) letter = static_cast<char>('a' + random() % 26);
    return text;
  }();
  return made;
}

void append_payload(std::string& out, std::size_t index) {
  const std::size_t begin = out.size();
  fmt::format_to(std::back_inserter(out), R"({{"order":{},"flower":"{}","note":")", index,
                 index % needle_every == 0 ? needle : "rose");
  const std::size_t rest = Stock::payload_size - (out.size() - begin) - 2;
  out.append(letters(), index * 7919 % (letters().size() - rest), rest);
  out += R"("})";
}

std::string put_of(std::size_t first, std::size_t count) {
  std::string body = "[";
  for (std::size_t i = first; i < first + count; ++i) {
    fmt::format_to(std::back_inserter(body), R"({}{{"type":"{}","client_id":"client-{}",)",
                   i == first ? "" : ",", types[i % types.size()], i / types.size() % clients);
    if (i % 10 == 0) body += fmt::format(R"("group":"account-{}",)", i / 10 % 1000);
    body += R"("payload":)";
    append_payload(body, i);
    body += '}';
  }
  return http_request("POST",
                      fmt::format("/v1/queues/{}/tasks", queues[first / put_batch % queues.size()]),
                      body + "]");
}

std::string error_of(std::size_t index) {
  switch (index % 4) {
    case 0:
      return fmt::format(R"({{"code":"timeout","message":"host-{} did not answer within {} ms"}})",
                         index % 17, index);
    case 1:
      return fmt::format(R"({{"code":"refused","message":"connection refused by 10.0.0.{}"}})",
                         index % 200);
    case 2:
      return fmt::format(R"({{"code":"invalid","message":"order {} has no customer"}})", index);
    default:
      return fmt::format(R"({{"message":"no such file: '/data/{}.png'"}})", index);
  }
}

boost::json::value asked(HttpLoad& load, const std::string& target) {
  const Reply reply = load.ask(0, http_request("GET", target));
  require(reply.status == 200, fmt::format("GET {}: {}", target, reply.body));
  return boost::json::parse(reply.body);
}

std::string settlements_of(std::string_view taken, std::size_t& settled) {
  std::string list;
  std::size_t at = 0;
  for (Handed task = next_task(taken, at); !task.id.empty(); task = next_task(taken, at)) {
    fmt::format_to(
        std::back_inserter(list),
        R"({}{{"id":"{}","token":"{}","outcome":"failed","retryable":false,"error":{}}})",
        list.empty() ? "" : ",", task.id, task.token, error_of(settled));
    ++settled;
  }
  return list;
}

}  // namespace

std::string_view name_of(Reading reading) {
  static constexpr std::array<std::string_view, 4> names{"filtered", "page", "text", "groups"};
  return names[static_cast<std::size_t>(reading)];
}

Stock::Stock(TestServer& server, std::size_t tasks) : server_(server) {
  HttpLoad load(server.port(), 1);
  for (const std::string_view queue : queues) {
    const Reply reply = load.ask(0, http_request("PUT", fmt::format("/v1/queues/{}", queue),
                                                 fmt::format(R"({{"name":"{}"}})", queue)));
    require(reply.status / 100 == 2, reply.body);
  }
  count();
  const std::size_t dead = tasks / dead_every;
  if (dead_ < dead) {
    // The oldest die, so that dead letters are as far from the cache as the others.
    if (tasks_ < tasks) fill(std::min(tasks - tasks_, 2 * dead + queues.size() * put_batch));
    kill(dead - dead_);
    count();
  }
  if (tasks_ < tasks) fill(tasks - tasks_);
  count();
  check_readings();
}

void Stock::count() {
  HttpLoad load(server_.port(), 1);
  tasks_ = 0;
  dead_ = 0;
  for (const std::string_view queue : queues) {
    const auto stats = asked(load, fmt::format("/v1/queues/{}/stats", queue));
    for (const auto& [state, number] : stats.at("states").as_object()) {
      const auto many = number.to_number<std::size_t>();
      tasks_ += many;
      if (state == "failed" || state == "dead") dead_ += many;
    }
    const auto newest = asked(load, fmt::format("/v1/tasks?queue={}&limit=1", queue));
    for (const auto& task : newest.at("tasks").as_array()) {
      newest_ = std::max(newest_, task.at("number").to_number<std::uint64_t>());
    }
  }
}

void Stock::fill(std::size_t tasks) {
  HttpLoad load(server_.port(), put_connections);
  // Puts whole batches, so that the next call goes on with the next queue.
  std::size_t next = (tasks_ + put_batch - 1) / put_batch * put_batch;
  const std::size_t end = next + tasks;
  const auto send = [&](std::size_t connection) {
    if (next >= end) return;
    load.send(connection, put_of(next, put_batch));
    next += put_batch;
  };
  for (std::size_t i = 0; i < put_connections; ++i) send(i);
  load.finish([&](const Answer& answer) {
    require_status(answer, 200);
    require_no_error(answer.body);
    send(answer.connection);
  });
  count();
}

void Stock::kill(std::size_t tasks) {
  HttpLoad load(server_.port(), 1);
  std::size_t killed = 0;
  for (std::size_t queue = 0; killed < tasks; queue = (queue + 1) % queues.size()) {
    const Reply taken = load.ask(
        0, http_request("POST", "/v1/take",
                        fmt::format(R"({{"worker":"stock","queue":"{}","most":{}}})", queues[queue],
                                    std::min<std::size_t>(tasks - killed, 100))));
    require(taken.status == 200, taken.body);
    const std::size_t before = killed;
    const std::string list = settlements_of(taken.body, killed);
    require(killed != before, "there are tasks to fail");
    const Reply settled =
        load.ask(0, http_request("POST", "/v1/work",
                                 fmt::format(R"({{"worker":"stock","settle":[{}]}})", list)));
    require(settled.status == 200, settled.body);
    require_no_error(settled.body);
  }
}

void Stock::check_readings() const {
  std::mt19937_64 random(1);
  HttpLoad load(server_.port(), 1);
  for (const Reading reading : readings) {
    bool found = false;
    for (int attempt = 0; attempt < 10 && !found; ++attempt) {
      const std::string request = this->request(reading, random);
      const Reply reply = load.ask(0, request);
      require(reply.status == 200, fmt::format("{}{}", request, reply.body));
      found = found_something(reading, reply.body);
    }
    require(found, fmt::format("the reading '{}' finds something", name_of(reading)));
  }
}

std::string Stock::request(Reading reading, std::mt19937_64& random) const {
  // The oldest quarter has too few older tasks for a page.
  const std::uint64_t cursor = newest_ / 4 + random() % (newest_ - newest_ / 4) + 1;
  const auto get = [](const std::string& target) { return http_request("GET", target); };
  switch (reading) {
    case Reading::filtered:
      return get(fmt::format("/v1/tasks?type={}&client_id=client-{}&cursor={}",
                             types[random() % types.size()], random() % clients, cursor));
    case Reading::page:
      return get(fmt::format("/v1/tasks?queue={}&full=true&limit=1000&cursor={}",
                             queues[random() % queues.size()], cursor));
    case Reading::text:
      return get(fmt::format("/v1/tasks?text={}&cursor={}", needle, cursor));
    case Reading::groups:
      return get(fmt::format("/v1/dead/groups?queue={}", queues[random() % queues.size()]));
  }
  return {};
}

bool Stock::found_something(Reading reading, std::string_view body) {
  return body.substr(0, 500).contains(reading == Reading::groups ? R"("groups":[{)"
                                                                 : R"("tasks":[{)");
}

}  // namespace millrace::bench
