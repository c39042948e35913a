// Delta debugging: drop what is not needed for the failure, then make the rest smaller.
#include <algorithm>

#include "tests/random/duel.h"

namespace millrace::test {

namespace {

// Ends the sequence with the step after which the stores differ. False: they agree.
bool cut(const Duel& duel, Sequence& sequence) {
  const auto defeat = fight(duel, sequence);
  if (!defeat) return false;
  sequence.resize(defeat->step + 1);
  return true;
}

bool drop_chunks(const Duel& duel, Sequence& sequence, std::size_t size) {
  bool smaller = false;
  for (std::size_t from = 0; from < sequence.size();) {
    auto shorter = sequence;
    const auto begin = shorter.begin() + static_cast<std::ptrdiff_t>(from);
    const auto length = std::min(size, sequence.size() - from);
    shorter.erase(begin, begin + static_cast<std::ptrdiff_t>(length));
    if (cut(duel, shorter)) {
      sequence = std::move(shorter);
      smaller = true;
    } else {
      from += length;
    }
  }
  return smaller;
}

// Two steps that only matter together: a put and the take that gets it out of the way.
bool drop_pairs(const Duel& duel, Sequence& sequence) {
  constexpr std::size_t most = 30;  // beyond it there are too many pairs
  for (std::size_t a = 0; a < sequence.size() && sequence.size() <= most; ++a) {
    for (std::size_t b = a + 1; b < sequence.size(); ++b) {
      auto shorter = sequence;
      shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(b));
      shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(a));
      if (!cut(duel, shorter)) continue;
      sequence = std::move(shorter);
      return true;
    }
  }
  return false;
}

// Tries to leave out the time that passes before each step.
bool drop_waits(const Duel& duel, Sequence& sequence) {
  bool changed = false;
  for (std::size_t step = 1; step < sequence.size(); ++step) {
    const auto wait = sequence[step].now - sequence[step - 1].now;
    if (wait == Duration::zero()) continue;
    auto quicker = sequence;
    for (std::size_t later = step; later < quicker.size(); ++later) quicker[later].now -= wait;
    if (!cut(duel, quicker)) continue;
    sequence = std::move(quicker);
    changed = true;
  }
  return changed;
}

// Tries to leave out each element of a list inside a step.
template <class T>
bool drop_items(const Duel& duel, Sequence& sequence, std::size_t step,
                const std::function<std::vector<T>*(Operation&)>& list_of) {
  bool smaller = false;
  for (std::size_t item = 0; step < sequence.size();) {
    const auto* list = list_of(sequence[step]);
    if (list == nullptr || item >= list->size()) break;
    auto shorter = sequence;
    auto& items = *list_of(shorter[step]);
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(item));
    if (cut(duel, shorter)) {
      sequence = std::move(shorter);
      smaller = true;
    } else {
      ++item;
    }
  }
  return smaller;
}

template <class Step, class T>
bool drop_items(const Duel& duel, Sequence& sequence, std::size_t step,
                std::vector<T> Step::* member) {
  return drop_items<T>(duel, sequence, step, [member](Operation& operation) -> std::vector<T>* {
    auto* call = std::get_if<Step>(&operation.call);
    return call == nullptr ? nullptr : &(call->*member);
  });
}

bool shrink_batches(const Duel& duel, Sequence& sequence) {
  bool smaller = false;
  for (std::size_t step = 0; step < sequence.size(); ++step) {
    smaller |= drop_items(duel, sequence, step, &PutStep::tasks);
    smaller |= drop_items(duel, sequence, step, &PutAllStep::tasks);
    smaller |= drop_items(duel, sequence, step, &WorkStep::settlements);
    smaller |= drop_items(duel, sequence, step, &WorkStep::extensions);
    smaller |= drop_items(duel, sequence, step, &WorkStep::takes);
    smaller |= drop_items(duel, sequence, step, &CancelStep::requests);
    smaller |= drop_items(duel, sequence, step, &RetryStep::tasks);
    smaller |= drop_items(duel, sequence, step, &RemoveStep::tasks);
    smaller |= drop_items(duel, sequence, step, &UpdateStep::updates);
    smaller |= drop_items(duel, sequence, step, &RestoreStep::tasks);
  }
  return smaller;
}

using Change = std::function<void(Operation&)>;

