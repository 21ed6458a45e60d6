#pragma once

// The embedded shared parts of pages (README.md).

#include <string_view>
#include <vector>

namespace cortado::web {

std::string_view style_css();
std::string_view charts_js();

/// An embedded file of a page.
struct PageFile {
  std::string_view path;  ///< URL path
  std::string_view content;
  const char* type;
};

/// The shared files as a page links them: /style.css, /charts.js, /elements.js, /formats.js, /images.js.
const std::vector<PageFile>& shared_files();

/// The file with this path, or nullptr.
const PageFile* find_file(const std::vector<PageFile>& files, std::string_view path);

}  // namespace cortado::web
