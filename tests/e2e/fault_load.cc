#include "tests/e2e/fault_load.h"

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "core/time_text.h"
#include "core/uuid.h"
#include "tests/e2e/server.h"
#include "tests/random/dice.h"

namespace millrace::test {
namespace {

namespace json = boost::json;

constexpr std::size_t most_waiting = 300;
constexpr Duration between_tries{20};

// A connection that is made again, to another server where the last one is gone.
class Line {
 public:
  Line(const std::vector<std::uint16_t>& ports, std::size_t home, FaultHistory& history)
      : ports_(ports), server_(home), history_(history) {}

  std::size_t server() const { return server_; }

  // nullopt: it is not known what became of it, and it is to be asked again.
  std::optional<json::value> ask(std::string path, std::string body) {
    if (!client_ || !client_->connected()) client_ = std::make_unique<RawClient>(ports_[server_]);
    if (!client_->connected()) return lost();
    const Reply reply = client_->ask(
        bytes_of({.method = "POST", .path = std::move(path), .body = std::move(body)}));
    if (reply.status == 0) return lost();
    if (reply.status == 503) return std::nullopt;
    boost::system::error_code error;
    json::value answer = json::parse(reply.body, error);
    if (reply.status == 200 && !error) return answer;
    history_.wrong(fmt::format("answer {}: {}", reply.status, reply.body));
    return std::nullopt;
  }

 private:
  std::nullopt_t lost() {
    client_.reset();
    server_ = (server_ + 1) % ports_.size();
    return std::nullopt;
  }

  const std::vector<std::uint16_t>& ports_;
  std::size_t server_;
  FaultHistory& history_;
  std::unique_ptr<RawClient> client_;
};

// The code of an item that was refused; empty: it was not.
std::string refusal(const json::value& item) {
  const auto* error = item.as_object().if_contains("error");
  return error == nullptr ? "" : std::string(error->at("code").as_string());
}

class Client {
 public:
  Client(const std::vector<std::uint16_t>& ports, std::size_t home, const std::string& queue,
         FaultHistory& history, const FaultStop& stop)
      : line_(ports, home, history),
        queue_(queue),
        history_(history),
        stop_(stop),
        dice_(std::random_device{}()),
        ids_(std::random_device{}()) {}

  void put_on() {
    std::vector<TaskId> ids;
    while (!ids.empty() || stop_.putting()) {
      if (!stop_.working()) return;
      const FaultFigures figures = history_.figures();
      if (ids.empty() && figures.all_put > figures.all_done + most_waiting) {
        stop_.pause(between_tries);
        continue;
      }
      if (ids.empty()) {
        const auto count = dice_.between(1U, 6U);
        for (std::uint32_t i = 0; i < count; ++i) ids.push_back({ids_.next(clock_.now())});
      }
      if (put(ids)) {
        ids.clear();
      } else {
        stop_.pause(between_tries);
      }
    }
  }

  void work_on() {
    while (stop_.working()) {
      if (!work()) stop_.pause(between_tries);
    }
  }

 private:
  struct Holding {
    TaskId id = {};
    Token token = {};
    bool done = true;
    bool sent = false;  // and perhaps heard
  };

  bool put(const std::vector<TaskId>& ids) {
    std::string body;
    for (const TaskId& id : ids) {
      body += fmt::format(R"({}{{"id":"{}","queue":"{}","priority":{},"payload_text":"{}"}})",
                          body.empty() ? "" : ",", to_text(id.value), queue_,
                          static_cast<int>(id.value.bytes[15] % 10), fault_payload(id));
    }
    const std::size_t server = line_.server();
    const auto answer = line_.ask("/v1/tasks", "[" + body + "]");
    if (!answer) return false;
    for (const json::value& item : answer->at("tasks").as_array()) {
      if (const std::string code = refusal(item); code == "unavailable") {
        return false;
      } else if (!code.empty()) {
        history_.wrong("a put is refused: " + json::serialize(item));
      }
    }
    for (const TaskId& id : ids) history_.put(id, server);
    return true;
  }

