#include "access/key_text.h"

#include <optional>
#include <utility>

#include "api/wire/text_reader.h"

namespace millrace::access {
namespace {

// The words of a request; `scopes` in the order of their values.
struct RequestWords {
  KeyRequest request = {};
  std::vector<Scope> scopes = {};
};
void fields(wire::A<RequestWords> auto& of, auto& visit) {
  visit("name", wire::required(of.request.name)), visit("scopes", wire::required(of.scopes));
  visit("queues", of.request.queues), visit("expires", of.request.expires);
  visit("rate", of.request.rate);
}

struct KeyWords {
  std::string id = {};
  RequestWords about = {};
  TimePoint created_at{};
  std::string secret = {};
};
void fields(wire::A<KeyWords> auto& of, auto& visit) {
  visit("id", wire::required(of.id));
  fields(of.about, visit);
  visit("created_at", of.created_at), visit("secret", of.secret);
}

struct KeysWords {
  std::vector<KeyWords> keys = {};
};
void fields(wire::A<KeysWords> auto& of, auto& visit) {
  visit("keys", wire::required(of.keys));
}

RequestWords words_of(const KeyRequest& request) {
  return {.request = request, .scopes = request.scopes.list()};
}

KeyWords words_of(const Key& key) {
  return {.id = key.id, .about = words_of(key.about), .created_at = key.created_at};
}

KeyRequest meant(RequestWords words) {
  words.request.scopes = Scopes(words.scopes);
  return std::move(words.request);
}

Key meant(KeyWords words) {
  return {.id = std::move(words.id),
          .about = meant(std::move(words.about)),
          .created_at = words.created_at};
}

}  // namespace

std::string text_of(const KeyRequest& request) {
  return wire::text_of(words_of(request));
}

wire::Read<KeyRequest> read_key_request(std::string_view text) {
  auto words = wire::read_text<RequestWords>(text);
  if (!words) return std::unexpected(std::move(words.error()));
  if (words->scopes.empty()) {
    return std::unexpected(
        wire::Refusal{.error = {.code = ErrorCode::invalid,
                                .message = "scopes is empty; allowed are put, work, read, admin",
                                .field = "scopes"}});
  }
  return meant(std::move(*words));
}

std::string text_of(const MadeKey& made) {
  KeyWords words = words_of(made.key);
  words.secret = made.text;
  return wire::text_of(words);
}

std::string text_of(const std::vector<Key>& keys) {
  KeysWords words;
  words.keys.reserve(keys.size());
  for (const Key& key : keys) words.keys.push_back(words_of(key));
  return wire::text_of(words);
}

Result<MadeKey> key_from(std::string_view text) {
  auto words = wire::read_answer<KeyWords>(text);
  if (!words) return std::unexpected(std::move(words.error()));
  std::string secret = std::move(words->secret);
  return MadeKey{.key = meant(std::move(*words)), .text = std::move(secret)};
}

Result<std::vector<Key>> keys_from(std::string_view text) {
  auto words = wire::read_answer<KeysWords>(text);
  if (!words) return std::unexpected(std::move(words.error()));
  std::vector<Key> keys;
  for (KeyWords& each : words->keys) keys.push_back(meant(std::move(each)));
  return keys;
}

void append_rights(wire::TextWriter& writer, const Scopes& scopes,
                   const std::vector<std::string>& queues) {
  wire::append(writer.key("scopes"), scopes.list());
  writer("queues", queues);
}

}  // namespace millrace::access
