#include "server/token.h"

#include "http/secret.h"

namespace cortado::server {

Token::Token(const std::string& path) : token_(path.empty() ? "" : http::token_of_file(path)) {}

bool Token::allows(std::string_view authorization) const {
  constexpr std::string_view kScheme = "Bearer ";
  if (token_.empty()) return true;
  if (!authorization.starts_with(kScheme)) return false;
  authorization.remove_prefix(kScheme.size());
  return http::is_same_secret(authorization, token_);
}

}  // namespace cortado::server
