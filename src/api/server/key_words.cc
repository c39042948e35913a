#include "api/server/key_words.h"

#include <array>
#include <utility>

#include "api/wire/text_reader.h"
#include "api/wire/text_writer.h"

namespace millrace::api {
namespace {

// What may stand in `scopes`.
enum class ScopeName : std::uint8_t { put, work, read, admin };
constexpr auto names(ScopeName) {
  return std::to_array<std::string_view>({"put", "work", "read", "admin"});
}

struct KeyWords {
  std::string name = {};
  std::vector<ScopeName> scopes = {};
  std::vector<std::string> queues = {};
  std::optional<TimePoint> expires = std::nullopt;
  std::optional<Rate> rate = std::nullopt;
};
void fields(wire::A<KeyWords> auto& of, auto& visit) {
  visit("name", wire::required(of.name)), visit("scopes", wire::required(of.scopes));
  visit("queues", of.queues), visit("expires", of.expires), visit("rate", of.rate);
}

void append_key(wire::TextWriter& writer, const KeyView& key) {
  writer("id", key.id), writer("name", key.name);
  append_rights(writer, key.scopes, key.queues);
  writer("created_at", key.created_at);
  writer("expires", key.expires), writer("rate", key.rate);
}

}  // namespace

void append_rights(wire::TextWriter& writer, const std::vector<Scope>& scopes,
                   const std::vector<std::string>& queues) {
  std::string& out = writer.key("scopes");
  out += '[';
  for (const Scope scope : scopes) {
    if (out.back() != '[') out += ',';
    wire::append(out, name_of(scope));
  }
  out += ']';
  writer("queues", queues);
}

wire::Read<NewKey> read_new_key(std::string_view text) {
  auto words = wire::read_text<KeyWords>(text);
  if (!words) return std::unexpected(std::move(words.error()));
  NewKey key{.name = std::move(words->name),
             .queues = std::move(words->queues),
             .expires = words->expires,
             .rate = words->rate};
  for (const ScopeName scope : words->scopes) {
    key.scopes.push_back(static_cast<Scope>(std::to_underlying(scope) + 1));
  }
  if (!key.scopes.empty()) return key;
  return std::unexpected(wire::Refusal{
      .error = {ErrorCode::invalid, "scopes is empty; allowed are put, work, read, admin"},
      .field = "scopes"});
}

std::string text_of(const std::vector<KeyView>& keys) {
  std::string out = R"({"keys":[)";
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i != 0) out += ',';
    wire::TextWriter writer(out);
    append_key(writer, keys[i]);
    writer.close();
  }
  return out += "]}";
}

std::string text_of(const CreatedKey& created) {
  std::string out;
  wire::TextWriter writer(out);
  append_key(writer, created.key);
  wire::append(writer.key("secret"), created.secret);
  writer.close();
  return out;
}

}  // namespace millrace::api
