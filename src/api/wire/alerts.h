// Alerts that are raised now, as the API shows them.
#pragma once

#include <string>

#include "broker/current_alerts.h"

namespace millrace::wire {

std::string text_of(const CurrentAlerts& current);

}  // namespace millrace::wire
