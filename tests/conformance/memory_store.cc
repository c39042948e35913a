// The conformance suite for `memory:`.
#include "store/embedded/memory.h"

#include "store/embedded/recount.h"
#include "store/embedded/state_machine.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

std::vector<std::string> differences(Store& store) {
  return embedded::recount(dynamic_cast<embedded::StateMachine&>(store).state());
}

INSTANTIATE_TEST_SUITE_P(memory, StoreConformance,
                         ::testing::Values(StoreFactory{
                             .name = "memory", .make = open_memory, .differences = differences}),
                         store_name);

}  // namespace
}  // namespace millrace::test
