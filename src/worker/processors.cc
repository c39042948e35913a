// The threads that run handlers.
#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "core/mutex.h"
#include "core/uuid.h"
#include "worker/call.h"
#include "worker/parts.h"

namespace millrace::worker {

void Worker::Parts::add_processor() {
  for (auto each = processors.begin(); each != processors.end();) {
    if (!each->ended) {
      ++each;
      continue;
    }
    each->thread.join();
    each = processors.erase(each);
  }
  Processor& own = processors.emplace_back();
  try {
    own.thread = std::thread([self = shared_from_this(), &own] { self->process(own); });
    ++live;
  } catch (const std::system_error& e) {
    processors.pop_back();
    options.log(LogLevel::error, fmt::format("cannot start a processor: {}", e.what()));
  }
}

// S1-059…061: works until told to stop, and looks anew after each hand. Stopped, it ends with the
// call it is in.
void Worker::Parts::process(Processor& own) {
  Lock lock(mutex);
  while (!core.stopping()) {
    HandPtr hand = core.next_hand(clock->steady());
    if (!hand) {
      ++idle;
      work.wait(mutex);
      --idle;
      continue;
    }
    const bool more = idle != 0 && core.has_work();
    lock.unlock();
    if (more) work.notify_one();
    const bool back = work_through(*hand);
    lock.lock();
    if (!back) {  // somebody else has this one's place
      if (stopped) return;
      core.came_back(*hand);
      own.ended = true;
      news.notify_one();
      return;
    }
    core.finished(hand);
    if (core.may_send()) news.notify_one();
    if (core.stopping()) rested.notify_all();
    // What is not reported any more is freed without the lock.
    lock.unlock();
    hand.reset();
    lock.lock();
  }
  --live;
  own.ended = true;
  rested.notify_all();
}

bool Worker::Parts::work_through(Hand& hand) {
  const Line& line = core.lines()[hand.line];
  Moment before = steady_time();
  for (auto runs = hand.next_call(); !runs.empty(); runs = hand.next_call()) {
    for (const RunPtr& run : runs) {
      run->begin(before);
      if (run->timeout) wake_keeper_by(before + *run->timeout);
      if (options.log.wants(LogLevel::debug)) {
        options.log(LogLevel::debug, fmt::format("task {} started", to_text(run->lease.id.value)),
                    {{"queue", run->lease.queue}, {"type", run->lease.type}});
      }
    }
    const CallResult result = call_handler(line, runs);
    if (!hand.returned()) return false;
    speak_for(line, runs, result);
    const Moment after = steady_time();  // the worker may be gone
    core.note_cycle(hand, *runs.front(), after - before);
    before = after;
  }
  return true;
}

// From a handler that settles its task before it returns.
void Worker::Parts::run_ended(Run& run) {
  if (run.manual()) {
    const Lock lock(mutex);
    core.collect(run.shared_from_this());
    news.notify_one();
  } else if (!stirred.exchange(true)) {
    const Lock lock(mutex);
    news.notify_one();
  }
}

}  // namespace millrace::worker
