// Everything in a running server as lines of JSON, while it goes on working.
#include <memory>
#include <string>
#include <utility>

#include "api/server/handlers.h"
#include "core/mutex.h"
#include "transfer/exporter.h"

namespace millrace::api {
namespace {

// Pieces are read on a thread for reads, beside the rounds, and written as text on the listener's
// thread; the next piece is read while the last one is being sent.
class ExportStream : public std::enable_shared_from_this<ExportStream> {
 public:
  explicit ExportStream(CallPtr call) : call_(std::move(call)) {}

  void more(PushStream::Done done) {
    if (call_->ended()) return call_->note(401);  // no closing line: it is incomplete
    std::string out;
    State state = State::reading;
    {
      const Lock lock(mutex_);
      state = state_;
      if (state == State::reading) {
        waiting_ = std::move(done);
        return;
      }
      if (state == State::read || state == State::none) state_ = State::reading;
    }
    if (state == State::failed) return call_->note(500);  // no closing line: it is incomplete
    if (state == State::over) call_->note_stream();
    if (state == State::read) exporter_.write(out);
    if (state != State::over) read();
    done(std::move(out), state == State::over);
  }

 private:
  enum class State : std::uint8_t { none, reading, read, over, failed };

  void read() {
    const auto self = shared_from_this();
    call_->broker->read<bool>(
        call_->ask(),
        [self](Reader& reader, TimePoint now) { return self->exporter_.read(reader, now); },
        [self](const Result<bool>& more) { self->piece_read(more); }, ReadCost::walk);
  }

  void piece_read(const Result<bool>& more) {
    PushStream::Done waiting;
    {
      const Lock lock(mutex_);
      state_ = !more ? State::failed : *more ? State::read : State::over;
      waiting = std::exchange(waiting_, {});
    }
    // Asks for more(), on the thread where text is made.
    if (waiting) waiting({}, false);
  }

  CallPtr call_;
  transfer::Exporter exporter_;
  Mutex mutex_;
  State state_ GUARDED_BY(mutex_) = State::none;
  PushStream::Done waiting_ GUARDED_BY(mutex_);
};

}  // namespace

void export_lines(CallPtr call) {
  if (!call->query_is_good()) return;
  if (call->restricted()) {
    return call->refuse(
        Problem{.status = 403,
                .code = "forbidden",
                .detail = "this key is for some queues only, and an export has all"});
  }
  Respond respond = std::move(call->respond);
  HttpResponse response{.content_type = "application/x-ndjson",
                        .headers = {{"X-Request-Id", call->request_id}}};
  auto stream = std::make_shared<ExportStream>(std::move(call));
  response.push = std::make_unique<PushStream>();
  response.push->more = [stream](PushStream::Done done) { stream->more(std::move(done)); };
  respond(std::move(response));
}

}  // namespace millrace::api
