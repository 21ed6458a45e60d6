#pragma once

// The embedded shared parts of pages (README.md).

#include <string_view>

namespace cortado::web {

std::string_view style_css();
std::string_view charts_js();

}  // namespace cortado::web
