// Signing in and out, for browsers.
#include <array>
#include <utility>

#include "access/key_text.h"
#include "api/server/action_log.h"
#include "api/server/handlers.h"
#include "api/server/stored_sessions.h"
#include "api/wire/text_reader.h"
#include "api/wire/text_writer.h"
#include "core/plain_path.h"

namespace millrace::api {
namespace {

struct SessionWords {
  std::string key = {};
  std::string path = {};
};
void fields(wire::A<SessionWords> auto& of, auto& visit) {
  visit("key", wire::required(of.key)), visit("path", of.path);
}

// What the page may do: everything, if the server needs no keys.
std::string text_of_visit(const Visit& visit) {
  std::string out;
  wire::TextWriter writer(out);
  wire::append(writer.key("needs_key"), visit.needs_key);
  wire::append(writer.key("signed_in"), visit.signed_in);
  if (visit.key) {
    access::append_rights(writer, visit.key->about.scopes, visit.key->about.queues);
    wire::TextWriter key(writer.key("key"));
    key("id", visit.key->id), key("name", visit.key->about.name);
    key.close();
  } else if (visit.needs_key) {
    access::append_rights(writer, {}, {});
  } else {
    constexpr std::array all = {Scope::put, Scope::work, Scope::read, Scope::admin};
    access::append_rights(writer, access::Scopes(all), {});
  }
  writer("expires", visit.expires);
  writer.close();
  return out;
}

HttpResponse response_of(const Visit& visit) {
  HttpResponse response{.body = text_of_visit(visit)};
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

void note_sign_in(const Call& call, const Visit& visit) {
  if (call.options.actions == nullptr) return;
  call.options.actions->note(*call.broker, {.at = call.broker->now(),
                                            .operation = std::string(call.route->operation),
                                            .key = visit.key ? visit.key->id : "",
                                            .name = visit.key ? visit.key->about.name : "",
                                            .session = true,
                                            .request_id = call.request_id});
}

// False if it was refused: users cannot sign in here.
bool has_sessions(Call& call) {
  if (call.options.sessions != nullptr) return true;
  call.refuse(Error{ErrorCode::not_found, "users cannot sign in to this server"});
  return false;
}

}  // namespace

void get_session(CallPtr call) {
  if (!call->query_is_good()) return;
  if (!has_sessions(*call)) return;
  call->answer(response_of(call->options.sessions->visit_of(call->request)));
}

void open_session(CallPtr call) {
  if (!call->query_is_good()) return;
  auto words = call->good(wire::read_text<SessionWords>(call->request.body));
  if (!words || !has_sessions(*call)) return;
  if (!words->path.empty() && !is_cookie_path(words->path)) {
    return call->refuse(Error{.code = ErrorCode::invalid,
                              .message = "path must be the path of the page, such as /",
                              .field = "path"});
  }
  const SignIn asked{.key = std::move(words->key),
                     .path = words->path.empty() ? "/" : std::move(words->path),
                     .remote = call->request.remote};
  const std::string path = asked.path;
  StoredSessions& sessions = *call->options.sessions;
  LocalBroker& broker = *call->broker;
  sessions.sign_in(
      broker, asked,
      [call = std::move(call), path](std::expected<SignedIn, Problem> signed_in) mutable {
        if (!signed_in) return call->refuse(std::move(signed_in.error()));
        note_sign_in(*call, signed_in->visit);
        HttpResponse response = response_of(signed_in->visit);
        response.headers.emplace_back(
            "Set-Cookie", cookie_text(call->request, signed_in->text, path, signed_in->lasts));
        call->answer(std::move(response));
      });
}

void close_session(CallPtr call) {
  if (!call->query_is_good()) return;
  if (!has_sessions(*call)) return;
  StoredSessions& sessions = *call->options.sessions;
  LocalBroker& broker = *call->broker;
  const HttpRequest& head = call->request;
  sessions.sign_out(
      broker, head,
      answered<std::string>(std::move(call), [](CallPtr back, const std::string& path) {
        HttpResponse response{.status = 204};
        response.headers.emplace_back(
            "Set-Cookie", cookie_text(back->request, {}, path.empty() ? "/" : path, {}));
        back->answer(std::move(response));
      }));
}

}  // namespace millrace::api