  bool work() {
    std::string settle;
    std::deque<Holding> sent;
    const TimePoint asked = clock_.now();
    while (!held_.empty() && (held_.front().sent || dice_.percent(80))) {
      Holding& one = sent.emplace_back(std::move(held_.front()));
      held_.pop_front();
      const std::string result =
          one.done ? fmt::format(R"(,"result_text":"{}")", fault_result(one.id, one.token)) : "";
      settle += fmt::format(R"({}{{"id":"{}","token":"{}","outcome":"{}"{}}})",
                            settle.empty() ? "" : ",", to_text(one.id.value), to_text(one.token),
                            one.done ? "done" : "give_back", result);
      history_.settling(one.id, one.token, one.done, asked);
    }
    const std::size_t server = line_.server();
    const auto answer = line_.ask(
        "/v1/work",
        fmt::format(R"({{"worker":"w","settle":[{}],"take":{{"queues":[{{"queue":"{}","most":5}}],)"
                    R"("wait_ms":200}}}})",
                    settle, queue_));
    if (!answer) return keep(std::move(sent));
    for (std::size_t i = 0; i < sent.size(); ++i) {
      hear(sent[i], answer->at("settled").at(i), asked, server);
    }
    const auto& tasks = answer->at("tasks").as_array();
    for (const json::value& lease : tasks) take(lease, asked);
    return !sent.empty() || !tasks.empty();
  }

  // To be asked again.
  bool keep(std::deque<Holding> sent) {
    for (Holding& one : sent) {
      one.sent = true;
      held_.push_front(std::move(one));
    }
    return false;
  }

  void hear(const Holding& one, const json::value& answer, TimePoint asked, std::size_t server) {
    const std::string code = refusal(answer);
    if (code.empty()) {
      return history_.settled(one.id, one.token, one.done, clock_.now(), server);
    }
    if (code == "unavailable") {
      keep({one});
    } else if (code != "lease_lost") {
      history_.wrong(fmt::format("{}: {}", to_text(one.id.value), json::serialize(answer)));
    } else if (!one.sent) {
      history_.refused(one.id, one.token, asked);
    }
  }

  void take(const json::value& lease, TimePoint asked) {
    const auto text = [&](const char* name) {
      return std::string_view(lease.at(name).as_string());
    };
    const ToldLease told{.id = task_id_from_text(text("id")).value(),
                         .token = token_from_text(text("token")).value(),
                         .asked = asked,
                         .got = clock_.now(),
                         .until = parse_time(text("until")).value()};
    history_.taken(told);
    if (text("payload_text") != fault_payload(told.id)) {
      history_.wrong("wrong payload of " + to_text(told.id.value));
    }
    held_.push_back({.id = told.id, .token = told.token, .done = dice_.percent(85)});
  }

  SystemClock clock_;
  Line line_;
  const std::string& queue_;
  FaultHistory& history_;
  const FaultStop& stop_;
  Dice dice_;
  UuidSource ids_;
  std::deque<Holding> held_;
};

}  // namespace

// ---- Stopping
// ------------------------------------------------------------------------------------

void FaultStop::stop_putting() {
  const std::scoped_lock lock(mutex_);
  putting_ = false;
}

void FaultStop::stop_all() {
  const std::scoped_lock lock(mutex_);
  putting_ = working_ = false;
  changed_.notify_all();
}

bool FaultStop::putting() const {
  const std::scoped_lock lock(mutex_);
  return putting_;
}

bool FaultStop::working() const {
  const std::scoped_lock lock(mutex_);
  return working_;
}

void FaultStop::pause(Duration time) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time, [this] { return !working_; });
}

// ---- The load
// ------------------------------------------------------------------------------------

FaultLoad::FaultLoad(std::vector<std::uint16_t> ports, std::string queue)
    : ports_(std::move(ports)), queue_(std::move(queue)) {
  const auto client = [this](std::size_t home) {
    return std::make_unique<Client>(ports_, home, queue_, history_, stop_);
  };
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    putting_.emplace_back([&, its = client(i)] { its->put_on(); });
    working_.emplace_back([&, its = client(i)] { its->work_on(); });
    working_.emplace_back([&, its = client(i)] { its->work_on(); });
  }
}

FaultLoad::~FaultLoad() {
  stop();
}

bool FaultLoad::goes_on(std::size_t tasks, Duration limit) {
  const std::size_t goal = history_.figures().all_done + tasks;
  return history_.comes_to(limit, [&](const auto& now) { return now.all_done >= goal; });
}

bool FaultLoad::all_serve(const std::vector<std::size_t>& servers, Duration limit) {
  FaultFigures before = history_.figures();
  constexpr std::size_t some = 10;
  return history_.comes_to(limit, [&](FaultFigures now) {
    for (const std::size_t each : servers) {
      if (now.put[each] < before.put[each] + some) return false;
      if (now.done[each] < before.done[each] + some) return false;
    }
    return true;
  });
}

bool FaultLoad::drains(Duration limit) {
  stop_.stop_putting();
  for (std::thread& each : putting_) each.join();
  putting_.clear();
  return history_.comes_to(limit, [](const auto& now) { return now.all_done == now.all_put; });
}

void FaultLoad::stop() {
  stop_.stop_all();
  for (std::thread& each : putting_) each.join();
  for (std::thread& each : working_) each.join();
  putting_.clear();
  working_.clear();
}

}  // namespace millrace::test
