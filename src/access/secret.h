// Secrets that give access, as text: an id that may be shown, and random bytes that may not.
//
//   mr_0123456789abcdef_k3X...   a mark, the id (16 hexadecimal digits), "_", the secret (43
//                                characters: 32 random bytes in the url-safe base64 alphabet)
//
// A caller that has the text may use it; Millrace keeps its SHA-256. A slow hash, as for passwords,
// would add nothing: 256 random bits cannot be guessed, however fast guesses are, and every request
// would pay.
#pragma once

#include <millrace/result.h>
#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::access {

using Hash = std::array<unsigned char, 32>;
Hash hash_of(std::string_view text);
// A mark of a hash tells whether the hash is still the same one, and cannot be used in its place.
Hash mark_of(const Hash& hash);
// Takes the same time wherever the two differ.
bool same(const Hash& a, const Hash& b);

std::string to_hex(const Hash& hash);
std::optional<Hash> hash_from_hex(std::string_view text);

struct Secret {
  std::string id = {};
  std::string text = {};
};
// `unavailable` if the system has no random numbers.
Result<Secret> make_secret(std::string_view mark);

// The id of a text that looks like a secret with this mark; empty if it does not.
std::string_view id_of(std::string_view text, std::string_view mark);

}  // namespace millrace::access
