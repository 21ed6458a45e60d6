#pragma once

// What pages have in common (README.md), as the build embedded it.

#include <string_view>

namespace cortado::web {

std::string_view style_css();
std::string_view charts_js();

}  // namespace cortado::web
