#include "api/server/listener.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <cstring>
#include <future>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "api/server/lane.h"
#include "core/mutex.h"

namespace millrace::api {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto accept_back_off = std::chrono::milliseconds(100);

Result<tcp::endpoint> resolve(asio::io_context& io, const std::string& name, std::uint16_t port) {
  error_code ec;
  const asio::ip::address address = asio::ip::make_address(name, ec);
  if (!ec) return tcp::endpoint(address, port);
  tcp::resolver resolver(io);
  const auto found = resolver.resolve(name, std::to_string(port), tcp::resolver::passive, ec);
  if (ec || found.empty()) {
    return fail(ErrorCode::invalid,
                fmt::format("cannot listen on \"{}\": it is neither an address such as 127.0.0.1 "
                            "or :: nor a name this machine knows ({})",
                            name, ec ? ec.message() : "no address"));
  }
  return found.begin()->endpoint();
}

}  // namespace

class Listener::Engine {
 public:
  Engine(ListenerOptions options, HttpHandler& handler, Clock& clock, Log log)
      : options_(std::move(options)),
        site_(std::make_shared<Site>(options_.limits, handler, clock, std::move(log))) {
    for (unsigned i = 0; i < std::max(1U, options_.threads); ++i) {
      lanes_.push_back(std::make_shared<Lane>(site_));
    }
    acceptor_.emplace(lanes_.front()->io().get_executor());
    pause_.emplace(lanes_.front()->io().get_executor());
  }

  Result<void> start() {
    if (auto loaded = reload_tls(); !loaded) return loaded;
    if (auto opened = open(); !opened) return opened;
    try {
      for (const auto& lane : lanes_) threads_.emplace_back([lane] { lane->run(); });
    } catch (const std::system_error& e) {
      stop();
      return millrace::fail(ErrorCode::unavailable,
                            fmt::format("cannot start {} threads: {}", lanes_.size(), e.what()));
    }
    asio::post(lanes_.front()->io(), [this] { accept(); });
    return {};
  }

  std::uint16_t port() const { return port_; }

  ListenerCounts counts() const {
    return {.open = site_->open,
            .accepted = site_->accepted,
            .refused = site_->refused,
            .requests = site_->requests,
            .bodies = site_->bodies,
            .unread = site_->unread,
            .kept = site_->kept};
  }

  Result<void> reload_tls() {
    if (!options_.tls) return {};
    auto loaded = TlsSettings::load(*options_.tls);
    if (!loaded) return std::unexpected(loaded.error());
    const Lock lock(mutex_);
    tls_ = std::move(*loaded);
    return {};
  }

  void stop_accepting() {
    if (threads_.empty() || stopped_accepting_) return;
    stopped_accepting_ = true;
    std::promise<void> done;
    asio::post(lanes_.front()->io(), [this, &done] {
      error_code ignored;
      ignored = acceptor_->close(ignored);
      pause_->cancel();
      done.set_value();
    });
    done.get_future().wait();
  }

  bool drain(Duration most) {
    stop_accepting();
    site_->draining = true;
    for (const auto& lane : lanes_) lane->drain();
    const Lock lock(site_->mutex);
    return site_->all_gone.wait_for(site_->mutex, most, [this] { return site_->open == 0; });
  }

