#include "tests/api/document.h"

#include <fmt/format.h>
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <stdexcept>

#include "api/server/openapi.h"

namespace millrace::test {
namespace {

namespace json = boost::json;

std::string upper(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return out;
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

json::value parsed(const std::string& text) {
  return json::parse(text, {}, json::parse_options{.max_depth = 64});
}

}  // namespace

Document::Document() : root_(parsed(std::string(api::openapi_json()))), schemas_(root_) {
  const auto add_query = [this](const json::value* parameters, std::set<std::string>& to) {
    if (parameters == nullptr) return;
    for (const json::value& given : parameters->as_array()) {
      const json::object& parameter = schemas_.resolved(given).as_object();
      if (parameter.at("in") == "query") to.emplace(parameter.at("name").as_string());
    }
  };
  for (const auto& [path, item] : root_.at("paths").as_object()) {
    for (const auto& [method, value] : item.as_object()) {
      if (method == "parameters") continue;
      const json::object& described = value.as_object();
      Operation operation{.id = std::string(described.at("operationId").as_string()),
                          .method = upper(method),
                          .path = std::string(path)};
      for (const auto& [status, response] : described.at("responses").as_object()) {
        operation.statuses.emplace(status);
      }
      add_query(described.if_contains("parameters"), operation.query);
      if (const auto* body = described.if_contains("requestBody")) {
        operation.has_body = true;
        operation.needs_body = body->at("required").as_bool();
      }
      operations_.push_back(std::move(operation));
    }
  }
}

const Operation& Document::operation(std::string_view id) const {
  const auto found = std::ranges::find(operations_, id, &Operation::id);
  if (found == operations_.end()) throw std::out_of_range(std::string(id));
  return *found;
}

const json::object& Document::node(const Operation& operation) const {
  return root_.at("paths")
      .as_object()
      .at(operation.path)
      .as_object()
      .at(lower(operation.method))
      .as_object();
}

std::vector<std::string> Document::check_body(const json::value& content,
                                              std::string_view content_type,
                                              const std::string& body) const {
  const auto* described = content.as_object().if_contains(content_type);
  if (described == nullptr) return {fmt::format("{} is not described", content_type)};
  const json::value& schema = described->at("schema");
  if (content_type == "application/octet-stream" || content_type.starts_with("text/")) return {};
  try {
    if (content_type != "application/x-ndjson") return schemas_.check(schema, parsed(body));
    std::vector<std::string> wrong;
    for (std::size_t at = 0; at < body.size();) {
      const std::size_t end = std::min(body.find('\n', at), body.size());
      const auto one = schemas_.check(schema, parsed(body.substr(at, end - at)));
      wrong.insert(wrong.end(), one.begin(), one.end());
      at = end + 1;
    }
    return wrong;
  } catch (const std::exception& error) {
    return {fmt::format("not JSON: {}", error.what())};
  }
}

std::vector<std::string> Document::check_response(const Operation& operation,
                                                  const std::string& status,
                                                  std::string_view content_type,
                                                  const std::string& body) const {
  const auto* given = node(operation).at("responses").as_object().if_contains(status);
  if (given == nullptr) return {fmt::format("status {} is not described", status)};
  const json::object& response = schemas_.resolved(*given).as_object();
  const auto* content = response.if_contains("content");
  if (content != nullptr) return check_body(*content, content_type, body);
  if (body.empty()) return {};
  return {"a body came, but none is described"};
}

std::vector<std::string> Document::check_request(const Operation& operation,
                                                 std::string_view content_type,
                                                 const std::string& body) const {
  const auto* request = node(operation).if_contains("requestBody");
  if (request == nullptr) return {"a body is sent, but none is described"};
  return check_body(request->at("content"), content_type, body);
}

std::vector<std::string> Document::check_examples() const {
  std::vector<std::string> wrong;
  check_examples(root_, "", wrong);
  return wrong;
}

void Document::check_examples(const json::value& at, const std::string& path,
                              std::vector<std::string>& wrong) const {
  if (const auto* array = at.if_array()) {
    for (const json::value& item : *array) check_examples(item, path, wrong);
  }
  const auto* object = at.if_object();
  if (object == nullptr) return;
  const auto* examples = object->if_contains("examples");
  if (examples != nullptr && object->contains("schema")) {
    for (const auto& [name, example] : examples->as_object()) {
      for (const auto& one : schemas_.check(object->at("schema"), example.at("value"))) {
        wrong.push_back(fmt::format("{}/{}: {}", path, std::string_view(name), one));
      }
    }
  }
  for (const auto& [key, value] : *object) {
    check_examples(value, fmt::format("{}/{}", path, std::string_view(key)), wrong);
  }
}

}  // namespace millrace::test
