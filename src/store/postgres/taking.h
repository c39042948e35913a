// The takes of one call: what they ask of the tables, and the leases that result.
#pragma once

#include <millrace/result.h>
#include <millrace/work.h>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "postgres/rows.h"
#include "store/embedded/state.h"
#include "store/postgres/batch.h"
#include "store/postgres/rates.h"
#include "store/postgres/row.h"
#include "store/postgres/take_cursors.h"

namespace millrace::store_postgres {

class Taking {
 public:
  // `steady` decides whether rescans are due.
  Taking(std::span<const TakeRequest> requests, embedded::State& state, TakeCursors& cursors,
         std::chrono::nanoseconds steady, TimePoint now);

  std::size_t size() const { return takes_.size(); }
  // Queues whose limits have to be looked at first, in order.
  std::vector<std::uint16_t> limited() const;

  // Takes from queues whose rates cannot be read are answered so.
  void refuse(const UnreadableRates& rates);

  // A take that names a queue twice has to be sent in parts.
  bool has_parts() const;

  // Writes the next part of a take. False: there is nothing more to ask for.
  bool write(std::size_t take, std::int64_t version, Batch& batch);
  void read(std::size_t take, const postgres::Rows& rows);
  // Writes or reads all takes, where nothing is limited.
  void write_all(std::int64_t version, Batch& batch);
  void read_all(std::span<const postgres::Rows> answers);

  // The call is over: its takes are committed, or nothing was taken.
  void ended(std::chrono::nanoseconds steady, bool succeeded);
  std::vector<Result<std::vector<Lease>>> results();
  // The tasks among them that others wait for.
  const std::vector<TaskId>& parents() const { return parents_; }

 private:
  struct Take {
    const TakeRequest* request;
    std::vector<embedded::QueueEntry*> queues;
    Result<std::vector<Lease>> result;
    bool asked = false;
    std::size_t next = 0;                                 // the queue to be asked for next
    std::map<std::uint16_t, std::uint32_t> missing = {};  // by queue, of the part that was sent
    std::size_t bytes = 0;                                // of payloads that were given
    // About a task that was leased and cannot be handed out. The take is answered so if it has
    // no others, which must reach the worker.
    std::optional<Error> unreadable = {};
  };

  // Where the part ends that begins with `take.next`.
  static std::size_t end_of_part(const Take& take);
  void put_in_order(const Take& take, std::vector<Row>& taken) const;

  embedded::State& state_;
  TakeCursors& cursors_;
  const TimePoint now_;
  const std::chrono::nanoseconds began_;
  std::map<std::uint16_t, TakeCursors::Positions> before_;  // by queue
  std::vector<std::uint16_t> rescans_;                      // queues
  std::vector<Take> takes_;
  std::vector<TaskId> parents_;
};

}  // namespace millrace::store_postgres
