// The conformance suite for the model that stores are compared with: what it says is the contract.
#include <memory>

#include "tests/conformance/conformance.h"
#include "tests/support/model_store.h"

namespace millrace::test {
namespace {

INSTANTIATE_TEST_SUITE_P(model, StoreConformance,
                         ::testing::Values(StoreFactory{
                             .name = "model",
                             .make = [] { return std::make_unique<ModelStore>(); }}),
                         store_name);

}  // namespace
}  // namespace millrace::test
