#pragma once

#include <string>
#include <string_view>

namespace cortado::server {

/// The secret that requests have to know, if there is one.
class Token {
 public:
  /// Of the first line of the file; "" is no file, and then everybody may ask. Throws Error for a file that cannot be
  /// read or holds less than 16 characters.
  explicit Token(const std::string& path);

  /// `authorization`: the value of the header, "Bearer TOKEN". Takes the same time wherever the two differ.
  bool allows(std::string_view authorization) const;

 private:
  std::string token_;
};

}  // namespace cortado::server
