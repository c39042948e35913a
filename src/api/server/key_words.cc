#include "api/server/key_words.h"

#include <optional>
#include <utility>

#include "api/wire/keys.h"
#include "api/wire/text_reader.h"

namespace millrace::api {
namespace {

struct KeyWords {
  std::string name = {};
  std::vector<access::Scope> scopes = {};
  std::vector<std::string> queues = {};
  std::optional<TimePoint> expires = std::nullopt;
  std::optional<Rate> rate = std::nullopt;
};
void fields(wire::A<KeyWords> auto& of, auto& visit) {
  visit("name", wire::required(of.name)), visit("scopes", wire::required(of.scopes));
  visit("queues", of.queues), visit("expires", of.expires), visit("rate", of.rate);
}

wire::KeyInfo info_of(const access::Key& key) {
  wire::KeyInfo info{.id = key.id,
                     .name = key.about.name,
                     .queues = key.about.queues,
                     .created_at = key.created_at,
                     .expires = key.about.expires,
                     .rate = key.about.rate};
  for (const access::Scope each : key.about.scopes.list()) info.scopes.emplace_back(name_of(each));
  return info;
}

}  // namespace

void append_rights(wire::TextWriter& writer, const access::Scopes& scopes,
                   const std::vector<std::string>& queues) {
  wire::append(writer.key("scopes"), scopes.list());
  writer("queues", queues);
}

wire::Read<access::KeyRequest> read_key_request(std::string_view text) {
  auto words = wire::read_text<KeyWords>(text);
  if (!words) return std::unexpected(std::move(words.error()));
  if (words->scopes.empty()) {
    return std::unexpected(wire::Refusal{
        .error = {ErrorCode::invalid, "scopes is empty; allowed are put, work, read, admin"},
        .field = "scopes"});
  }
  return access::KeyRequest{.name = std::move(words->name),
                            .scopes = access::Scopes(words->scopes),
                            .queues = std::move(words->queues),
                            .expires = words->expires,
                            .rate = words->rate};
}

std::string text_of(const std::vector<access::Key>& keys) {
  std::vector<wire::KeyInfo> infos;
  infos.reserve(keys.size());
  for (const access::Key& key : keys) infos.push_back(info_of(key));
  return wire::view_of(infos);
}

std::string text_of(const access::MadeKey& made) {
  wire::KeyInfo info = info_of(made.key);
  info.secret = made.text;
  return wire::view_of(info);
}

}  // namespace millrace::api
