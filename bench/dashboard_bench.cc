// What an open dashboard costs. A browser opens the overview of a server under load once, and its
// requests are recorded (dashboard/scripts/record.mjs). They are then replayed beside the same
// load, without a browser, which would need more of the machine than the server does.
//
//   dashboard_bench [FLAG...] [NAME...]     server-slowdown transfer; both if none
//
//   --rounds N       alternating rounds, without the page and with it (5)
//   --seconds S      of one round (15)
//   --rate N         tasks per second (20000)
//   --recording FILE an earlier recording, in place of a browser
//   --program FILE   another program in the place of millrace
//   --smoke          one very short round with a few requests and no browser
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "bench/flags.h"
#include "bench/http_load.h"
#include "bench/measure.h"
#include "bench/processes.h"
#include "bench/require.h"
#include "bench/server_load.h"

namespace millrace::bench {
namespace {

struct Settings {
  int rounds = 5;
  double seconds = 15;
  double rate = 20'000;
  bool browser = true;
  std::string recording = {};
  std::string server = own_directory() + "/../millrace";
};

constexpr double slowdown_least = 0.95;
constexpr double transfer_most = 150;  // kB
constexpr double first_seconds = 3;    // requests until then belong to the first page
constexpr std::size_t work_connections = 4;
constexpr std::size_t batch = 100;

// ---- The recording -----------------------------------------------------------------------------

struct Asked {
  double at = 0;  // seconds after the page was opened
  std::string kind = {};
  double bytes = 0;  // that came over the wire
  std::string accept = {};
  std::string target = {};
};

// What record.mjs prints.
std::vector<Asked> recording_from(const std::string& text) {
  std::vector<Asked> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::array<std::string, 5> parts;
    std::istringstream fields(line);
    for (std::string& part : parts) std::getline(fields, part, '\t');
    require(parts[4].starts_with('/'), fmt::format("a line of the recording: {}", line));
    all.push_back({.at = std::strtod(parts[0].c_str(), nullptr) / 1e3,
                   .kind = parts[1],
                   .bytes = std::strtod(parts[2].c_str(), nullptr),
                   .accept = parts[3],
                   .target = parts[4]});
  }
  std::ranges::stable_sort(all, {}, &Asked::at);
  require(!all.empty(), "something was recorded");
  return all;
}

std::string text_of(const std::string& file) {
  std::ifstream from(file);
  require(from.good(), fmt::format("{} can be read", file));
  return {std::istreambuf_iterator<char>(from), {}};
}

// Without a browser the names of the files are unknown.
std::vector<Asked> without_browser() {
  return recording_from(
      "0\tdocument\t500\ttext/html\t/\n"
      "10\tapi\t100\tapplication/json\t/v1/session\n"
      "20\tstream\t0\ttext/event-stream\t/v1/events?most=1\n"
      "20\tapi\t900\tapplication/json\t/v1/stats\n"
      "20\tapi\t200\tapplication/json\t/v1/alerts\n"
      "20\tapi\t9000\tapplication/json\t/v1/history?by=queue\n"
      "40\tapi\t600\tapplication/json\t/v1/stats\n");
}

// ---- The page ----------------------------------------------------------------------------------

std::string request_of(const Asked& asked) {
  return fmt::format(
      "GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: {}\r\nAccept-Encoding: gzip, deflate, "
      "br\r\n\r\n",
      asked.target, asked.accept);
}

// A stream has no end, so it is read apart from everything else, and its events are ignored.
class Stream {
 public:
  Stream(std::uint16_t port, const Asked& asked) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const std::string request = request_of(asked);
    require(::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0, "connect");
    require(::send(socket_, request.data(), request.size(), MSG_NOSIGNAL) ==
                static_cast<ssize_t>(request.size()),
            "a stream is asked for");
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { ::close(socket_); }

  void read() {
    for (ssize_t got = 1; got > 0;) {
      got = ::recv(socket_, scratch_.data(), scratch_.size(), MSG_DONTWAIT);
      require(got != 0, "a stream goes on");
      if (got > 0) bytes_ += static_cast<std::uint64_t>(got);
    }
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  int socket_;
  std::uint64_t bytes_ = 0;
  std::array<char, 65536> scratch_ = {};
};

// Sends the page's requests at the same times. After the end it goes on like a page that stays
// open.
class Page {
 public:
  Page(std::uint16_t port, std::vector<Asked> recording)
      : port_(port), recording_(std::move(recording)) {}

  Workers::Guest guest() {
    return {.begin = [this](HttpLoad& load) { begin(load); },
            .tick = [this](HttpLoad& load) { tick(load); },
            .answered =
                [this](const Answer& answer) {
                  require(answer.status == 200,
                          fmt::format("the page is answered {}", answer.status));
                  ++answers_;
                  free_.push_back(answer.connection);
                }};
  }
  // The stream ends with the page.
  void close() { stream_.reset(); }
  std::uint64_t answers() const { return answers_; }
  std::uint64_t stream_bytes() const { return stream_bytes_; }

 private:
  static constexpr std::size_t connections = 6;  // as many as a browser has

  void begin(HttpLoad& load) {
    free_.clear();
    for (std::size_t i = 0; i < connections; ++i) free_.push_back(load.connect());
    due_.clear();
    next_ = 0;
    began_ = wall_seconds();
  }

