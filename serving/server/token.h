#pragma once

#include <string>
#include <string_view>

namespace cortado::server {

/// The optional secret that requests must contain.
class Token {
 public:
  /// Reads the file. Without a path every request is allowed. Throws like http::token_of_file().
  explicit Token(const std::string& path);

  /// `authorization` is the value of the header, "Bearer TOKEN". Compares in constant time.
  bool allows(std::string_view authorization) const;

 private:
  std::string token_;
};

}  // namespace cortado::server
