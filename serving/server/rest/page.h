#pragma once

#include <string_view>

#include "web/web.h"

namespace cortado::server {

/// A file of the page, its own or a shared one. Returns nullptr for an unknown path.
const web::PageFile* find_page_file(std::string_view path);

}  // namespace cortado::server
