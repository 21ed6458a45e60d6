#include "data/image/image_formats.h"

#include <algorithm>

#include "core/text/text.h"
#include "data/image/jpeg.h"
#include "data/image/png.h"

namespace cortado::data {

namespace {

using namespace std::string_view_literals;

bool is_bmp(std::string_view file) { return file.starts_with("BM"); }
bool is_pgm(std::string_view file) { return file.starts_with("P5"); }
bool is_ppm(std::string_view file) { return file.starts_with("P6"); }
bool is_tiff(std::string_view file) { return file.starts_with("II*\0"sv) || file.starts_with("MM\0*"sv); }
bool is_gif(std::string_view file) { return file.starts_with("GIF8"); }
bool is_jpeg_2000(std::string_view file) { return file.starts_with("\0\0\0\x0CjP  \r\n"sv); }

const ImageFormat* format_named(std::string_view name) {
  const std::string lower = lower_case(name);
  for (const ImageFormat& format : image_formats())
    if (std::ranges::any_of(format.endings, [&](const std::string& ending) { return lower.ends_with(ending); }))
      return &format;
  return nullptr;
}

}  // namespace

bool is_webp(std::string_view file) {
  return file.starts_with("RIFF") && file.size() >= 12 && file.substr(8, 4) == "WEBP";
}

const std::vector<ImageFormat>& image_formats() {
  static const std::vector<ImageFormat> all = {
      {"JPEG", {".jpg", ".jpeg", ".jpe"}, is_jpeg, "image/jpeg", true},
      {"PNG", {".png"}, is_png, "image/png", true},
      {"WebP", {".webp"}, is_webp, "image/webp", true},
      {"BMP", {".bmp"}, is_bmp, "image/bmp", true},
      {"PGM", {".pgm", ".pnm"}, is_pgm, "", true},
      {"PPM", {".ppm"}, is_ppm, "", true},
      {"TIFF", {".tif", ".tiff"}, is_tiff, "", false},
      {"GIF", {".gif"}, is_gif, "", false},
      {"JPEG 2000", {".jp2"}, is_jpeg_2000, "", false},
  };
  return all;
}

const ImageFormat* image_format_of(std::string_view content) {
  const auto found = std::ranges::find_if(image_formats(), [&](const ImageFormat& one) { return one.is(content); });
  return found == image_formats().end() ? nullptr : &*found;
}

bool is_image_name(std::string_view name) { return format_named(name) != nullptr; }

bool is_served_image_name(std::string_view name) {
  const ImageFormat* const format = format_named(name);
  return format != nullptr && format->is_served;
}

bool is_served_image(std::string_view content) {
  const ImageFormat* const format = image_format_of(content);
  return format != nullptr && format->is_served;
}

std::string served_image_formats() {
  std::vector<std::string> names;
  for (const ImageFormat& format : image_formats())
    if (format.is_served) names.push_back(format.name);
  const std::string last = names.back();
  names.pop_back();
  return list_text(names) + " or " + last;
}

}  // namespace cortado::data
