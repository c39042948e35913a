#include "tests/support/broker_driver.h"

#include "store/store.h"

namespace millrace::test {

BrokerDriver::BrokerDriver(LocalBrokerOptions options, std::shared_ptr<Store> own)
    : store(own ? std::move(own) : open_memory()) {
  options.keep_time = false;
  options.rules.webhooks = true;
  options.rules.log = logged.log();
  options_ = std::move(options);
  start();
}

void BrokerDriver::start() {
  options_.rules.seed = ++starts_;
  broker = std::make_unique<LocalBroker>(clock, *store, options_);
}

}  // namespace millrace::test
