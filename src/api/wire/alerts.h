// Alerts that are raised now, as the API shows them.
#pragma once

#include <string>

#include "broker/standing.h"

namespace millrace::wire {

std::string text_of(const Standing& standing);

}  // namespace millrace::wire
