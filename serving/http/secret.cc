#include "http/secret.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <array>

#include "core/error.h"

namespace cortado::http {

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
