#include "tools/report/page.h"

#include "core/text/json.h"
#include "tools/output/units.h"
#include "web/web.h"

extern const char cortado_page_script[];
extern const unsigned long cortado_page_script_size;
extern const char cortado_report_style[];
extern const unsigned long cortado_report_style_size;

namespace cortado::tools {

namespace {

/// JSON within a script element, escaped so that it does not end the element.
std::string json_text(const nlohmann::ordered_json& json) {
  std::string out;
  for (const char c : dumped_json(json)) out += c == '<' ? "\\u003c" : std::string(1, c);
  return out;
}

}  // namespace

std::string self_contained_page(const std::string& title, std::string_view script,
                                const nlohmann::ordered_json& numbers) {
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
      "style-src 'unsafe-inline'; img-src data:\">\n<title>";
  page += xml_escaped(title) + "</title>\n<style>\n";
  page += web::style_css();
  page += std::string_view(cortado_report_style, cortado_report_style_size);
  page += "</style>\n</head>\n<body>\n<main id=\"report\">\n<h1>" + xml_escaped(title) +
          "</h1>\n<noscript><p>This page needs JavaScript.</p></noscript>\n</main>\n"
          "<script type=\"application/json\" id=\"numbers\">";
  page += json_text(numbers);
  page += "</script>\n<script>\n";
  page += web::charts_js();
  page += std::string_view(cortado_page_script, cortado_page_script_size);
  page += script;
  return page + "</script>\n</body>\n</html>\n";
}

}  // namespace cortado::tools
