#include "bench/server_load.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "bench/measure.h"
#include "bench/require.h"

namespace millrace::bench {
namespace {

constexpr double warm_up = 0.2;  // seconds, at most a fifth of what is measured
constexpr std::string_view put_target = "/v1/queues/emails/tasks";
constexpr std::string_view seq_member = R"("seq":)";
constexpr std::size_t seq_digits = 8;

std::size_t position_of(std::string_view text, std::string_view what, std::size_t from) {
  if (from >= text.size()) return std::string_view::npos;
  const void* at = memmem(text.data() + from, text.size() - from, what.data(), what.size());
  return at == nullptr ? std::string_view::npos
                       : static_cast<std::size_t>(static_cast<const char*>(at) - text.data());
}

// Processor time of the server and of this process, between two moments.
class Processors {
 public:
  explicit Processors(TestServer& server)
      : server_(&server),
        before_(server.process().cpu_seconds()),
        own_before_(process_cpu_seconds()) {}

  Rate rate(std::size_t tasks, double seconds) const {
    const auto count = static_cast<double>(std::max<std::size_t>(tasks, 1));
    return {.per_second = static_cast<double>(tasks) / seconds,
            .server_cpu_us = (server_->process().cpu_seconds() - before_) * 1e6 / count,
            .load_cpu_us = (process_cpu_seconds() - own_before_) * 1e6 / count};
  }

 private:
  TestServer* server_;
  double before_;
  double own_before_;
};

std::string task_text() {
  return fmt::format(R"({{"type":"send-email","payload":{}}})", payload_text());
}

}  // namespace

void require_status(const Answer& answer, unsigned status) {
  if (answer.status == status) return;
  require(false, fmt::format("{} was expected, not {} {}", status, answer.status, answer.body));
}

void require_no_error(std::string_view body) {
  const std::size_t at = position_of(body, R"("error":)", 0);
  if (at != std::string_view::npos) require(false, body.substr(at, 300));
}

Handed next_task(std::string_view body, std::size_t& at) {
  static constexpr std::string_view id_member = R"("id":")";
  static constexpr std::string_view token_member = R"("token":")";
  const std::size_t id = position_of(body, id_member, at);
  if (id == std::string_view::npos) return {};
  const std::size_t token = position_of(body, token_member, id);
  require(token != std::string_view::npos, "a task that is taken has a token");
  at = token + token_member.size() + 16;
  return {.id = body.substr(id + id_member.size(), 36),
          .token = body.substr(token + token_member.size(), 16)};
}

std::string payload_text() {
  std::string text =
      R"({"to":"someone@example.com","subject":"What the river gives","seq":10000000,"text":")";
  text.append(payload_size - text.size() - 2, 'x');
  return text + R"("})";
}

std::string put_request(std::size_t batch) {
  const std::string task = task_text();
  if (batch == 1) return http_request("POST", put_target, task);
  std::string body = "[";
  for (std::size_t i = 0; i < batch; ++i) body += (i == 0 ? "" : ",") + task;
  return http_request("POST", put_target, body + "]");
}

Rate put_for(TestServer& server, std::size_t connections, std::size_t batch, double seconds,
             const Beside& beside) {
  const std::string request = put_request(batch);
  const unsigned good = batch == 1 ? 201 : 200;
  HttpLoad load(server.port(), connections);
  std::size_t puts = 0;
  const std::size_t other = beside.request.empty() ? connections : load.connect();
  bool other_waits = !beside.request.empty();
  double other_next = 0;
  const Answered next = [&](const Answer& answer) {
    if (answer.connection == other) {
      require_status(answer, 200);
      other_waits = true;
      return;
    }
    if (other_waits && wall_seconds() >= other_next) {
      other_waits = false;
      other_next = wall_seconds() + beside.every;
      load.send(other, beside.request);
    }
    require_status(answer, good);
    if (batch != 1) require_no_error(answer.body);
    puts += batch;
    load.send(answer.connection, request);
  };
  for (std::size_t i = 0; i < connections; ++i) load.send(i, request);
  load.run(wall_seconds() + std::min(warm_up, seconds / 5), next);
  puts = 0;
  const Processors processors(server);
  const double begin = wall_seconds();
  load.run(begin + seconds, next);
  const Rate rate = processors.rate(puts, wall_seconds() - begin);
  load.finish([&](const Answer& answer) {
    require_status(answer, answer.connection == other ? 200 : good);
  });
  return rate;
}

