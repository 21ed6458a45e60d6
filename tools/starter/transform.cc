#include "tools/starter/transform.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string_view>

#include "tools/output/terminal.h"

namespace cortado::tools {

namespace {

constexpr int kSmall = 96;  ///< smaller images are not cropped at random

std::string sides_text(int64_t height, int64_t width) { return std::to_string(height) + "x" + std::to_string(width); }

std::string found_sizes(const data::DatasetStats& stats) {
  if (stats.one_size()) return "the images are " + sides_text(stats.height.least(), stats.width.least());
  return "the images' shorter sides are " + std::to_string(stats.short_side.least()) + " to " +
         std::to_string(stats.short_side.most()) + ", of three quarters at least " +
         std::to_string(stats.short_side.typical());
}

/// Side of the square input of the net; 0: the images' own size.
int side_of(const data::DatasetStats& stats, const StartingNet& start, const TransformOptions& options) {
  const int shortest = int(stats.short_side.typical()), native = start.side;
  if (options.side > 0) return options.side;
  const bool fits = native <= kSmall ? 3 * shortest >= 2 * native : options.any_side && shortest >= 64;
  if (!options.keep_values && stats.one_size() && shortest <= kSmall && fits) return 0;
  if (options.keep_values || !options.any_side || native == 0) return native > 0 ? native : std::min(shortest, 224);
  return std::clamp((shortest + 16) / 32 * 32, std::min(64, native), native);
}

/// `value`, rounded to a tenth.
float tenth(double value) { return float(std::round(value * 10) / 10); }

bool begins_with_spread(const caffe::NetParameter& net) {
  for (const caffe::LayerParameter& layer : net.layer()) {
    const std::string& filler = layer.convolution_param().weight_filler().type();
    if (layer.type() == "BatchNorm" || (layer.type() == "Convolution" && (filler == "xavier" || filler == "msra")))
      return true;
  }
  return false;
}

/// Chooses mean and scale, the same in both phases.
void choose_values(const DatasetFolder& data, const StartingNet& start, bool keep, TransformChoice& out) {
  caffe::TransformationParameter& to = out.train;
  const data::DatasetStats& stats = data.stats;
  if (keep) {
    *to.mutable_mean_value() = start.transform.mean_value();
    if (start.transform.has_scale()) to.set_scale(start.transform.scale());
    if (start.transform.has_bgr2rgb()) to.set_bgr2rgb(start.transform.bgr2rgb());
    return out.choices.push_back({"mean_value and scale", "as in " + start.name, "the weights were learned with them"});
  }
  std::string text;
  double deviation = 0;
  for (size_t c = 0; c < stats.mean.size(); ++c) {
    to.add_mean_value(tenth(stats.mean[c]));
    text += (c > 0 ? " " : "") + number_text("%.1f", stats.mean[c]);
    deviation += stats.deviation[c] / double(stats.mean.size());
  }
  const std::string of =
      stats.decoded < stats.records ? "of " + count_text(stats.decoded) + " images" : "of the training images";
  out.choices.push_back({"mean_value", text, "measured: the mean " + of});
  if (!begins_with_spread(start.file->net)) {
    if (!start.transform.has_scale()) return;
    to.set_scale(start.transform.scale());
    return out.choices.push_back({"scale", number_text("%g", to.scale()), "as in " + start.name});
  }
  to.set_scale(float(std::stod(number_text("%.3g", 1 / std::max(deviation, 1.0)))));
  out.choices.push_back({"scale", number_text("%.3g", to.scale()),
                         "1 over the measured deviation, " + number_text("%.1f", deviation) + ": values near 1"});
}

/// For images of one small size.
void stay_as_they_are(const DatasetFolder& data, TransformChoice& out) {
  out.height = int(data.stats.height.least());
  out.width = int(data.stats.width.least());
  caffe::AugmentParameter& augment = *out.train.mutable_augment();
  augment.set_translate(0.06F);
  augment.set_border(caffe::AugmentParameter::EDGE);
  out.choices.push_back({"size", sides_text(out.height, out.width), "the size of all images"});
  out.choices.push_back({"translate", "0.06", "training shifts images by up to this share of their side"});
}

/// For other images: training reads random parts, testing the centre.
void bring_to(int side, const DatasetFolder& data, TransformChoice& out) {
  const data::DatasetStats& stats = data.stats;
  out.height = out.width = side;
  out.train.set_crop_size(uint32_t(side));
  const bool roomy = stats.one_size() && stats.short_side.least() >= side && stats.short_side.most() <= side * 3 / 2;
  const int larger = side >= kSmall ? (side * 8 + 3) / 7 : side;
  out.choices.push_back(
      {"crop_size", std::to_string(side),
       found_sizes(stats) + (stats.short_side.least() < side ? "; smaller images are enlarged" : "")});
  out.test = out.train;
  caffe::AugmentParameter& augment = *out.train.mutable_augment();
  if (!roomy) out.test.mutable_augment()->set_short_side(uint32_t(larger));
  if (side < kSmall) {
    if (!roomy) augment.set_short_side(uint32_t(larger));
    return;
  }
  augment.mutable_resized_crop()->set_min_area(0.3F);
  out.choices.push_back({"resized_crop", "0.3 to 1",
                         "training reads random parts of at least this share of an image; testing "
                         "the centre" +
                             (roomy ? std::string() : " after the shorter side is " + std::to_string(larger))});
}

void choose_changes(const DatasetFolder& data, TransformChoice& out) {
  caffe::AugmentParameter& augment = *out.train.mutable_augment();
  if (const std::string reason = why_not_mirrored(data.names); !reason.empty()) {
    out.choices.push_back({"flip_h", "none", reason});
  } else {
    augment.set_flip_h(0.5F);
    out.choices.push_back({"flip_h", "0.5", "half of the images are mirrored; remove it if left and right differ"});
  }
  if (data.stats.channels() != 3 || out.height < kSmall) return;
  augment.set_brightness(0.2F);
  augment.set_contrast(0.2F);
  augment.set_saturation(0.2F);
  out.choices.push_back({"brightness, contrast, saturation", "0.2", "for different light and cameras"});
}

}  // namespace

TransformChoice choose_transform(const DatasetFolder& data, const StartingNet& start, const TransformOptions& options) {
  TransformChoice out;
  const int side = side_of(data.stats, start, options);
  if (side == 0) {
    stay_as_they_are(data, out);
  } else {
    bring_to(side, data, out);
  }
  choose_changes(data, out);
  choose_values(data, start, options.keep_values, out);
  if (data.stats.per_channels.size() > 1) {
    out.train.set_force_color(true);
    out.choices.push_back({"force_color", "true", "some images are grey, others coloured"});
  }
  // Testing has the same values and colours, but its own sizes.
  *out.test.mutable_mean_value() = out.train.mean_value();
  if (out.train.has_scale()) out.test.set_scale(out.train.scale());
  if (out.train.has_bgr2rgb()) out.test.set_bgr2rgb(out.train.bgr2rgb());
  if (out.train.has_force_color()) out.test.set_force_color(true);
  return out;
}

namespace {

using Words = std::vector<std::string>;

bool is_digit_of_name(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_lower_of_name(char c) { return std::islower(static_cast<unsigned char>(c)) != 0; }
bool is_upper_of_name(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }

/// "TurnLeft_03" becomes turn, left, 03. Non-ASCII bytes are parts of words.
Words words_of(const std::string& name) {
  Words words;
  char before = ' ';
  for (const char c : name) {
    const bool part = (static_cast<unsigned char>(c) & 0x80) != 0 || std::isalnum(static_cast<unsigned char>(c));
    const bool goes_on = part && !words.empty() && before != ' ' && is_digit_of_name(c) == is_digit_of_name(before) &&
                         !(is_upper_of_name(c) && is_lower_of_name(before));
    if (part && !goes_on) words.emplace_back();
    if (part) words.back() += char(std::tolower(static_cast<unsigned char>(c)));
    before = part ? c : ' ';
  }
  return words;
}

template <size_t n>
bool is_word_of(const std::string& word, const std::array<std::string_view, n>& list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// Words that name a kind of character, but not which one.
bool only_describes(const std::string& word) {
  constexpr std::array<std::string_view, 19> kDescriptions = {
      "digit", "digits",  "number", "numeral", "letter", "letters", "char",  "character", "glyph",    "symbol",
      "class", "capital", "upper",  "lower",   "case",   "upcase",  "small", "uppercase", "lowercase"};
  return is_word_of(word, kDescriptions);
}

bool is_character(const std::string& word) {
  constexpr std::array<std::string_view, 35> kSpelt = {
      "zero", "one",     "two",   "three",   "four",  "five", "six",     "seven", "eight", "nine",   "ten",  "alpha",
      "beta", "gamma",   "delta", "epsilon", "zeta",  "eta",  "theta",   "iota",  "kappa", "lambda", "mu",   "nu",
      "xi",   "omicron", "pi",    "rho",     "sigma", "tau",  "upsilon", "phi",   "chi",   "psi",    "omega"};
  return word.size() == 1 || is_digit_of_name(word[0]) || is_word_of(word, kSpelt);
}

/// Whether the words are only characters: "7", "b", "digit_seven", "A1", but not "001.ak47" or "3_birds".
bool names_characters(const Words& words) {
  int64_t characters = 0;
  for (const std::string& word : words) {
    if (only_describes(word)) continue;
    if (!is_character(word)) return false;
    ++characters;
  }
  return characters > 0;
}

bool names_side(const Words& words) {
  constexpr std::array<std::string_view, 12> kSides = {
      "left",      "right",         "leftward",         "rightward", "leftwards", "rightwards",
      "clockwise", "anticlockwise", "counterclockwise", "mirrored",  "west",      "east"};
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) { return is_word_of(word, kSides); });
}

}  // namespace

std::string why_not_mirrored(const std::vector<std::string>& names) {
  size_t characters = 0;
  for (const std::string& name : names) {
    const Words words = words_of(name);
    if (names_side(words)) return "mirrored, '" + name + "' would be another class";
    characters += names_characters(words);
  }
  return 2 * characters > names.size() ? "classes named by digits or letters change when mirrored" : "";
}

}  // namespace cortado::tools
