// The description of the API and the server say the same: both ways, for every operation and every
// status.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <set>

#include "api/server/openapi.h"
#include "api/server/route.h"
#include "tests/api/cases.h"
#include "tests/api/json_schema.h"
#include "tests/e2e/server.h"

namespace millrace::test {
namespace {

using ::testing::IsEmpty;

const Document& document() {
  static const Document read;
  return read;
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const auto& some : {task_cases(), work_cases(), bulk_cases(), waiting_bulk_cases(),
                           queue_cases(), group_cases(), schedule_cases(), server_cases()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  for (const Operation& operation : document().operations()) {
    const auto some = general_cases(operation);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

TEST(Contract, the_routes_are_those_described) {
  std::set<std::string> described;
  std::set<std::string> there;
  for (const Operation& operation : document().operations()) {
    described.insert(fmt::format("{} {} {}", operation.method, operation.path, operation.id));
  }
  for (const api::Route& route : api::routes()) {
    there.insert(fmt::format("{} {} {}", name_of(route.method), route.pattern, route.operation));
  }
  EXPECT_EQ(described, there);
  EXPECT_EQ(there.size(), api::routes().size());
}

// Generators of clients make one type of each.
TEST(Contract, no_two_components_have_the_same_name) {
  const auto root = boost::json::parse(std::string(api::openapi_json()));
  std::set<std::string> names;
  for (const auto& [kind, components] : root.at("components").as_object()) {
    for (const auto& [name, component] : components.as_object()) {
      EXPECT_TRUE(names.emplace(name).second) << std::string_view(name);
    }
  }
}

// Objects of a request say that other members are refused; metadata may have any.
void expect_closed(const boost::json::value& node, const JsonSchemas& schemas,
                   const std::string& at, std::set<std::string>& seen) {
  if (const auto* list = node.if_array()) {
    for (const auto& item : *list) expect_closed(item, schemas, at, seen);
  }
  const auto* object = node.if_object();
  if (object == nullptr) return;
  if (const auto* ref = object->if_contains("$ref")) {
    const std::string name(ref->as_string());
    if (seen.insert(name).second) expect_closed(schemas.resolved(node), schemas, name, seen);
    return;
  }
  const auto* type = object->if_contains("type");
  const bool ignored = at.ends_with("/Counts");  // part of an answer that may be sent back
  if (type != nullptr && *type == "object" && !ignored) {
    const auto* others = object->if_contains("additionalProperties");
    EXPECT_TRUE(others != nullptr && *others != true) << at;
  }
  for (const auto& [key, value] : *object) {
    const bool open = key == "examples" || key == "example" || key == "metadata";
    if (!open) expect_closed(value, schemas, at, seen);
  }
}

TEST(Contract, requests_say_that_other_members_are_refused) {
  const auto root = boost::json::parse(std::string(api::openapi_json()));
  const JsonSchemas schemas(root);
  std::set<std::string> seen;
  for (const auto& [path, item] : root.at("paths").as_object()) {
    if (path == "/v1/import") continue;  // its lines are described in docs/moving-data.md
    for (const auto& [method, operation] : item.as_object()) {
      const auto* described = operation.if_object();
      if (described == nullptr || !described->contains("requestBody")) continue;
      expect_closed(described->at("requestBody"), schemas, std::string(path), seen);
    }
  }
}

TEST(Contract, examples_are_valid) {
  EXPECT_THAT(document().check_examples(), IsEmpty());
}

TEST(Contract, every_described_status_has_a_case_and_every_case_is_described) {
  std::set<std::string> described;
  std::set<std::string> tried;
  for (const Operation& operation : document().operations()) {
    for (const std::string& status : operation.statuses) {
      if (status != "default") described.insert(fmt::format("{} {}", operation.id, status));
    }
  }
  for (const Case& one : all_cases()) tried.insert(fmt::format("{} {}", one.operation, one.status));
  EXPECT_EQ(tried, described);
}

void check_headers(const Case& one, const Reply& reply, const std::string& what) {
  EXPECT_TRUE(reply.headers.contains("x-request-id")) << what;
  const bool limited = one.status == 429 || one.status == 503 || one.status == 507;
  EXPECT_EQ(reply.headers.contains("retry-after"), limited) << what;
  EXPECT_EQ(reply.headers.contains("www-authenticate"), one.status == 401) << what;
}

void run(const Case& one, ApiClient& server) {
  const Request request = one.request(server);
  const Operation& operation = document().operation(one.operation);
  const std::string what = fmt::format("{} {} {} {}", one.operation, request.method, request.target,
                                       request.body.substr(0, 300));
  const Reply reply = server.ask(request);
  ASSERT_EQ(reply.status, one.status) << what << "\n" << reply.body;
  check_headers(one, reply, what);
  const auto type = reply.headers.find("content-type");
  const std::string content_type = type == reply.headers.end() ? "" : type->second;
  EXPECT_THAT(
      document().check_response(operation, std::to_string(one.status), content_type, reply.body),
      IsEmpty())
      << what << "\n"
      << reply.body;
  if (one.status < 300 && !request.body.empty() && content_type != "application/x-ndjson" &&
      !request.body.contains("$no")) {
    EXPECT_THAT(document().check_request(operation, request.content_type, request.body), IsEmpty())
        << what;
  }
  // Parameters of a good request are described.
  if (one.status >= 300) return;
  std::string_view query = request.target;
  query.remove_prefix(std::min(query.find('?'), query.size()));
  while (!query.empty()) {
    query.remove_prefix(1);
    const auto name = std::string(query.substr(0, query.find('=')));
    EXPECT_TRUE(operation.query.contains(name)) << what << " " << name;
    query.remove_prefix(std::min(query.find('&'), query.size()));
  }
}

TEST(Contract, every_answer_is_as_described) {
  for (const Case& one : all_cases()) {
    ApiServer server(one.server ? one.server() : ServerOptions{});
    if (one.prepare) one.prepare(server);
    run(one, server);
  }
}

// The same with the program itself, for all that needs no special server. A part of the cases each.
class RealContract : public ::testing::TestWithParam<std::size_t> {
 public:
  static constexpr std::size_t parts = 8;
};

TEST_P(RealContract, every_answer_is_as_described) {
  std::size_t number = 0;
  for (const Case& one : all_cases()) {
    if (!one.ordinary() || number++ % parts != GetParam()) continue;
    ServerProcess process({"--store", "memory:"});
    ASSERT_TRUE(process.ready()) << process.said();
    ApiClient server(process.port());
    run(one, server);
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, RealContract,
                         ::testing::Range(std::size_t{0}, RealContract::parts));

}  // namespace
}  // namespace millrace::test