  void stop() {
    if (threads_.empty()) return;
    stop_accepting();
    for (const auto& lane : lanes_) lane->stop();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  Result<void> open() {
    const auto endpoint = resolve(lanes_.front()->io(), options_.address, options_.port);
    if (!endpoint) return std::unexpected(endpoint.error());
    error_code ec;
    ec = acceptor_->open(endpoint->protocol(), ec);
    if (!ec) ec = acceptor_->set_option(tcp::acceptor::reuse_address(true), ec);
    if (!ec && endpoint->address().is_v6())
      ec = acceptor_->set_option(asio::ip::v6_only(false), ec);
    if (!ec) ec = acceptor_->bind(*endpoint, ec);
    if (!ec) ec = acceptor_->listen(tcp::acceptor::max_listen_connections, ec);
    if (ec) {
      const ErrorCode code =
          ec == asio::error::address_in_use ? ErrorCode::conflict : ErrorCode::unavailable;
      return millrace::fail(code, fmt::format("cannot listen on {} port {}: {}", options_.address,
                                              options_.port, ec.message()));
    }
    port_ = acceptor_->local_endpoint(ec).port();
    return {};
  }

  // Runs on the first lane's thread; connections go to the lanes in turn.
  void accept() {
    const std::shared_ptr<Lane>& lane = lanes_[next_lane_++ % lanes_.size()];
    acceptor_->async_accept(lane->io().get_executor(),
                            [this, &lane](const error_code& ec, Lane::Socket socket) {
                              accepted(ec, std::move(socket), *lane);
                            });
  }

  void accepted(const error_code& ec, Lane::Socket socket, Lane& lane) {
    if (ec == asio::error::operation_aborted || !acceptor_->is_open()) return;
    if (ec == asio::error::no_descriptors || ec == asio::error::no_memory || ec.value() == ENFILE ||
        ec.value() == ENOBUFS) {
      back_off(ec);
      return;
    }
    if (!ec) {
      ++site_->accepted;
      const std::uint64_t open = site_->open++;
      const bool refused = open >= options_.limits.connections;
      if (refused) ++site_->refused;
      if (open >= options_.limits.connections + options_.limits.refusals) {
        --site_->open;
      } else {
        lane.adopt(std::move(socket), tls(), refused);
      }
    }
    accept();
  }

  // Nothing can be accepted now; waiting connections are served when others have ended.
  void back_off(const error_code& ec) {
    if (!backing_off_) {
      site_->log(LogLevel::warning,
                 fmt::format("no further connection can be accepted for now: {} ({} are open)",
                             ec.message(), site_->open.load()));
    }
    backing_off_ = true;
    pause_->expires_after(accept_back_off);
    pause_->async_wait([this](const error_code& cancelled) {
      if (cancelled || !acceptor_->is_open()) return;
      accept();
    });
  }

  std::shared_ptr<const TlsSettings> tls() {
    backing_off_ = false;
    const Lock lock(mutex_);
    return tls_;
  }

  using Executor = Lane::Executor;

  const ListenerOptions options_;
  std::shared_ptr<Site> site_;
  std::vector<std::shared_ptr<Lane>> lanes_;
  std::optional<asio::basic_socket_acceptor<tcp, Executor>> acceptor_;
  std::optional<asio::basic_waitable_timer<std::chrono::steady_clock,
                                           asio::wait_traits<std::chrono::steady_clock>, Executor>>
      pause_;
  std::vector<std::thread> threads_;
  std::size_t next_lane_ = 0;
  std::uint16_t port_ = 0;
  bool backing_off_ = false;
  bool stopped_accepting_ = false;

  Mutex mutex_;
  std::shared_ptr<const TlsSettings> tls_ GUARDED_BY(mutex_);
};

Listener::Listener(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
Listener::~Listener() {
  stop();
}

Result<std::unique_ptr<Listener>> Listener::start(ListenerOptions options, HttpHandler& handler,
                                                  Clock& clock, Log log) {
  auto engine = std::make_unique<Engine>(std::move(options), handler, clock, std::move(log));
  if (auto started = engine->start(); !started) return std::unexpected(started.error());
  return std::unique_ptr<Listener>(new Listener(std::move(engine)));
}

std::uint16_t Listener::port() const {
  return engine_->port();
}
ListenerCounts Listener::counts() const {
  return engine_->counts();
}
Result<void> Listener::reload_tls() {
  return engine_->reload_tls();
}
void Listener::stop_accepting() {
  engine_->stop_accepting();
}
bool Listener::drain(Duration most) {
  return engine_->drain(most);
}
void Listener::stop() {
  engine_->stop();
}

Result<std::uint64_t> raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) return limit.rlim_cur;
  }
  return fail(ErrorCode::unavailable,
              fmt::format("cannot raise the limit of open files: {}", std::strerror(errno)));
}

std::uint64_t most_open_files() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 1024;
}

void fit_into_files(ListenerLimits& limits, std::uint64_t files, std::uint64_t reserved) {
  const std::uint64_t room = files - std::min(reserved, files / 2);
  if (limits.connections < room && limits.refusals <= room - limits.connections) return;
  limits.refusals = std::min<std::uint64_t>(limits.refusals, room / 8);
  const std::uint64_t most = std::max<std::uint64_t>(room - limits.refusals, 1);
  limits.connections = std::min<std::uint64_t>(limits.connections, most);
}

}  // namespace millrace::api
