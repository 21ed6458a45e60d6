#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace cortado::tools {

/// A page without external files. `script` fills it from `numbers` with the functions of page.js and the charts.
std::string self_contained_page(const std::string& title, std::string_view script,
                                const nlohmann::ordered_json& numbers);

}  // namespace cortado::tools
