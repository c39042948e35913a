#include "api/wire/keys.h"

#include <fmt/format.h>
#include <utility>

#include "api/wire/text_reader.h"
#include "api/wire/text_writer.h"

namespace millrace::wire {

void fields(A<KeyInfo> auto& of, auto& visit) {
  visit("id", of.id), visit("name", of.name), visit("scopes", of.scopes);
  visit("queues", of.queues), visit("created_at", of.created_at);
  visit("expires", of.expires), visit("rate", of.rate), visit("secret", of.secret);
}

namespace {

struct KeysAnswer {
  std::vector<KeyInfo> keys = {};
};
void fields(A<KeysAnswer> auto& of, auto& visit) {
  visit("keys", required(of.keys));
}

}  // namespace

std::string key_text(const KeyInfo& wanted) {
  std::string out;
  TextWriter writer(out);
  writer("name", wanted.name), writer("scopes", wanted.scopes), writer("queues", wanted.queues);
  writer("expires", wanted.expires), writer("rate", wanted.rate);
  writer.close();
  return out;
}

std::string view_of(const KeyInfo& key) {
  return text_of(key);
}

std::string view_of(const std::vector<KeyInfo>& keys) {
  return text_of(KeysAnswer{keys});
}

Result<KeyInfo> key_from(std::string_view text) {
  return read_answer<KeyInfo>(text);
}

Result<std::vector<KeyInfo>> keys_from(std::string_view text) {
  auto answer = read_answer<KeysAnswer>(text);
  if (!answer) return std::unexpected(std::move(answer.error()));
  return std::move(answer->keys);
}

}  // namespace millrace::wire
