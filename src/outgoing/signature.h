// Signatures of webhooks as in standardwebhooks.com. The receiver can check that the sender knows
// the secret, and when the webhook was sent.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::outgoing {

// The bytes of a secret; as text, "whsec_" and base64.
struct Secret {
  std::string key = {};
};

// 24 to 64 bytes. `invalid` says what is wrong and how to make a secret, and never shows the text.
Result<Secret> parse_secret(std::string_view text);

// The value of webhook-signature: "v1,<base64>" for each secret, separated by spaces. While secrets
// are replaced, a receiver needs to know only one of them. Empty without secrets. The id must not
// be empty and must have no dot.
std::string sign(std::span<const Secret> secrets, std::string_view id, TimePoint at,
                 std::string_view body);

// webhook-id, webhook-timestamp and, if there are secrets, webhook-signature.
std::vector<std::pair<std::string, std::string>> signature_headers(std::span<const Secret> secrets,
                                                                   std::string_view id,
                                                                   TimePoint at,
                                                                   std::string_view body);

}  // namespace millrace::outgoing
