#pragma once

#include <string>
#include <string_view>

namespace cortado::studio {

/// An embedded file of the page.
struct PageFile {
  std::string_view path;  ///< URL path
  std::string_view content;
  const char* type;
};

/// Returns nullptr for an unknown path.
const PageFile* find_page_file(std::string_view path);

}  // namespace cortado::studio
