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

// Works until the worker stops, and asks the dispatcher again after each chunk. On a stop it
// finishes the call it is in.
void Worker::Parts::process(Processor& own) {
  Lock lock(mutex);
  while (!core.stopping()) {
    ChunkPtr chunk = core.next_chunk(clock->steady());
    if (!chunk) {
      ++idle;
      work.wait(mutex);
      --idle;
      continue;
    }
    const bool more = idle != 0 && core.has_work();
    lock.unlock();
    if (more) work.notify_one();
    const bool back = work_through(*chunk);
    lock.lock();
    if (!back) {  // the call was abandoned, and another thread has replaced this one
      if (stopped) return;
      core.came_back(*chunk);
      own.ended = true;
      news.notify_one();
      return;
    }
    core.finished(chunk);
    if (core.may_send()) news.notify_one();
    if (core.stopping()) rested.notify_all();
    // Runs that need no report are freed without the lock.
    lock.unlock();
    chunk.reset();
    lock.lock();
  }
  --live;
  own.ended = true;
  rested.notify_all();
}

bool Worker::Parts::work_through(Chunk& chunk) {
  const WorkerQueue& queue = core.queues()[chunk.queue_index];
  Moment before = steady_time();
  for (auto runs = chunk.next_call(); !runs.empty(); runs = chunk.next_call()) {
    for (const RunPtr& run : runs) {
      run->begin(before);
      if (run->timeout) wake_keeper_by(before + *run->timeout);
      if (options.log.wants(LogLevel::debug)) {
        options.log(LogLevel::debug, fmt::format("task {} started", to_text(run->lease.id.value)),
                    {{"queue", run->lease.queue}, {"type", run->lease.type}});
      }
    }
    const CallResult result = call_handler(queue, runs);
    if (!chunk.returned()) return false;
    speak_for(queue, runs, result);
    const Moment after = steady_time();  // reads the last known time if the worker is gone
    core.note_cycle(chunk, *runs.front(), after - before);
    before = after;
  }
  return true;
}

// Called by a handler that settles its task before it returns.
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
