#include "payload/delivery_payload.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "payload/reader.h"
#include "payload/text.h"

namespace millrace {
namespace {

struct TextField {
  std::string_view name;
  std::string DeliveryPayload::* text;
};

// {"url":…,"about":{"queue":…,…},"body":…}: the lists for both writing and reading.
constexpr std::array top_fields = {TextField{"url", &DeliveryPayload::url}};
constexpr std::string_view about_name = "about";
constexpr std::array about_fields = {
    TextField{"queue", &DeliveryPayload::queue},
    TextField{"type", &DeliveryPayload::type},
    TextField{"state", &DeliveryPayload::state},
    TextField{"clientId", &DeliveryPayload::client_id},
    TextField{"requestId", &DeliveryPayload::request_id},
};
constexpr std::string_view body_name = "body";

// ---- Writing ----

// `out` is an object that is not closed yet.
void append_key(std::string& out, std::string_view name) {
  if (out.back() != '{') out += ',';
  json::append_text(out, name);
  out += ':';
}

void append_texts(std::string& out, const DeliveryPayload& payload,
                  std::span<const TextField> fields) {
  for (const auto& [name, text] : fields) {
    if ((payload.*text).empty()) continue;
    append_key(out, name);
    json::append_text(out, payload.*text);
  }
}

// ---- Reading ----

void read_text(json::Reader& in, std::string& to) {
  std::string scratch;
  if (const auto text = in.string(scratch)) {
    to = *text;
  } else {
    in.raw();
  }
}

// `other` reads the value of a key that is none of the fields.
template <class Other>
void read_object(json::Reader& in, DeliveryPayload& to, std::span<const TextField> fields,
                 const Other& other) {
  if (!in.open('{', {})) return;
  std::string scratch;
  bool first = true;
  while (const auto key = in.key(scratch, first)) {
    const auto field = std::ranges::find(fields, *key, &TextField::name);
    if (field != fields.end()) {
      read_text(in, to.*(field->text));
    } else {
      other(*key);
    }
  }
}

}  // namespace

std::string to_json(const DeliveryPayload& payload) {
  std::string about = "{";
  append_texts(about, payload, about_fields);
  std::string out = "{";
  append_texts(out, payload, top_fields);
  if (about != "{") {
    append_key(out, about_name);
    out += about;
    out += '}';
  }
  append_key(out, body_name);
  out += payload.body;
  out += '}';
  return out;
}

Result<DeliveryPayload> parse_delivery(std::string_view text) {
  DeliveryPayload payload;
  json::Reader in(text);
  read_object(in, payload, top_fields, [&](std::string_view key) {
    if (key == about_name) {
      read_object(in, payload, about_fields, [&](std::string_view) { in.raw(); });
    } else if (key == body_name) {
      payload.body = in.raw().value_or(std::string_view());
    } else {
      in.raw();
    }
  });
  if (auto error = in.finish("payload")) return std::unexpected(std::move(*error));
  if (payload.body.empty()) return fail(ErrorCode::invalid, "the payload has no body to send");
  return payload;
}

}  // namespace millrace
