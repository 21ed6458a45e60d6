#include "studio/page_files.h"

#include <algorithm>
#include <vector>

#include "web/web.h"

namespace cortado::studio {

/// Made by the build of the files in page/.
extern const std::vector<PageFile> page_files_of_build;

const PageFile* find_page_file(std::string_view path) {
  static const std::vector<PageFile> common = {
      {"/style.css", web::style_css(), "text/css; charset=utf-8"},
      {"/charts.js", web::charts_js(), "text/javascript; charset=utf-8"},
  };
  for (const std::vector<PageFile>* files : {&common, &page_files_of_build}) {
    const auto found = std::ranges::find(*files, path, &PageFile::path);
    if (found != files->end()) return &*found;
  }
  return nullptr;
}

}  // namespace cortado::studio
