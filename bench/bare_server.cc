// The bare server: what a server of durable puts must do at the least, and nothing else. It parses
// the same HTTP and the same JSON, appends the task to a log, syncs for all requests that came
// meanwhile, and answers with an id and the same headers. Ours is compared with it.
//
//   bare_server serve --listen 127.0.0.1:PORT --store journal:DIRECTORY [--segments N]
//
// One thread reads and writes sockets, one commits. Other flags are accepted and ignored, so that
// it can replace the real one.
#include <fmt/format.h>
#include <sys/signal.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parser.hpp>
#include <boost/json/value.hpp>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bench/bare_log.h"
#include "bench/require.h"
#include "core/clock.h"
#include "core/uuid.h"
#include "store/store.h"

namespace millrace::bench {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
namespace json = boost::json;
using Failure = boost::system::error_code;
// The executor has its own type: the default one is type-erased, which costs time.
using Executor = asio::io_context::executor_type;
using Socket = asio::basic_stream_socket<asio::ip::tcp, Executor>;
using Acceptor = asio::basic_socket_acceptor<asio::ip::tcp, Executor>;

class Connection;
using Waiting = std::vector<std::shared_ptr<Connection>>;

// Takes records from the socket thread and makes one group of all that come during a sync.
class Committer {
 public:
  Committer(asio::io_context& io, const std::string& directory, std::size_t segments)
      : io_(io), log_(directory, segments) {}
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;
  ~Committer() {
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
    }
    arrived_.notify_one();
    thread_.join();
  }

  void commit(const Uuid& id, std::string_view record, std::shared_ptr<Connection> who) {
    const auto size = static_cast<std::uint32_t>(record.size());
    const std::scoped_lock lock(mutex_);
    if (records_.empty()) records_.resize(sizeof(std::uint32_t));  // room for the checksum
    records_.append(reinterpret_cast<const char*>(&size), sizeof(size));
    records_.append(reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size());
    records_.append(record);
    waiting_.push_back(std::move(who));
    if (waiting_.size() == 1) arrived_.notify_one();
  }

 private:
  void run() {
    std::string records;
    for (;;) {
      Waiting group;
      records.clear();
      {
        std::unique_lock lock(mutex_);
        arrived_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
        if (waiting_.empty()) return;
        records.swap(records_);
        group.swap(waiting_);
      }
      log_.append(records);
      answer(std::move(group));
    }
  }
  void answer(Waiting group);

  asio::io_context& io_;
  BareLog log_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::string records_;
  Waiting waiting_;
  bool stopping_ = false;
  std::thread thread_{[this] { run(); }};
};

// What all connections share; used by the socket thread only.
struct Shared {
  SystemClock clock;
  UuidSource ids{static_cast<std::uint64_t>(getpid())};
  std::uint64_t numbers = 0;
  std::uint64_t requests = 0;
  time_t date_of = 0;
  std::string date;
  json::parser parser;
  std::array<unsigned char, 16384> memory;  // for what the parser makes

  std::string_view date_text() {
    const auto now = clock.now().time_since_epoch().count() / 1000;
    if (now != date_of) {
      date_of = now;
      tm parts{};
      gmtime_r(&date_of, &parts);
      std::array<char, 40> text{};
      strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
      date = text.data();
    }
    return date;
  }

  // A task is an object with a type and a payload.
  bool is_task(std::string_view body) {
    json::monotonic_resource resource(memory.data(), memory.size());
    parser.reset(&resource);
    Failure failure;
    parser.write(body.data(), body.size(), failure);
    if (failure) return false;
    const json::value value = parser.release();
    const json::object* task = value.if_object();
    if (task == nullptr || !task->contains("payload")) return false;
    const json::value* type = task->if_contains("type");
    return type != nullptr && type->is_string();
  }
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Socket socket, Shared& shared, Committer& committer)
      : socket_(std::move(socket)), shared_(shared), committer_(committer) {
    socket_.set_option(asio::ip::tcp::no_delay(true));
  }

  void read() {
    request_.emplace();
    http::async_read(socket_, buffer_, *request_,
                     [self = shared_from_this()](Failure failure, std::size_t) {
                       if (!failure) self->handle();
                     });
  }

  // The task is on the disk.
  void stored() {
    body_.clear();
    fmt::format_to(std::back_inserter(body_),
                   R"({{"id":"{}","number":{},"state":"queued","existing":false}})", to_text(id_),
                   ++shared_.numbers);
    respond("201 Created");
  }

 private:
  void handle() {
    const auto& request = request_->get();
    if (request.method() != http::verb::post) {
      body_ = R"({"status":"ok"})";
      return respond("200 OK");
    }
    if (!shared_.is_task(request.body())) {
      body_ = R"({"title":"not a task"})";
      return respond("422 Unprocessable Entity");
    }
    id_ = shared_.ids.next(shared_.clock.now());
    committer_.commit(id_, request.body(), shared_from_this());
  }

  void respond(std::string_view status) {
    out_.clear();
    fmt::format_to(std::back_inserter(out_),
                   "HTTP/1.1 {}\r\nServer: bare\r\nDate: {}\r\nX-Request-Id: {:016x}\r\n"
                   "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                   status, shared_.date_text(), ++shared_.requests, body_.size(), body_);
    const bool keep = request_->get().keep_alive();
    asio::async_write(socket_, asio::buffer(out_),
                      [self = shared_from_this(), keep](Failure failure, std::size_t) {
                        if (!failure && keep) self->read();
                      });
  }

  Socket socket_;
  Shared& shared_;
  Committer& committer_;
  boost::beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> request_;
  Uuid id_;
  std::string body_;
  std::string out_;
};

void Committer::answer(Waiting group) {
  asio::post(io_, [group = std::move(group)] {
    for (const auto& connection : group) connection->stored();
  });
}

void accept(Acceptor& acceptor, Shared& shared, Committer& committer) {
  acceptor.async_accept([&](Failure failure, Socket socket) {
    if (!failure) {
      std::make_shared<Connection>(std::move(socket), shared, committer)->read();
    }
    accept(acceptor, shared, committer);
  });
}

std::string value_of(const std::vector<std::string>& arguments, std::string_view flag) {
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    if (arguments[i] == flag) return arguments[i + 1];
  }
  return {};
}

void serve(const std::vector<std::string>& arguments) {
  const std::string listen = value_of(arguments, "--listen");
  const std::string store = value_of(arguments, "--store");
  const std::string segments = value_of(arguments, "--segments");
  const auto colon = listen.rfind(':');
  require(colon != std::string::npos, "--listen ADDRESS:PORT");
  require(store.starts_with("journal:"), "--store journal:DIRECTORY");
  const std::string directory = store.substr(store.find(':') + 1);
  std::filesystem::create_directories(directory);

  asio::io_context io(1);
  Committer committer(io, directory, segments.empty() ? 8 : std::stoul(segments));
  Shared shared;
  const asio::ip::tcp::endpoint endpoint(
      asio::ip::make_address(listen.substr(0, colon)),
      static_cast<std::uint16_t>(std::stoul(listen.substr(colon + 1))));
  Acceptor acceptor(io, endpoint);
  accept(acceptor, shared, committer);
  io.run();  // until the process is ended
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  millrace::bench::serve({argv + 1, argv + argc});
  return 0;
}