void make_queue(TestServer& server) {
  const Reply reply = HttpLoad(server.port(), 1)
                          .ask(0, http_request("PUT", "/v1/queues/emails",
                                               R"({"name":"emails","keep_completed":{"last":0}})"));
  require(reply.status / 100 == 2, fmt::format("PUT /v1/queues/emails: {}", reply.body));
}

Workers::Workers(TestServer& server, std::size_t connections, std::size_t batch)
    : server_(server), batch_(batch), workers_(connections) {
  make_queue(server);
}

void Workers::connect() {
  load_ = std::make_unique<HttpLoad>(server_.port(), workers_.size() + 1);
}

void Workers::fill(std::size_t waiting) {
  static constexpr std::size_t put_batch = 500;
  if (waiting_ >= waiting) return;
  connect();
  const std::string request = put_request(put_batch);
  std::size_t calls = (waiting - waiting_ + put_batch - 1) / put_batch;
  waiting_ += calls * put_batch;
  const auto send = [&](std::size_t connection) {
    if (calls == 0) return;
    --calls;
    load_->send(connection, request);
  };
  for (std::size_t i = 0; i < workers_.size(); ++i) send(i);
  load_->finish([&](const Answer& answer) {
    require_status(answer, 200);
    require_no_error(answer.body);
    send(answer.connection);
  });
}

void Workers::ask(std::size_t index, bool take) {
  Worker& worker = workers_[index];
  body_.clear();
  fmt::format_to(std::back_inserter(body_), R"({{"worker":"bench-{}")", index);
  if (worker.taken != 0) body_ += R"(,"settle":[)" + worker.settlements + "]";
  if (take) {
    fmt::format_to(std::back_inserter(body_),
                   R"(,"take":{{"queues":[{{"queue":"emails","most":{}}}]}})", batch_);
  }
  body_ += '}';
  worker.settling = std::exchange(worker.taken, 0);
  load_->send(index, http_request("POST", "/v1/work", body_));
}

void Workers::note_taken(Worker& worker, std::string_view body) {
  worker.settlements.clear();
  std::size_t at = 0;
  for (Handed task = next_task(body, at); !task.id.empty(); task = next_task(body, at)) {
    fmt::format_to(std::back_inserter(worker.settlements),
                   R"({}{{"id":"{}","token":"{}","outcome":"done"}})", worker.taken == 0 ? "" : ",",
                   task.id, task.token);
    ++worker.taken;
    --waiting_;
  }
}

void Workers::probe_missing(std::vector<Probe>& probes) {
  for (Probe& probe : probes) {
    if (!probe.took_ms.empty()) continue;
    const double before = wall_seconds();
    require(load_->ask(workers_.size(), probe.request).status == 200, probe.request);
    probe.took_ms.push_back((wall_seconds() - before) * 1e3);
  }
}

