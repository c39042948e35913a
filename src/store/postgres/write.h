// What a call has changed, as statements.
#pragma once

#include "store/book/book.h"
#include "store/postgres/batch.h"

namespace millrace::store_postgres {

void write_changes(const book::Book& book, const book::Changes& changes, Batch& batch);

}  // namespace millrace::store_postgres
