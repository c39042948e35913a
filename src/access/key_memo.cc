// Keys as memos: what a store keeps of them.
#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <limits>

#include "access/key.h"
#include "core/quote.h"
#include "core/time_text.h"

namespace millrace::access {
namespace {

namespace json = boost::json;

// One memo being read; the first error stays.
class MemoReader {
 public:
  explicit MemoReader(const json::object& object) : object_(object) {}

  bool good() const { return wrong_.empty(); }
  const std::string& wrong() const { return wrong_; }
  void complain(std::string what) {
    if (wrong_.empty()) wrong_ = std::move(what);
  }

  std::string text(std::string_view field) {
    const json::value* value = object_.if_contains(field);
    if (value != nullptr && value->is_string()) return std::string(value->get_string());
    complain(fmt::format("it has no text \"{}\"", field));
    return {};
  }

  std::optional<TimePoint> moment(std::string_view field, bool required) {
    if (!required && !object_.contains(field)) return std::nullopt;
    const auto time = parse_time(text(field));
    if (!time) complain(fmt::format("\"{}\" is not a moment", field));
    return time ? std::optional(*time) : std::nullopt;
  }

  std::vector<std::string> texts(std::string_view field, bool required) {
    std::vector<std::string> result;
    const json::value* value = object_.if_contains(field);
    if (value == nullptr && !required) return result;
    if (value == nullptr || !value->is_array()) {
      complain(fmt::format("it has no list \"{}\"", field));
      return result;
    }
    for (const json::value& each : value->get_array()) {
      if (!each.is_string()) {
        complain(fmt::format("\"{}\" holds something other than text", field));
        return result;
      }
      result.emplace_back(each.get_string());
    }
    return result;
  }

  std::optional<Rate> rate() {
    const json::value* value = object_.if_contains("rate");
    if (value == nullptr) return std::nullopt;
    const auto read =
        value->is_string() ? parse_rate(std::string_view(value->get_string())) : parse_rate("");
    if (!read) complain("\"rate\" is not a rate");
    return read ? std::optional(*read) : std::nullopt;
  }

 private:
  const json::object& object_;
  std::string wrong_;
};

}  // namespace

Remember to_memo(const Key& key) {
  json::object object;
  object["name"] = key.about.name;
  json::array scopes;
  for (const Scope each : key.about.scopes.list()) scopes.emplace_back(name_of(each));
  object["scopes"] = std::move(scopes);
  if (!key.about.queues.empty()) {
    json::array queues;
    for (const std::string& each : key.about.queues) queues.emplace_back(each);
    object["queues"] = std::move(queues);
  }
  object["created_at"] = format_time(key.created_at);
  if (key.about.expires) object["expires"] = format_time(*key.about.expires);
  if (key.about.rate) object["rate"] = to_text(*key.about.rate);
  object["sha256"] = to_hex(key.hash);
  return {.key = fmt::format("{}{}", memo_prefix, key.id),
          .value = json::serialize(object),
          .expected = 0};
}

Result<Key> from_memo(const Memo& memo) {
  const auto corrupt = [&](std::string_view why) {
    return fail(ErrorCode::corrupt,
                fmt::format("the memo {} is not an API key: {}", in_quotes(memo.key), why));
  };
  if (!memo.key.starts_with(memo_prefix) || memo.key.size() == memo_prefix.size()) {
    return corrupt("its name does not begin with key/");
  }
  boost::system::error_code error;
  const json::value value = json::parse(memo.value, error);
  if (error || !value.is_object()) return corrupt("it is not a JSON object");
  MemoReader reader(value.get_object());
  Key key{.id = memo.key.substr(memo_prefix.size())};
  key.about.name = reader.text("name");
  for (const std::string& each : reader.texts("scopes", true)) {
    const auto scope = scope_from_name(each);
    if (!scope) reader.complain(scope.error().message);
    if (scope) key.about.scopes.add(*scope);
  }
  key.about.queues = reader.texts("queues", false);
  key.created_at = reader.moment("created_at", true).value_or(TimePoint{});
  key.about.expires = reader.moment("expires", false);
  key.about.rate = reader.rate();
  const auto hash = hash_from_hex(reader.text("sha256"));
  if (!hash) reader.complain("\"sha256\" is not a SHA-256");
  key.hash = hash.value_or(Hash{});
  // Its rights must be valid today, too; only its end may have passed.
  if (auto ok = validate(key.about, TimePoint::min()); !ok) reader.complain(ok.error().message);
  if (!reader.good()) return corrupt(reader.wrong());
  return key;
}

}  // namespace millrace::access
