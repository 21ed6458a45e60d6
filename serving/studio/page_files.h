#pragma once

#include <string>
#include <string_view>

namespace cortado::studio {

/// A file of the page, as the build embedded it.
struct PageFile {
  std::string_view path;  ///< as it is asked for
  std::string_view content;
  const char* type;
};

/// nullptr where there is none of this path.
const PageFile* find_page_file(std::string_view path);

}  // namespace cortado::studio
