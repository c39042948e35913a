// What servers are loaded with: puts, work, waiting workers. docs/http.md has the shapes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/http_load.h"
#include "bench/processes.h"

namespace millrace::bench {

inline constexpr std::size_t payload_size = 260;

// A JSON object of that many bytes; its member `seq` is a number of eight digits.
std::string payload_text();

// POST /v1/queues/emails/tasks with one task, or with an array of them.
std::string put_request(std::size_t batch);

// Ends the bench if an answer has another status, or an error among the results of its batch.
void require_status(const Answer& answer, unsigned status);
void require_no_error(std::string_view body);

struct Handed {
  std::string_view id;
  std::string_view token;
};
// The next task in an answer to a take, from `at` on; an empty id after the last.
Handed next_task(std::string_view body, std::size_t& at);

struct Rate {
  double per_second = 0;     // tasks
  double server_cpu_us = 0;  // per task
  double load_cpu_us = 0;    // per task, of this process
};

// Another client that sends a request at intervals, on a connection of its own.
struct Beside {
  std::string request = {};  // empty: none
  double every = 1;          // seconds
};

// Durable puts for so long, after a short warm-up.
Rate put_for(TestServer& server, std::size_t connections, std::size_t batch, double seconds,
             const Beside& beside = {});

// Creates the queue; finished tasks are not kept.
void make_queue(TestServer& server);

// A request that is sent at intervals while tasks are worked, alone on its connection.
struct Probe {
  std::string request;
  std::vector<double> took_ms = {};
};

// Puts tasks and works them through POST /v1/work: settles the last ones and takes the next in one
// call. Knows how many wait.
class Workers {
 public:
  Workers(TestServer& server, std::size_t connections, std::size_t batch);

  // Puts until so many wait; not timed.
  void fill(std::size_t waiting);

  // Works for so long, or until nothing waits. Nothing stays taken.
  Rate work_for(double seconds, std::vector<Probe>* probes = nullptr);

  // Another client on the same load, with connections of its own.
  struct Guest {
    std::function<void(HttpLoad&)> begin = [](HttpLoad&) {};
    std::function<void(HttpLoad&)> tick = [](HttpLoad&) {};  // called some hundred times per second
    Answered answered = [](const Answer&) {};
  };
  // Puts and works so many tasks per second, evenly, after a second of warming up.
  Rate flow(double rate, double seconds, const Guest& guest);

  std::size_t waiting() const { return waiting_; }

 private:
  struct Worker {
    std::string settlements = {};  // as JSON, for the tasks it has taken
    std::size_t taken = 0;
    std::size_t settling = 0;
  };

  void connect();
  void ask(std::size_t index, bool take);
  // A very short round may be too short for all of them.
  void probe_missing(std::vector<Probe>& probes);
  void note_taken(Worker& worker, std::string_view body);

  TestServer& server_;
  std::size_t batch_;
  std::size_t waiting_ = 0;
  std::vector<Worker> workers_;
  std::unique_ptr<HttpLoad> load_;  // new each time: servers close idle connections
  std::string body_;
};

struct Latency {
  double p50_ms = 0;
  double p99_ms = 0;
};

Latency latency_of(std::vector<double>& milliseconds);

// From just before a put is sent until a waiting worker has the task.
Latency wait_of_tasks(TestServer& server, std::size_t workers, double rate, double seconds);

}  // namespace millrace::bench
