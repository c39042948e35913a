#include "access/secret.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <algorithm>

#include "core/base64.h"

namespace millrace::access {
namespace {

constexpr std::size_t id_bytes = 8;
constexpr std::size_t id_size = 2 * id_bytes;
constexpr std::size_t secret_bytes = 32;
constexpr std::size_t secret_size = 43;

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

Result<std::string> random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count)) != 1) {
    return fail(ErrorCode::unavailable, "the system gives no random numbers, so no key is made");
  }
  return bytes;
}

std::string url_safe(std::string_view bytes) {
  std::string text = base64_encode(bytes);
  while (text.ends_with('=')) text.pop_back();
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return text;
}

}  // namespace

Hash hash_of(std::string_view text) {
  Hash hash{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), hash.data());
  return hash;
}

Hash mark_of(const Hash& hash) {
  return hash_of({reinterpret_cast<const char*>(hash.data()), hash.size()});
}

bool same(const Hash& a, const Hash& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string to_hex(const Hash& hash) {
  std::string text;
  for (const unsigned char byte : hash) text += fmt::format("{:02x}", byte);
  return text;
}

std::optional<Hash> hash_from_hex(std::string_view text) {
  Hash hash{};
  if (text.size() != 2 * hash.size()) return std::nullopt;
  for (std::size_t i = 0; i < hash.size(); ++i) {
    const int high = digit(text[2 * i]);
    const int low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    hash[i] = static_cast<unsigned char>(high * 16 + low);
  }
  return hash;
}

Result<Secret> make_secret(std::string_view mark) {
  const auto id = random_bytes(id_bytes);
  if (!id) return std::unexpected(id.error());
  const auto secret = random_bytes(secret_bytes);
  if (!secret) return std::unexpected(secret.error());
  Secret made;
  for (const char byte : *id) made.id += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  made.text = fmt::format("{}{}_{}", mark, made.id, url_safe(*secret));
  return made;
}

std::string_view id_of(std::string_view text, std::string_view mark) {
  if (text.size() != mark.size() + id_size + 1 + secret_size || !text.starts_with(mark)) return {};
  const std::string_view id = text.substr(mark.size(), id_size);
  if (std::ranges::any_of(id, [](char c) { return digit(c) < 0; })) return {};
  return text[mark.size() + id_size] == '_' ? id : std::string_view();
}

}  // namespace millrace::access
