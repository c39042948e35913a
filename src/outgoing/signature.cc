#include "outgoing/signature.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <array>
#include <chrono>

#include "core/base64.h"

namespace millrace::outgoing {
namespace {

constexpr std::string_view mark = "whsec_";
constexpr std::size_t least_bytes = 24;
constexpr std::size_t most_bytes = 64;

std::unexpected<Error> no_secret(std::string_view why) {
  return fail(ErrorCode::invalid,
              fmt::format("the webhook secret {}; it is whsec_ and {} to {} bytes in base64, as "
                          "made by: echo whsec_$(openssl rand -base64 32)",
                          why, least_bytes, most_bytes));
}

std::string seconds_of(TimePoint at) {
  return fmt::to_string(std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count());
}

}  // namespace

Result<Secret> parse_secret(std::string_view text) {
  if (text.empty()) return no_secret("is empty");
  if (!text.starts_with(mark)) return no_secret("does not begin with whsec_");
  // The decoder's error is not shown: it could contain a part of the secret.
  auto bytes = base64_decode(text.substr(mark.size()));
  if (!bytes) return no_secret("is not base64 after whsec_");
  if (bytes->size() < least_bytes || bytes->size() > most_bytes) {
    return no_secret(fmt::format("has {} bytes", bytes->size()));
  }
  return Secret{.key = std::move(*bytes)};
}

std::string sign(std::span<const Secret> secrets, std::string_view id, TimePoint at,
                 std::string_view body) {
  std::string signed_text;
  signed_text.reserve(id.size() + body.size() + 24);
  signed_text.append(id).append(".").append(seconds_of(at)).append(".").append(body);
  std::string result;
  for (const Secret& secret : secrets) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    ::HMAC(EVP_sha256(), secret.key.data(), static_cast<int>(secret.key.size()),
           reinterpret_cast<const unsigned char*>(signed_text.data()), signed_text.size(),
           digest.data(), &size);
    if (!result.empty()) result += ' ';
    result += "v1,";
    result += base64_encode({reinterpret_cast<const char*>(digest.data()), size});
  }
  return result;
}

std::vector<std::pair<std::string, std::string>> signature_headers(std::span<const Secret> secrets,
                                                                   std::string_view id,
                                                                   TimePoint at,
                                                                   std::string_view body) {
  std::vector<std::pair<std::string, std::string>> headers;
  headers.emplace_back("webhook-id", id);
  headers.emplace_back("webhook-timestamp", seconds_of(at));
  if (!secrets.empty()) headers.emplace_back("webhook-signature", sign(secrets, id, at, body));
  return headers;
}

}  // namespace millrace::outgoing
