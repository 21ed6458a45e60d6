#include "data/convert_images.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "core/error.h"
#include "core/file.h"
#include "core/rng.h"
#include "data/datum.h"
#include "data/image.h"

namespace cortado::data {

namespace {

std::string extension_of(const std::string& path) {
  const std::string name = file_name_of(path);
  const size_t dot = name.rfind('.');
  std::string extension = dot == std::string::npos ? "" : name.substr(dot + 1);
  for (char& c : extension) c = char(std::tolower(static_cast<unsigned char>(c)));
  return extension;
}

bool same_type(const std::string& a, const std::string& b) {
  const auto is_jpeg = [](const std::string& type) { return type == "jpg" || type == "jpeg"; };
  return a == b || (is_jpeg(a) && is_jpeg(b));
}

/// Makes one record's value. Keeps its buffers.
class ImageToDatum {
 public:
  explicit ImageToDatum(const ImageOptions& options) : options_(options) {}

  /// Throws SampleError or Error(kIo). Afterwards shape() is the sample's.
  std::string make(const ImageEntry& entry) {
    const std::string content = read_file(entry.file, int64_t(1) << 30);
    return options_.encoded ? encoded(entry, content) : raw(entry, content);
  }
  const Sample& shape() const { return shape_; }

 private:
  const Image& resized() {
    if (options_.resize_height == 0) return image_;
    resize_bilinear(image_, options_.resize_height, options_.resize_width, resized_);
    return resized_;
  }

  std::string raw(const ImageEntry& entry, const std::string& content) {
    decoder_.decode(content, options_.gray ? ColorMode::kGray : ColorMode::kColor, image_);
    const Image& image = resized();
    shape_ = image.sample();
    const size_t channels = size_t(image.channels), plane = image.pixels.size() / channels;
    planar_.resize(image.pixels.size());
    for (size_t c = 0; c < channels; ++c)
      for (size_t i = 0; i < plane; ++i) planar_[c * plane + i] = char(image.pixels[i * channels + c]);
    return make_datum(image.channels, image.height, image.width, planar_, entry.label);
  }

  /// The file as it is where nothing has to change; it is decoded all the same, to know that it can be.
  std::string encoded(const ImageEntry& entry, const std::string& content) {
    const std::string extension = extension_of(entry.file);
    const std::string type = options_.encode_type.empty() ? extension : options_.encode_type;
    if (type.empty())
      throw SampleError("its name has no extension that tells the format", "give an encode type, such as jpg");
    decoder_.decode(content, options_.gray ? ColorMode::kGray : ColorMode::kAsStored, image_);
    const bool keep = options_.resize_height == 0 && !options_.gray && same_type(type, extension);
    const Image& image = resized();
    shape_ = image.sample();
    return make_encoded_datum(keep ? content : encode_image(image, type), entry.label);
  }

  const ImageOptions& options_;
  ImageDecoder decoder_;
  Image image_, resized_;
  std::string planar_;
  Sample shape_;
};

/// What is wrong with the image, or "".
std::string try_to_make(ImageToDatum& maker, const ImageEntry& entry, std::string& datum) {
  try {
    datum = maker.make(entry);
    return "";
  } catch (const SampleError& error) {
    return error.what();
  } catch (const Error& error) {
    return error.mistakes()[0].message;
  }
}

}  // namespace

void check_image_options(const ImageOptions& options) {
  const bool both = (options.resize_height > 0) == (options.resize_width > 0);
  constexpr int kMostSide = 1 << 15;
  if (!both || options.resize_height < 0 || options.resize_height > kMostSide || options.resize_width > kMostSide)
    throw Error(ExitCode::kUsage, "resize_height and resize_width go together, from 1 to 32768");
}

void add_images(std::vector<ImageEntry> entries, const std::string& list, const ImageOptions& options,
                DatasetBuilder& builder) {
  if (options.shuffle) {
    RandomStream random(options.seed);
    for (size_t i = entries.size(); i > 1; --i) std::swap(entries[i - 1], entries[random.below(i)]);
  }
  ImageToDatum maker(options);
  std::string datum;
  for (size_t i = 0; i < entries.size(); ++i) {
    const ImageEntry& entry = entries[i];
    const std::string key = number_key(int64_t(i), 8) + "_" + entry.name;
    std::string wrong = try_to_make(maker, entry, datum);
    if (wrong.empty() && options.check_size && builder.differs_from_first(maker.shape()))
      wrong = "it is " + maker.shape().shape_str() + ", and the first image has another size";
    if (wrong.empty() && key.size() > LmdbWriter::kMostKeyBytes) wrong = "its name is too long for a key";
    if (wrong.empty())
      builder.add(key, datum, entry.label, maker.shape());
    else if (entry.line == 0)
      builder.reject(entry.file, 0, wrong);
    else
      builder.reject(list, entry.line, entry.file + ": " + wrong);
  }
}

}  // namespace cortado::data
