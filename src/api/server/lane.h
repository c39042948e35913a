// One I/O thread and its connections: what they share, their deadlines, and how answers from other
// threads come in. Uses Asio; for this room only.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/server/http.h"
#include "api/server/listener.h"
#include "core/mutex.h"

namespace millrace::api {

class Connection;

inline constexpr std::size_t small_answer = 256 * 1024;  // sent even if many answers are unread

// What all lanes of a listener share.
struct Site {
  Site(ListenerLimits its_limits, HttpHandler& its_handler, Clock& its_clock, Log its_log)
      : limits(its_limits), handler(its_handler), clock(its_clock), log(std::move(its_log)) {}

  const ListenerLimits limits;
  HttpHandler& handler;
  Clock& clock;
  const Log log;

  std::atomic<std::uint64_t> open = 0;
  std::atomic<std::uint64_t> accepted = 0;
  std::atomic<std::uint64_t> refused = 0;
  std::atomic<std::uint64_t> requests = 0;
  std::atomic<std::uint64_t> bodies = 0;     // bytes of bodies that are being received
  std::atomic<std::uint64_t> unread = 0;     // bytes of answers that wait for their peers
  std::atomic<std::uint64_t> kept = 0;       // the same, ever
  std::atomic<std::size_t> wanted_room = 0;  // of a large answer that was refused for want of it
  std::atomic<bool> draining = false;

  // Whether a large answer may be sent although its peer might not read it. A quarter of the memory
  // is left to small answers. One large answer is let through in any case.
  bool has_room(std::size_t bytes) const {
    const std::uint64_t now = unread;
    return now == 0 || now + bytes <= limits.unread / 4 * 3;
  }

  // Signalled when the last connection is gone.
  Mutex mutex;
  Condition all_gone;
};

// What a connection waits for, each with its own limit.
enum class Awaited : std::uint8_t {
  nothing = 0,  // nothing of the peer: an answer is being made
  idle = 1,
  header = 2,
  body = 3,
  write = 4,
  handshake = 5,
  linger = 6,
};
inline constexpr std::size_t awaited_count = 7;

// An answer on its way to its connection: to a request, or to a piece of a body.
struct Answer {
  std::shared_ptr<Connection> to;
  HttpResponse response;
  enum class Kind : std::uint8_t { whole, piece, last_piece, dropped } kind = Kind::whole;
};

// What was thrown, for the log; in a catch clause only.
std::string thrown();

class Lane : public std::enable_shared_from_this<Lane> {
 public:
  using Executor = boost::asio::io_context::executor_type;
  using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, Executor>;
  using Connections = std::list<std::shared_ptr<Connection>>;

  explicit Lane(std::shared_ptr<Site> site);

  // ---- from any thread

  boost::asio::io_context& io() { return io_; }
  // Runs until stop(). An exception outside of a connection ends the process: a lane that goes on
  // without its timer or its list of answers would never answer again.
  void run() noexcept;
  // Serves a connection that was accepted; `refused` if there are too many.
  void adopt(Socket socket, std::shared_ptr<const TlsSettings> tls, bool refused);
  // Several answers cost only one wake-up.
  void answer(Answer answer);
  void drain();
  void stop();

  // ---- on the lane's own thread

  Site& site() { return *site_; }
  void remove(Connection& connection);
  // From now on the connection waits for this, and no longer for what it waited for before.
  void await(Connection& connection, Awaited what);

  // What is lost with an answer that cannot be sent.
  enum class Worth : std::uint8_t {
    can_be_asked,   // nothing: the peer asks again
    costs_if_lost,  // tasks that it brings have to be given back
  };
  // Whether a large answer may be sent. If too much is unread, connections of this lane that read
  // slowly are closed, the slowest first; an answer that costs if it is lost also goes before
  // others that read faster and can be asked again. If that is not enough, the other lanes do the
  // same soon, for the next one that asks.
  bool make_room(std::size_t bytes, Worth worth);

  // Lets a connection do something. If that throws, the connection is closed, and the rest of the
  // lane is unchanged. All calls from Asio or the lane into a connection go through here.
  template <class Call>
  void attend(const std::shared_ptr<Connection>& connection, Call&& call) noexcept {
    try {
      call();
    } catch (...) {
      give_up(*connection);
    }
  }

  // Calls into the handler; answers it gives before it returns are sent without a wake-up. `call`
  // catches what the handler throws.
  template <class Call>
  void dispatch(Call&& call) {
    const Dispatching until_it_returns(*this);
    call();
  }

  // Lets a connection read a little later; ends the process if there is no memory for that. Asio
  // begins every read with a system call, which is wasted if nothing has come. After the other
  // connections have had their turn, the next request is often there. While an answer is made,
  // nothing is expected but that the peer leaves, and noticing that a few milliseconds late does no
  // harm.
  void read_soon(std::shared_ptr<Connection> connection) noexcept;
  void watch_soon(std::shared_ptr<Connection> connection) noexcept;

  std::string_view date();                     // for responses, made once per second
  std::string& scratch() { return scratch_; }  // where a response is put together

 private:
  // A call into the handler. What it answered is delivered even if it throws: no other thread wakes
  // the lane for that.
  class Dispatching {
   public:
    explicit Dispatching(Lane& lane) : lane_(lane) { ++lane_.dispatching_; }
    Dispatching(const Dispatching&) = delete;
    Dispatching& operator=(const Dispatching&) = delete;
    ~Dispatching() {
      --lane_.dispatching_;
      lane_.deliver();
    }

   private:
    Lane& lane_;
  };

  using Timer = boost::asio::basic_waitable_timer<
      std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>, Executor>;

  // In a catch clause only.
  void give_up(Connection& connection) noexcept;
  void gone();  // a connection has ended
  // The noexcept functions must not stop halfway: their lists would never be emptied again.
  void wake() noexcept;
  void deliver() noexcept;
  void resume(std::vector<std::shared_ptr<Connection>>& list, void (Connection::*how)()) noexcept;
  void tick();
  void close_all();
  // From now on the peers have limits.leaving. The lists stay in the order of their deadlines.
  void shorten_deadlines();
  bool reads_slowly(const Connection& connection) const;
  Duration limit_of(Awaited what) const;

  std::shared_ptr<Site> site_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<Executor> work_;
  Timer timer_;
  Timer watch_timer_;
  std::chrono::milliseconds tick_every_;
  bool stopping_ = false;
  bool shortened_ = false;                // the deadlines are those of draining
  std::chrono::nanoseconds leave_by_{0};  // then: when bodies have come, or are given up

  // By what the connections wait for; each list is ordered by deadline.
  std::array<Connections, awaited_count> connections_;

  std::vector<std::shared_ptr<Connection>> to_read_;
  std::vector<std::shared_ptr<Connection>> to_watch_;
  std::vector<std::shared_ptr<Connection>> resumed_;  // one of these two, while it is emptied

  Mutex mutex_;
  std::vector<Answer> answers_ GUARDED_BY(mutex_);
  bool over_ GUARDED_BY(mutex_) = false;  // the lane takes no more answers
  std::vector<Answer> batch_;             // being delivered
  bool delivering_ = false;
  int dispatching_ = 0;

  std::string scratch_;
  std::string date_;
  std::chrono::sys_seconds date_of_{std::chrono::seconds(-1)};
};

}  // namespace millrace::api
