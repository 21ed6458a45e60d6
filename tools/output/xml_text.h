#pragma once

#include <string>

namespace cortado::tools {

/// `text` as content, or as an attribute's value in double quotes, of an XML or HTML element.
std::string xml_escaped(const std::string& text);

}  // namespace cortado::tools
