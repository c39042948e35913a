// The description of the API, ready to be asked.
#pragma once

#include <boost/json/value.hpp>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/api/json_schema.h"

namespace millrace::test {

struct Operation {
  std::string id = {};
  std::string method = {};  // "POST"
  std::string path = {};    // "/v1/tasks/{id}"
  std::set<std::string> statuses = {};
  std::set<std::string> query = {};  // names of parameters
  bool has_body = false;
  bool needs_body = false;
};

class Document {
 public:
  Document();

  const std::vector<Operation>& operations() const { return operations_; }
  const Operation& operation(std::string_view id) const;

  // What is wrong with a body, by the description; a content type that is not described is, too.
  std::vector<std::string> check_response(const Operation& operation, const std::string& status,
                                          std::string_view content_type,
                                          const std::string& body) const;
  std::vector<std::string> check_request(const Operation& operation, std::string_view content_type,
                                         const std::string& body) const;
  // Every example against its schema.
  std::vector<std::string> check_examples() const;

 private:
  const boost::json::object& node(const Operation& operation) const;
  std::vector<std::string> check_body(const boost::json::value& content,
                                      std::string_view content_type, const std::string& body) const;
  void check_examples(const boost::json::value& at, const std::string& path,
                      std::vector<std::string>& wrong) const;

  boost::json::value root_;
  JsonSchemas schemas_;
  std::vector<Operation> operations_;
};

}  // namespace millrace::test
