#include "outgoing/http_client.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <signal.h>
#include <algorithm>
#include <future>
#include <limits>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>

#include "core/clock.h"
#include "core/mutex.h"
#include "outgoing/curl_request.h"

namespace millrace::outgoing {
namespace {

constexpr std::size_t most_idle = 256;  // handles kept for the next request
constexpr int longest_poll_ms = 60'000;
// libcurl's own timeout fires first where there is one, because its message says more.
constexpr std::chrono::milliseconds patience(20);
constexpr Duration longest = std::chrono::hours(24 * 20);

bool libcurl_is_ready() {
  static const bool ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  return ready;
}

// Signals are for threads that expect them; a broken connection must not raise any.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

Error closed() {
  return {.code = ErrorCode::unavailable, .message = "the HTTP client is being closed"};
}

}  // namespace

std::string_view HttpReply::header(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, &Headers::value_type::first);
  return found == headers.end() ? std::string_view{} : found->second;
}

struct HttpClient::Parts {
  explicit Parts(HttpClientOptions given) : options(std::move(given)) {
    if (libcurl_is_ready()) multi = curl_multi_init();
    if (multi == nullptr) return;
    const auto most = static_cast<long>(
        std::clamp<std::size_t>(options.connections, 1, std::numeric_limits<int>::max()));
    curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, most);
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, std::max(most, 256L));
    thread = std::thread([this] { run(); });
  }

  ~Parts() {
    if (multi == nullptr) return;
    {
      const Lock lock(mutex);
      stopping = true;
    }
    curl_multi_wakeup(multi);
    thread.join();
    idle.clear();
    curl_multi_cleanup(multi);
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  struct Waiting {
    HttpRequest request;
    Done done;
  };

  void submit(HttpRequest request, Done done) {
    if (multi == nullptr) {
      done(fail(ErrorCode::unavailable, "libcurl cannot be started"));
      return;
    }
    bool first = false;
    bool late = false;
    {
      const Lock lock(mutex);
      late = stopping;
      first = inbox.empty();
      if (!late) inbox.push_back({std::move(request), std::move(done)});
    }
    if (late) {
      done(std::unexpected(closed()));  // sent by a completion while the client closes
    } else if (first) {
      curl_multi_wakeup(multi);
    }
  }

  void cancel(std::uint64_t number) {
    {
      const Lock lock(mutex);
      cancelled.push_back(number);
    }
    curl_multi_wakeup(multi);
  }

  // ---- On the client's thread ----

  void run() {
    block_signals();
    for (;;) {
      bool stop = false;
      {
        const Lock lock(mutex);
        std::swap(inbox, arrived);
        std::swap(cancelled, given_up);
        stop = stopping;
      }
      if (stop) break;
      for (Waiting& each : arrived) begin(std::move(each));
      arrived.clear();
      for (const std::uint64_t number : given_up) give_up(number);
      given_up.clear();
      int running = 0;
      curl_multi_perform(multi, &running);
      if (collect()) continue;  // completions may have sent more requests
      curl_multi_poll(multi, nullptr, 0, expire(), nullptr);
    }
    for (Waiting& each : arrived) each.done(std::unexpected(closed()));
    arrived.clear();
    while (!active.empty()) end(active.begin()->second, std::unexpected(closed()));
  }

  void begin(Waiting waiting) {
    if (waiting.request.stop.stop_requested()) {
      waiting.done(fail(ErrorCode::unavailable, "the request was cancelled before it was sent"));
      return;
    }
    std::unique_ptr<CurlRequest> curl_request;
    if (idle.empty()) {
      curl_request = std::make_unique<CurlRequest>(options);
    } else {
      curl_request = std::move(idle.back());
      idle.pop_back();
    }
    const std::uint64_t number = ++last_number;
    auto begun = curl_request->begin(number, std::move(waiting.request), std::move(waiting.done));
    if (begun && curl_multi_add_handle(multi, curl_request->handle()) != CURLM_OK) {
      begun = fail(ErrorCode::unavailable, "libcurl refuses the request");
    }
    if (!begun) {
      curl_request->end(std::unexpected(std::move(begun).error()));
      keep(std::move(curl_request));
      return;
    }
    CurlRequest* const added = curl_request.get();
    added->deadline = clock.steady() + std::min(added->request().timeout, longest) + patience;
    deadlines.emplace(added->deadline, number);
    active.emplace(number, std::move(curl_request));
    added->watch([this](std::uint64_t which) { cancel(which); });
  }

  bool collect() {
    bool some = false;
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      some = true;
      char* owner = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &owner);
      const CURLcode code = message->data.result;
      auto* curl_request = reinterpret_cast<CurlRequest*>(owner);
      auto taken = take_out(curl_request->number());
      taken->end(code);
      keep(std::move(taken));
    }
    return some;
  }

  // Ends requests that got no connection in time; libcurl measures the others itself. Returns the
  // milliseconds until the next one is due.
  int expire() {
    while (!deadlines.empty()) {
      const auto [deadline, number] = *deadlines.begin();
      const auto left = deadline - clock.steady();
      if (left > std::chrono::nanoseconds(0)) {
        return static_cast<int>(std::min<std::int64_t>(
            longest_poll_ms, std::chrono::ceil<std::chrono::milliseconds>(left).count()));
      }
      const auto& late = active.at(number);
      end(late,
          fail(
              ErrorCode::unavailable,
              fmt::format(
                  "the request to {} was not sent: none of {} connections became free within {} ms",
                  place_of(late->request().url), options.connections,
                  late->request().timeout.count())));
    }
    return longest_poll_ms;
  }

  void give_up(std::uint64_t number) {
    const auto found = active.find(number);
    if (found == active.end()) return;  // it was answered meanwhile
    end(found->second,
        fail(ErrorCode::unavailable, "the request was cancelled before its answer came"));
  }

  void end(const std::unique_ptr<CurlRequest>& curl_request, Result<HttpReply> result) {
    auto taken = take_out(curl_request->number());
    taken->end(std::move(result));
    keep(std::move(taken));
  }

  std::unique_ptr<CurlRequest> take_out(std::uint64_t number) {
    auto node = active.extract(number);
    deadlines.erase({node.mapped()->deadline, number});
    curl_multi_remove_handle(multi, node.mapped()->handle());
    return std::move(node.mapped());
  }

  void keep(std::unique_ptr<CurlRequest> curl_request) {
    // A handle that libcurl had no memory for cannot be reused.
    const bool usable = curl_request->handle() != nullptr;
    if (usable && idle.size() < most_idle) idle.push_back(std::move(curl_request));
  }

  const HttpClientOptions options;
  CURLM* multi = nullptr;

  Mutex mutex{LockRank::leaf};
  std::vector<Waiting> inbox GUARDED_BY(mutex);
  std::vector<std::uint64_t> cancelled GUARDED_BY(mutex);
  bool stopping GUARDED_BY(mutex) = false;

  // Used by the client's thread only.
  std::vector<Waiting> arrived;
  std::vector<std::uint64_t> given_up;
  std::unordered_map<std::uint64_t, std::unique_ptr<CurlRequest>> active;
  std::set<std::pair<std::chrono::nanoseconds, std::uint64_t>> deadlines;
  std::vector<std::unique_ptr<CurlRequest>> idle;
  SystemClock clock;
  std::uint64_t last_number = 0;
  std::thread thread;
};

HttpClient::HttpClient(HttpClientOptions options)
    : parts_(std::make_unique<Parts>(std::move(options))) {}

HttpClient::~HttpClient() = default;

void HttpClient::send(HttpRequest request, Done done) {
  parts_->submit(std::move(request), std::move(done));
}

Result<HttpReply> HttpClient::send(HttpRequest request) {
  std::promise<Result<HttpReply>> promise;
  auto answer = promise.get_future();
  // The promise lives in the completion, because set_value must return before it is destroyed.
  send(std::move(request), [promise = std::move(promise)](Result<HttpReply> result) mutable {
    promise.set_value(std::move(result));
  });
  return answer.get();
}

}  // namespace millrace::outgoing
