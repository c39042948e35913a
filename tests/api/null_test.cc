// Null in a request means left out, or is refused: the description says which, and the server does
// the same.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "api/server/openapi.h"
#include "tests/api/cases.h"
#include "tests/api/document.h"

namespace millrace::test {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::Not;

class NullTest : public ::testing::Test {
 protected:
  // The members that the description gives the object, if the schema is about one.
  const json::object* properties_of(const json::value& schema) const {
    const json::object& described = schemas_.resolved(schema).as_object();
    if (const auto* properties = described.if_contains("properties")) {
      return &properties->as_object();
    }
    for (const char* word : {"oneOf", "anyOf"}) {
      const auto* choices = described.if_contains(word);
      if (choices == nullptr) continue;
      for (const json::value& choice : choices->as_array()) {
        if (const auto* found = properties_of(choice)) return found;
      }
    }
    return nullptr;
  }

  const json::object* properties_of(const Operation& operation) const {
    std::string method = operation.method;
    for (char& c : method) c = static_cast<char>(c | 0x20);
    const json::object& described = root_.at("paths").at(operation.path).at(method).as_object();
    const auto* body = described.if_contains("requestBody");
    const auto* content =
        body == nullptr ? nullptr : body->at("content").as_object().if_contains("application/json");
    return content == nullptr ? nullptr : properties_of(content->at("schema"));
  }

  // The paths of all members that this body has or could have.
  void add_paths(const json::object& body, const json::object& properties, const std::string& front,
                 std::vector<std::string>& paths) const {
    for (const auto& [name, schema] : properties) {
      paths.push_back(front + std::string(name));
      const auto* inner = body.if_contains(name);
      const auto* members =
          inner != nullptr && inner->is_object() ? properties_of(schema) : nullptr;
      if (members != nullptr) add_paths(inner->as_object(), *members, paths.back() + ".", paths);
    }
  }

  void ask(const Case& one, const std::string& path) const {
    ApiServer server;
    Request request = one.request(server);
    json::value body = json::parse(request.body);
    json::object* object = &body.as_object();
    std::string name = path;
    for (auto dot = name.find('.'); dot != name.npos; dot = name.find('.')) {
      object = &object->at(name.substr(0, dot)).as_object();
      name.erase(0, dot + 1);
    }
    (*object)[name] = nullptr;
    request.body = json::serialize(body);
    const Reply reply = server.ask(request);
    const std::string what = fmt::format("{} {} {}", one.operation, request.body, reply.body);
    const Operation& operation = document_.operation(one.operation);
    if (document_.check_request(operation, request.content_type, request.body).empty()) {
      EXPECT_THAT(reply.body, Not(HasSubstr(fmt::format("{} is null", path)))) << what;
    } else {
      EXPECT_EQ(reply.status, 422U) << what;
    }
  }

  json::value root_ = json::parse(std::string(api::openapi_json()));
  JsonSchemas schemas_{root_};
  Document document_;
};

TEST_F(NullTest, is_described_where_it_is_accepted) {
  std::size_t asked = 0;
  for (const auto& some :
       {task_cases(), work_cases(), bulk_cases(), queue_cases(), group_cases(), schedule_cases()}) {
    for (const Case& one : some) {
      const auto* properties = properties_of(document_.operation(one.operation));
      if (one.status >= 300 || !one.ordinary() || properties == nullptr) continue;
      ApiServer server;
      const Request request = one.request(server);
      if (!request.body.starts_with('{') || request.content_type != "application/json") continue;
      std::vector<std::string> paths;
      add_paths(json::parse(request.body).as_object(), *properties, "", paths);
      for (const std::string& path : paths) ask(one, path);
      asked += paths.size();
    }
  }
  EXPECT_GT(asked, 200U);
}

}  // namespace
}  // namespace millrace::test
