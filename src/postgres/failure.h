// What can go wrong between here and the server, and what it means to Millrace.
#pragma once

#include <millrace/result.h>
#include <expected>
#include <string>
#include <string_view>

namespace millrace::postgres {

struct Failure {
  std::string state = {};    // SQLSTATE, "" where the server did not speak
  std::string message = {};  // never holds a password
  bool lost = false;  // the connection is gone, and what became of the transaction is unknown
};

// A Failure's state where what the tables hold cannot be read.
inline constexpr std::string_view unreadable_state = "MR002";

template <class T>
using Answer = std::expected<T, Failure>;

// `unavailable`  the connection is lost or refused, the server stops or has no room for another
//                connection, a time limit ended a statement (57014, 55P03), or it may be repeated
// `limited`      the server's disk (no_space) or memory is full
// `too_large`    the parameters of a statement do not fit into a message (54000)
// `internal`     anything else: the statement and the tables do not fit
//
// The message: "cannot read the queue: PostgreSQL says: ... (SQLSTATE 42P01)".
Error error_of(const Failure& failure, std::string_view doing);

// Nothing of the transaction was done, and the same once more may succeed: it collided with another
// (40001, 40P01), or its prepared statements were gone, and the connection prepares none from now
// on.
bool may_repeat(const Failure& failure);

// A prepared statement is not there, or another one has its name: a pooler between here and the
// server shares its sessions.
bool is_sign_of_pooler(const Failure& failure);

}  // namespace millrace::postgres
