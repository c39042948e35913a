// The conformance suite for `postgres://`, on a real server that the program starts itself.
#include "store/store.h"
#include "tests/conformance/conformance.h"
#include "tests/support/postgres_stores.h"

namespace millrace::test {
namespace {

INSTANTIATE_TEST_SUITE_P(postgres, StoreConformance,
                         ::testing::Values(StoreFactory{.name = "postgres",
                                                        .make = open_fresh_postgres,
                                                        .reopen =
                                                            [](std::unique_ptr<Store> store) {
                                                              store.reset();
                                                              return open_postgres_again();
                                                            }}),
                         store_name);

}  // namespace
}  // namespace millrace::test
