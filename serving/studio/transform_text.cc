#include "studio/transform_text.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

namespace cortado::studio {

namespace {

/// An option of the page and its field; "%" is replaced by the number.
struct Option {
  std::string_view name, field;
};

constexpr std::array kOptions = {Option{"short_side", "short_side: %"},
                                 Option{"resized_crop", "resized_crop { min_area: % }"},
                                 Option{"flip_h", "flip_h: %"},
                                 Option{"flip_v", "flip_v: %"},
                                 Option{"rotate", "rotate: %"},
                                 Option{"shear", "shear: %"},
                                 Option{"translate", "translate: %"},
                                 Option{"brightness", "brightness: %"},
                                 Option{"contrast", "contrast: %"},
                                 Option{"saturation", "saturation: %"},
                                 Option{"hue", "hue: %"},
                                 Option{"grayscale", "grayscale: %"},
                                 Option{"blur", "blur { prob: % }"},
                                 Option{"noise", "noise: %"},
                                 Option{"erase", "erase { prob: % }"}};

std::string number_text(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

}  // namespace

std::string transform_text(const Json& wanted) {
  if (!wanted.is_object()) throw http::RequestError(http::Refusal::kInvalid, "transform must be an object");
  std::string augment;
  for (const auto& [name, value] : wanted.items()) {
    if (name == "crop_size") continue;
    const auto found = std::ranges::find(kOptions, name, &Option::name);
    if (found == kOptions.end()) throw http::RequestError(http::Refusal::kInvalid, "transform: unknown option " + name);
    const double number = number_in(wanted, name.c_str(), 0);
    if (number == 0) continue;
    std::string field(found->field);
    field.replace(field.find('%'), 1, number_text(number));
    augment += "    " + field + "\n";
  }
  const double crop = number_in(wanted, "crop_size", 0);
  if (augment.empty() && crop == 0) return "";
  return "transform_param {\n" + (crop > 0 ? "  crop_size: " + number_text(crop) + "\n" : std::string()) +
         (augment.empty() ? "" : "  augment {\n" + augment + "  }\n") + "}\n";
}

}  // namespace cortado::studio
