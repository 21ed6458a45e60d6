#include "server/token.h"

#include "core/error.h"
#include "core/files/file.h"
#include "http/secret.h"

namespace cortado::server {

namespace {

constexpr size_t kLeastLength = 16;
constexpr int64_t kMaxBytes = 4096;

}  // namespace

Token::Token(const std::string& path) {
  if (path.empty()) return;
  const std::string content = read_file(path, kMaxBytes);
  token_ = content.substr(0, content.find_first_of("\r\n"));
  if (token_.size() < kLeastLength)
    throw Error(ExitCode::kUsage, path + ": a token of " + std::to_string(token_.size()) + " characters is too short",
                "make a token with `openssl rand -hex 32 > FILE`");
}

bool Token::allows(std::string_view authorization) const {
  constexpr std::string_view kScheme = "Bearer ";
  if (token_.empty()) return true;
  if (!authorization.starts_with(kScheme)) return false;
  authorization.remove_prefix(kScheme.size());
  return http::is_same_secret(authorization, token_);
}

}  // namespace cortado::server
