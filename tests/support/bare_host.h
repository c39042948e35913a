// A host of the command line that has nothing: each test overrides what it is about.
#pragma once

#include <memory>

#include "cli/host.h"

namespace millrace::test {

class BareHost : public cli::Host {
 public:
  Result<std::unique_ptr<Store>> open_store(const StoreUrl&, Access, const Progress&,
                                            const OpeningWarning&) override {
    return fail(ErrorCode::not_found, "this host has no stores");
  }
  Result<cli::Verified> verify(const StoreUrl&, const Progress&) override {
    return fail(ErrorCode::not_found, "this host has no stores");
  }
  Result<cli::Migrated> migrate(const StoreUrl&, bool) override {
    return fail(ErrorCode::not_found, "this host has no stores");
  }
  cli::Exit serve(const config::Config&) override { return cli::Exit::failed; }
  cli::Exit work(const cli::WorkerProgram&) override { return cli::Exit::failed; }
  std::size_t columns() override { return 0; }
  bool out_gone() override { return false; }
  bool in_waits() override { return false; }
};

}  // namespace millrace::test
