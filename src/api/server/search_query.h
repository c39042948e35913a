// What a list of tasks is searched for, as a query says it.
#pragma once

#include "api/server/query.h"
#include "broker/search.h"

namespace millrace::api {

TaskSearch search_from(Query& query);

}  // namespace millrace::api