// Options of tasks and queues that may turn out not to matter.
std::vector<Change> plainer_task() {
  const auto each = [](auto change) -> Change {
    return [change](Operation& operation) {
      auto* put = std::get_if<PutStep>(&operation.call);
      auto* all = std::get_if<PutAllStep>(&operation.call);
      if (put == nullptr && all == nullptr) return;
      for (auto& task : put != nullptr ? put->tasks : all->tasks) change(task);
    };
  };
  return {
      each([](NewTask& task) {
        const auto old = task;
        task = {};
        task.id = old.id;
        task.queue = old.queue;
      }),
      each([](NewTask& task) {
        task.type = task.payload = task.content_type = task.metadata = {};
        task.client_id = task.request_id = task.group = {};
        task.tags = {};
        task.parent = {};
      }),
      each([](NewTask& task) { task.priority = default_priority; }),
      each([](NewTask& task) { task.held = false; }),
      each([](NewTask& task) { task.group = {}; }),
      each([](NewTask& task) { task.cost = 1; }),
      each([](NewTask& task) { task.after = {}; }),
      each([](NewTask& task) { task.start = {}, task.delay = {}; }),
      each([](NewTask& task) { task.start_by = {}; }),
      each([](NewTask& task) { task.unique = {}; }),
      each([](NewTask& task) { task.keep_for = {}; }),
      each([](NewTask& task) { task.keep_completed = {}, task.keep_dead = {}; }),
      each([](NewTask& task) {
        task.timeout = {};
        task.max_lost = {};
        task.retry = {};
        task.callback = {};
      }),
  };
}

std::vector<Change> plainer_queue() {
  const auto each = [](auto change) -> Change {
    return [change](Operation& operation) {
      auto* put = std::get_if<PutQueueStep>(&operation.call);
      if (put != nullptr) change(put->settings);
    };
  };
  return {
      each([](QueueSettings& queue) {
        queue = {.name = queue.name, .number = queue.number, .id = queue.id};
      }),
      each([](QueueSettings& queue) { queue.paused_until = {}; }),
      each([](QueueSettings& queue) { queue.max_concurrent = {}; }),
      each([](QueueSettings& queue) { queue.max_depth = {}; }),
      each([](QueueSettings& queue) { queue.put_rate = queue.process_rate = {}; }),
      each([](QueueSettings& queue) { queue.rate_of = {}; }),
      each([](QueueSettings& queue) { queue.groups = {}; }),
      each([](QueueSettings& queue) {
        if (queue.groups) queue.groups = GroupRules{.order = queue.groups->order};
      }),
      each([](QueueSettings& queue) {
        if (queue.groups) queue.groups->order = {};
      }),
      each([](QueueSettings& queue) {
        if (queue.groups) queue.groups->process_rate = {};
      }),
      each([](QueueSettings& queue) {
        if (queue.groups) queue.groups->max_concurrent = {};
      }),
      each([](QueueSettings& queue) { queue.dead_letter_queue = {}; }),
      each([](QueueSettings& queue) { queue.ageing = {}; }),
      each([](QueueSettings& queue) { queue.timeout = {}; }),
      each([](QueueSettings& queue) { queue.types = {}, queue.retry = {}, queue.max_lost = {}; }),
      each([](QueueSettings& queue) { queue.keep_completed = QueueSettings{}.keep_completed; }),
      each([](QueueSettings& queue) { queue.keep_dead = QueueSettings{}.keep_dead; }),
  };
}

std::vector<Change> plainer_work() {
  return {
      [](Operation& operation) {
        auto* work = std::get_if<WorkStep>(&operation.call);
        if (work == nullptr) return;
        for (auto& part : work->settlements) part.settlement.follow_ups.clear();
      },
      [](Operation& operation) {
        auto* work = std::get_if<WorkStep>(&operation.call);
        if (work == nullptr) return;
        for (auto& part : work->settlements) part.settlement.cost.reset();
      },
      [](Operation& operation) {
        auto* work = std::get_if<WorkStep>(&operation.call);
        if (work == nullptr) return;
        for (auto& request : work->takes) request.queues.resize(1);
      },
      [](Operation& operation) {
        auto* work = std::get_if<WorkStep>(&operation.call);
        if (work == nullptr) return;
        for (auto& request : work->takes) request.queues = {request.queues.back()};
      },
      [](Operation& operation) {
        auto* list = std::get_if<ListStep>(&operation.call);
        if (list != nullptr) list->request.limit = 1;
      },
      [](Operation& operation) {
        auto* cancel = std::get_if<CancelStep>(&operation.call);
        if (cancel == nullptr) return;
        for (auto& request : cancel->requests) request.follow_ups.clear();
      },
  };
}

void make_plainer(const Duel& duel, Sequence& sequence) {
  for (const auto& changes : {plainer_task(), plainer_queue(), plainer_work()}) {
    for (const auto& change : changes) {
      for (std::size_t step = 0; step < sequence.size(); ++step) {
        auto plainer = sequence;
        change(plainer[step]);
        if (cut(duel, plainer)) sequence = std::move(plainer);
      }
    }
  }
}

}  // namespace

Sequence shrink(const Duel& duel, Sequence sequence) {
  if (!cut(duel, sequence)) return sequence;
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (auto size = std::max<std::size_t>(sequence.size() / 2, 1);; size /= 2) {
      smaller |= drop_chunks(duel, sequence, size);
      if (size == 1) break;
    }
    smaller |= shrink_batches(duel, sequence);
    if (!smaller) smaller = drop_pairs(duel, sequence) || drop_waits(duel, sequence);
  }
  make_plainer(duel, sequence);
  while (drop_chunks(duel, sequence, 1) || drop_pairs(duel, sequence)) {
  }
  return sequence;
}

}  // namespace millrace::test