Rate Workers::work_for(double seconds, std::vector<Probe>* probes) {
  constexpr double probe_every = 0.02;
  const std::size_t probe_connection = workers_.size();
  connect();
  std::size_t settled = 0;
  bool dry = false;
  bool stopping = false;
  bool probing = false;
  std::size_t probe = 0;
  double probed_at = 0;
  const Answered next = [&](const Answer& answer) {
    require_status(answer, 200);
    if (answer.connection == probe_connection) {
      probing = false;
      probes->at(probe++ % probes->size()).took_ms.push_back((wall_seconds() - probed_at) * 1e3);
      return;
    }
    require_no_error(answer.body);
    Worker& worker = workers_[answer.connection];
    settled += worker.settling;
    note_taken(worker, answer.body);
    if (worker.taken < batch_) {
      dry = true;
      load_->stop();
    }
    if (!stopping || worker.taken != 0) ask(answer.connection, !stopping);
  };
  const auto run = [&](double until) {
    while (!dry && wall_seconds() < until) {
      if (probes != nullptr && !probing && wall_seconds() - probed_at > probe_every) {
        probing = true;
        probed_at = wall_seconds();
        load_->send(probe_connection, probes->at(probe % probes->size()).request);
      }
      load_->run(probes == nullptr ? until : std::min(until, wall_seconds() + probe_every), next);
    }
  };
  for (std::size_t i = 0; i < workers_.size(); ++i) ask(i, true);
  double begin = wall_seconds();
  Processors processors(server_);
  run(begin + std::min(warm_up, seconds / 5));
  if (!dry) {  // otherwise there were so few that the warm-up was all
    settled = 0;
    processors = Processors(server_);
    begin = wall_seconds();
    run(begin + seconds);
  }
  const Rate rate = processors.rate(settled, wall_seconds() - begin);
  stopping = true;
  load_->finish(next);
  if (probes != nullptr) probe_missing(*probes);
  return rate;
}

Rate Workers::flow(double rate, double seconds, const Guest& guest) {
  constexpr std::size_t putters = 4;
  constexpr double warm = 1;
  connect();
  std::vector<std::size_t> free_workers;
  std::vector<std::size_t> free_putters;
  for (std::size_t i = 0; i < workers_.size(); ++i) free_workers.push_back(i);
  for (std::size_t i = 0; i < putters; ++i) free_putters.push_back(load_->connect());
  const std::size_t last_putter = free_putters.back();
  guest.begin(*load_);
  const std::string put = put_request(batch_);
  std::size_t settled = 0;
  const Answered next = [&](const Answer& answer) {
    if (answer.connection > last_putter) return guest.answered(answer);
    require_status(answer, 200);
    require_no_error(answer.body);
    if (answer.connection > workers_.size()) return free_putters.push_back(answer.connection);
    Worker& worker = workers_[answer.connection];
    settled += worker.settling;
    note_taken(worker, answer.body);
    free_workers.push_back(answer.connection);
  };
  // The request that has waited longest.
  const auto pop = [](std::vector<std::size_t>& free) {
    const std::size_t first = free.front();
    free.erase(free.begin());
    return first;
  };
  const double step = static_cast<double>(batch_) / rate;
  double at = wall_seconds();
  const auto run = [&](double until) {
    for (; at < until; at += step) {
      load_->run(at, next);
      guest.tick(*load_);
      if (!free_workers.empty()) ask(pop(free_workers), true);
      if (free_putters.empty()) continue;
      load_->send(pop(free_putters), put);
      waiting_ += batch_;
    }
  };
  run(at + std::min(warm, seconds / 2));
  settled = 0;
  const Processors processors(server_);
  const double begin = wall_seconds();
  run(begin + seconds);
  const Rate reached = processors.rate(settled, wall_seconds() - begin);
  load_->finish(next);
  for (const std::size_t worker : free_workers) {
    if (workers_[worker].taken != 0) ask(worker, false);
  }
  free_workers.clear();
  load_->finish(next);
  return reached;
}

Latency latency_of(std::vector<double>& milliseconds) {
  std::ranges::sort(milliseconds);
  const auto at = [&](double share) {
    const auto index = static_cast<std::size_t>(static_cast<double>(milliseconds.size()) * share);
    return milliseconds[std::min(index, milliseconds.size() - 1)];
  };
  return {.p50_ms = at(0.5), .p99_ms = at(0.99)};
}

