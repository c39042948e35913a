#include "api/server/action_words.h"

#include "api/wire/text_reader.h"
#include "api/wire/text_writer.h"

namespace millrace::api {
namespace {

struct Kept {
  std::vector<Action> actions = {};
};

}  // namespace

void fields(wire::A<Action> auto& of, auto& visit) {
  visit("at", wire::required(of.at)), visit("last_at", of.last_at);
  visit("count", wire::always(of.count)), visit("operation", wire::required(of.operation));
  visit("subject", of.subject), visit("request", of.request), visit("key", of.key);
  visit("name", of.name), visit("session", of.session), visit("request_id", of.request_id);
}

namespace {

void fields(wire::A<Kept> auto& of, auto& visit) {
  visit("actions", wire::required(of.actions));
}

}  // namespace

std::string text_of(const std::vector<Action>& actions) {
  std::string out;
  wire::TextWriter writer(out);
  wire::append(writer.key("actions"), actions);
  writer.close();
  return out;
}

std::optional<std::vector<Action>> read_actions(std::string_view text) {
  auto kept = wire::read_text<Kept>(text);
  if (!kept) return std::nullopt;
  return std::move(kept->actions);
}

std::string text_of(const ActionPage& page) {
  std::string out;
  wire::TextWriter writer(out);
  wire::append(writer.key("actions"), page.actions);
  writer("next", page.next);
  writer.close();
  return out;
}

}  // namespace millrace::api
