// The used-up part of limits, between the tables and the state machine.
#pragma once

#include "postgres/rows.h"
#include "store/book/book.h"
#include "store/embedded/state.h"
#include "store/postgres/batch.h"

namespace millrace::store_postgres {

// Takes rows of used.sql: from now on the queues count with what all processes have used.
void read_used(const postgres::Rows& rows, book::Book& book);
// The rates as they are by now; nothing where the queue has none.
void write_used(const embedded::QueueEntry& queue, Batch& batch);

}  // namespace millrace::store_postgres
