// Which queue a free processor takes its next batch from.
#pragma once

#include <millrace/handler.h>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace::worker {

class Turns {
 public:
  struct Queue {
    std::string name = {};
    std::uint8_t priority = 0;
    std::uint32_t weight = 1;
  };

  Turns(QueueOrder order, std::vector<Queue> queues);

  // The next among the queues that may be picked; nullopt: none may.
  std::optional<std::size_t> pick(const std::vector<bool>& may);
  // The queue picked last got this many batches more than one in its turn.
  void took(std::size_t more);

  // All of them, in the order in which they would be picked if all had work.
  std::vector<std::size_t> in_order() const;

 private:
  const QueueOrder order_;
  const std::vector<Queue> queues_;
  std::vector<std::size_t> by_priority_;  // highest first, then by name
  std::size_t last_ = 0;                  // picked
  std::vector<bool> shared_;              // the queues that could have been picked then
  // Smooth weighted round-robin: every queue gains its weight at each turn; the one with the most
  // credit is next and pays the sum of the gains.
  std::vector<double> credit_;
};

}  // namespace millrace::worker
