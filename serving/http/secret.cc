#include "http/secret.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/files/file.h"
#include "core/text/text.h"

namespace cortado::http {

namespace {

constexpr size_t kLeastToken = 16, kMaxToken = 256;
constexpr int64_t kMaxTokenFile = 4096;

/// Those of RFC 6750, which include base64's.
bool may_be_in_token(char c) { return is_plain(c) || std::string_view(".~+/=").find(c) != std::string_view::npos; }

}  // namespace

void check_token(const std::string& token, const std::string& source) {
  constexpr const char* kHint = "make a token with `openssl rand -hex 32`";
  if (token.size() < kLeastToken)
    throw Error(ExitCode::kUsage,
                source + ": a token of " + std::to_string(token.size()) +
                    " characters is too short; it needs at least " + std::to_string(kLeastToken),
                kHint);
  if (token.size() > kMaxToken || !std::ranges::all_of(token, may_be_in_token))
    throw Error(ExitCode::kUsage,
                source + ": a token has at most " + std::to_string(kMaxToken) + " letters, digits and -._~+/=", kHint);
}

std::string token_of_file(const std::string& path) {
  constexpr const char* kBlanks = " \t\r\n";
  std::string token = read_file(path, kMaxTokenFile);
  token.erase(token.find_last_not_of(kBlanks) + 1);
  token.erase(0, std::min(token.find_first_not_of(kBlanks), token.size()));
  check_token(token, path);
  return token;
}

bool is_same_secret(std::string_view given, std::string_view secret) {
  return given.size() == secret.size() && CRYPTO_memcmp(given.data(), secret.data(), secret.size()) == 0;
}

std::string random_secret() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<unsigned char, 32> bytes{};
  if (RAND_bytes(bytes.data(), int(bytes.size())) != 1)
    throw Error(ExitCode::kInternal, "the system's random number generator failed");
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace cortado::http
