#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cortado::data {

/// A format of image files, for everything that distinguishes images from other files by names or first bytes.
struct ImageFormat {
  const char* name;
  std::vector<std::string> endings;      ///< of names: ".jpg", the usual one first
  bool (*is)(std::string_view content);  ///< by the first bytes
  const char* shown_as;                  ///< the MIME type for browsers; "": they do not show it
  /// Whether servers and the studio take such images from others. They refuse the rest, however OpenCV may read it: its
  /// decoders of TIFF and JPEG 2000 are large, and do not expect bytes that are meant to harm.
  bool is_served;
};

const std::vector<ImageFormat>& image_formats();

/// The format of these first bytes; nullptr: of none in the list.
const ImageFormat* image_format_of(std::string_view content);

/// Whether a file has the name of an image that can be read.
bool is_image_name(std::string_view name);
/// The same of an image that is served.
bool is_served_image_name(std::string_view name);

/// Whether a server may decode these bytes, and the words for those that it refuses: "JPEG, PNG, ... or PPM".
bool is_served_image(std::string_view content);
std::string served_image_formats();

bool is_webp(std::string_view file);

}  // namespace cortado::data