  void tick(HttpLoad& load) {
    const double now = wall_seconds() - began_;
    for (; next_ < recording_.size() && recording_[next_].at <= now; ++next_) {
      const Asked& asked = recording_[next_];
      if (asked.kind == "stream") {
        stream_.emplace(port_, asked);
      } else {
        due_.push_back(request_of(asked));
      }
    }
    if (next_ == recording_.size()) again();
    while (!due_.empty() && !free_.empty()) {
      load.send(free_.back(), due_.front());
      free_.pop_back();
      due_.pop_front();
    }
    if (!stream_) return;
    const std::uint64_t before = stream_->bytes();
    stream_->read();
    stream_bytes_ += stream_->bytes() - before;
  }

  // Begins after the first page.
  void again() {
    const auto first = std::ranges::find_if(
        recording_, [](const Asked& each) { return each.at >= first_seconds; });
    if (first == recording_.end()) return;
    next_ = static_cast<std::size_t>(first - recording_.begin());
    began_ += recording_.back().at - first_seconds + 1;
  }

  const std::uint16_t port_;
  const std::vector<Asked> recording_;
  std::vector<std::size_t> free_;
  std::deque<std::string> due_;
  std::size_t next_ = 0;
  double began_ = 0;
  std::optional<Stream> stream_;
  std::uint64_t stream_bytes_ = 0;
  std::uint64_t answers_ = 0;
};

// ---- What is measured --------------------------------------------------------------------------

class Bench {
 public:
  explicit Bench(const Settings& settings)
      : settings_(settings),
        server_(settings.server, {"--log-level", "warning"}),
        workers_(server_, work_connections, batch),
        recording_(record()) {}

  void server_slowdown() {
    std::vector<double> without;
    std::vector<double> with;
    std::vector<double> reached;
    Page page(server_.port(), recording_);
    for (int round = 0; round < settings_.rounds; ++round) {
      without.push_back(workers_.flow(settings_.rate, settings_.seconds, {}).server_cpu_us);
      const Rate looked_at = workers_.flow(settings_.rate, settings_.seconds, page.guest());
      page.close();
      with.push_back(looked_at.server_cpu_us);
      reached.push_back(looked_at.per_second);
    }
    require(page.answers() > 0, "the page was answered");
    const Ratio ratio = ratio_of(without, with);
    Line("dashboard/server-slowdown")
        .add("unit", "microseconds")
        .add("rate", settings_.rate)
        .add("reached", median(reached))
        .add("without", ratio.ours)
        .add("with", ratio.yardstick)
        .add("ratio", ratio.ratio)
        .add("ratio_min", ratio.least)
        .add("ratio_max", ratio.greatest)
        .add("least", slowdown_least)
        .add("answers", page.answers())
        .add("stream_bytes", page.stream_bytes())
        .print();
  }

  // The files, and the first answer of each route.
  void transfer() {
    double bytes = 0;
    std::uint64_t requests = 0;
    std::vector<std::string> seen;
    for (const Asked& asked : recording_) {
      if (asked.at > first_seconds || asked.kind == "stream") continue;
      if (std::ranges::find(seen, asked.target) != seen.end()) continue;
      seen.push_back(asked.target);
      bytes += asked.bytes;
      ++requests;
    }
    const double kb = bytes / 1000;
    Line("dashboard/transfer")
        .add("unit", "kb")
        .add("requests", requests)
        .add("ours", kb)
        .add("most", transfer_most)
        .add("ratio", kb / transfer_most)
        .print();
  }

 private:
  // Measured under load, since the page asks less often on a busy server.
  std::vector<Asked> record() {
    if (!settings_.recording.empty()) return recording_from(text_of(settings_.recording));
    if (!settings_.browser) return without_browser();
    constexpr int looks_for = 30;
    const test::TemporaryDirectory folder;
    const std::string log = folder.path() + "/recording";
    Process browser(
        {.words = {"node", "scripts/record.mjs", fmt::format("http://127.0.0.1:{}", server_.port()),
                   fmt::format("{}", looks_for)},
         .directory = MILLRACE_DASHBOARD,
         .log = log});
    workers_.flow(settings_.rate, looks_for, {});
    require(browser.ended_within(60), "the browser comes to an end");
    return recording_from(text_of(log));
  }

  const Settings settings_;
  TestServer server_;
  Workers workers_;
  const std::vector<Asked> recording_;
};

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) {
  using namespace millrace::bench;
  std::vector<std::string> words(argv + 1, argv + argc);
  Flags flags(words);
  Settings settings;
  if (flags.has("--smoke")) {
    settings = {.rounds = 1, .seconds = 1, .rate = 10'000, .browser = false};
    settings.server = own_directory() + "/../millrace";
  }
  flags.number("--rounds", settings.rounds);
  flags.number("--seconds", settings.seconds);
  flags.number("--rate", settings.rate);
  settings.recording = flags.value("--recording").value_or("");
  settings.server = flags.value("--program").value_or(settings.server);
  flags.refuse_others({"server-slowdown", "transfer"});
  raise_file_limit();
  Bench bench(settings);
  const auto wanted = [&](std::string_view name) {
    return words.empty() || std::ranges::find(words, name) != words.end();
  };
  if (wanted("server-slowdown")) bench.server_slowdown();
  if (wanted("transfer")) bench.transfer();
  return 0;
}
