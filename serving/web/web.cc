#include "web/web.h"

// Made by the build (cmake/embed.cmake).
extern const char cortado_web_style[], cortado_web_charts[];
extern const unsigned long cortado_web_style_size, cortado_web_charts_size;

namespace cortado::web {

std::string_view style_css() { return {cortado_web_style, cortado_web_style_size}; }

std::string_view charts_js() { return {cortado_web_charts, cortado_web_charts_size}; }

}  // namespace cortado::web