namespace {

// Workers that wait for one task each, and clients that put tasks at an even rate.
class LatencyRun {
 public:
  LatencyRun(TestServer& server, std::size_t workers)
      : workers_(workers), settling_(workers), load_(server.port(), workers + putters) {
    for (std::size_t i = 0; i < putters; ++i) free_putters_.push_back(workers + i);
    seq_at_ = position_of(put_, seq_member, 0) + seq_member.size();
    for (std::size_t i = 0; i < workers; ++i) take(i);
  }

  std::vector<double> run(double rate, double seconds) {
    const Answered next = [&](const Answer& answer) { this->next(answer); };
    const double begin = wall_seconds();
    for (double at = begin; at < begin + seconds; at += 1 / rate) {
      load_.run(at, next);
      sent_.push_back(wall_seconds());
      while (free_putters_.empty()) load_.run(wall_seconds() + 0.001, next);
      put();
    }
    // The next round must find nothing of this one.
    const double until = wall_seconds() + 10;
    while (settled_ < sent_.size() && wall_seconds() < until) {
      load_.run(wall_seconds() + 0.01, next);
    }
    require(settled_ == sent_.size(), "every task is handed over and settled");
    return std::move(waits_ms_);
  }

 private:
  static constexpr std::size_t putters = 16;
  static constexpr std::size_t first_seq = 10'000'000;

  void put() {
    const std::size_t putter = free_putters_.back();
    free_putters_.pop_back();
    std::to_chars(put_.data() + seq_at_, put_.data() + seq_at_ + seq_digits,
                  first_seq + sent_.size() - 1);
    load_.send(putter, put_);
  }

  void take(std::size_t worker) {
    load_.send(worker,
               http_request("POST", "/v1/take",
                            fmt::format(R"({{"worker":"bench-{}","queues":[{{"queue":"emails",)"
                                        R"("most":1}}],"wait_ms":30000}})",
                                        worker)));
  }

  void next(const Answer& answer) {
    const double now = wall_seconds();
    if (answer.connection >= workers_) {
      require_status(answer, 201);
      free_putters_.push_back(answer.connection);
      return;
    }
    require_status(answer, 200);
    if (settling_[answer.connection]) {
      settling_[answer.connection] = false;
      ++settled_;
      return take(answer.connection);
    }
    std::size_t at = 0;
    const Handed task = next_task(answer.body, at);
    if (task.id.empty()) return take(answer.connection);  // it waited in vain
    const std::size_t seq_at = position_of(answer.body, seq_member, 0) + seq_member.size();
    std::size_t seq = 0;
    std::from_chars(answer.body.data() + seq_at, answer.body.data() + seq_at + seq_digits, seq);
    waits_ms_.push_back((now - sent_.at(seq - first_seq)) * 1e3);
    settling_[answer.connection] = true;
    load_.send(
        answer.connection,
        http_request("POST", "/v1/work",
                     fmt::format(R"({{"worker":"bench-{}","settle":[{{"id":"{}","token":"{}",)"
                                 R"("outcome":"done"}}]}})",
                                 answer.connection, task.id, task.token)));
  }

  std::size_t workers_;
  std::vector<bool> settling_;
  HttpLoad load_;
  std::vector<std::size_t> free_putters_;
  std::string put_ = put_request(1);
  std::size_t seq_at_ = 0;
  std::vector<double> sent_;
  std::size_t settled_ = 0;
  std::vector<double> waits_ms_;
};

}  // namespace

Latency wait_of_tasks(TestServer& server, std::size_t workers, double rate, double seconds) {
  std::vector<double> waits = LatencyRun(server, workers).run(rate, seconds);
  // The first ones are the warm-up.
  waits.erase(waits.begin(), waits.begin() + static_cast<std::ptrdiff_t>(waits.size() / 10));
  return latency_of(waits);
}

}  // namespace millrace::bench
