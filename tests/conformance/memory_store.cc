// The conformance suite for `memory:`.
#include "store/embedded/memory.h"

#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

INSTANTIATE_TEST_SUITE_P(memory, StoreConformance,
                         ::testing::Values(StoreFactory{.name = "memory", .make = open_memory}),
                         store_name);

}  // namespace
}  // namespace millrace::test
