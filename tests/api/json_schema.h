// As much of JSON Schema as the description of the API uses, and strict: an object has no members
// but those described, and a word of the language that is not known here is an error.
#pragma once

#include <boost/json/value.hpp>

#include <string>
#include <vector>

namespace millrace::test {

class JsonSchemas {
 public:
  // `document` is what references (#/components/...) point into; it must outlive this.
  explicit JsonSchemas(const boost::json::value& document) : document_(document) {}

  // What is wrong with the value, each with its place; empty: nothing.
  std::vector<std::string> check(const boost::json::value& schema,
                                 const boost::json::value& value) const;

  // Follows a reference, if it is one.
  const boost::json::value& resolved(const boost::json::value& node) const;

 private:
  using Complaints = std::vector<std::string>;

  void check(const boost::json::value& schema, const boost::json::value& value,
             const std::string& at, Complaints& wrong) const;
  void check_word(const boost::json::object& schema, std::string_view word,
                  const boost::json::value& meaning, const boost::json::value& value,
                  const std::string& at, Complaints& wrong) const;
  void check_object(const boost::json::object& schema, const boost::json::object& value,
                    const std::string& at, Complaints& wrong) const;
  void check_choice(std::string_view word, const boost::json::array& choices,
                    const boost::json::value& value, const std::string& at,
                    Complaints& wrong) const;

  const boost::json::value& document_;
};

}  // namespace millrace::test
