#include "data/convert/convert_images.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/files/file.h"
#include "core/rng.h"
#include "core/text/text.h"
#include "data/formats/datum.h"
#include "data/formats/labels.h"
#include "data/image/color.h"
#include "data/image/image.h"
#include "data/sources/image_source.h"

namespace cortado::data {

namespace {

std::string extension_of(const std::string& path) {
  const std::string name = file_name_of(path);
  const size_t dot = name.rfind('.');
  return dot == std::string::npos ? "" : lower_case(name.substr(dot + 1));
}

bool same_type(const std::string& a, const std::string& b) {
  const auto is_jpeg = [](const std::string& type) { return type == "jpg" || type == "jpeg"; };
  return a == b || (is_jpeg(a) && is_jpeg(b));
}

/// Creates one record's value. Reuses its buffers.
class ImageToDatum {
 public:
  explicit ImageToDatum(const ImageOptions& options) : options_(options) {}

  /// Throws SampleError or Error(kIo). Afterwards shape() is the sample's.
  std::string make(const ImageEntry& entry) {
    if (entry.archived && entry.archived->member.size > kMaxImageFileBytes) throw SampleError(kImageFileTooLarge);
    const std::string content = entry.archived ? entry.archived->archives->read(entry.file, entry.archived->member)
                                               : read_file(entry.file, kMaxImageFileBytes);
    const std::string datum = options_.encoded ? encoded(entry, content) : raw(entry, content);
    return entry.annotated ? make_annotated_datum(datum, entry.objects) : datum;
  }
  const Sample& shape() const { return shape_; }
  Sample decoded() const { return image_.sample(); }  ///< as stored in the file

 private:
  void decode(const ImageEntry& entry, const std::string& content, ColorMode mode) {
    decoder_.decode(content, options_.gray ? ColorMode::kGray : mode, image_);
    const ImageExtent wanted = entry.annotated_extent, found{image_.height, image_.width};
    if (wanted == ImageExtent{} || wanted == found) return;
    const auto text = [](ImageExtent size) { return std::to_string(size.width) + "x" + std::to_string(size.height); };
    throw SampleError("its annotation is of an image of " + text(wanted) + " pixels (width x height), and it has " +
                      text(found));
  }

  Image& resized() {
    if (options_.short_side > 0) bring_to_size({.short_side = options_.short_side}, image_, resized_);
    if (options_.resize_height == 0) return image_;
    resize_bilinear(image_, options_.resize_height, options_.resize_width, resized_);
    return resized_;
  }

  std::string raw(const ImageEntry& entry, const std::string& content) {
    decode(entry, content, ColorMode::kColor);
    const Image& image = resized();
    shape_ = image.sample();
    const size_t channels = size_t(image.channels), plane = image.pixels.size() / channels;
    planar_.resize(image.pixels.size());
    for (size_t c = 0; c < channels; ++c)
      for (size_t i = 0; i < plane; ++i) planar_[c * plane + i] = char(image.pixels[i * channels + c]);
    return make_datum(image.channels, image.height, image.width, planar_, entry.label);
  }

  /// Returns the unchanged file if the options allow it, but decodes it to verify it.
  std::string encoded(const ImageEntry& entry, const std::string& content) {
    const std::string extension = extension_of(entry.archived ? entry.archived->member.name : entry.file);
    const std::string type = options_.encode_type.empty() ? extension : options_.encode_type;
    if (type.empty()) throw SampleError("its name has no extension for the format", "set an encode type, such as jpg");
    decode(entry, content, ColorMode::kAsStored);
    const std::string stored = image_.sample().shape_str();
    Image& image = resized();
    const bool resizes = options_.resize_height > 0 || options_.short_side > 0;
    const bool keep = !options_.gray && same_type(type, extension) && image.sample().shape_str() == stored &&
                      (!resizes || (options_.resize_height == 0 && image.channels == 3));
    if (!keep) convert_color(image, options_.gray ? ColorMode::kGray : ColorMode::kColor);
    shape_ = image.sample();
    return make_encoded_datum(keep ? content : encode_image(image, type), entry.label);
  }

  const ImageOptions& options_;
  ImageDecoder decoder_;
  Image image_, resized_;
  std::string planar_;
  Sample shape_;
};

/// Creates records and determines the error of each unusable image.
class Judge {
 public:
  explicit Judge(const ImageOptions& options) : options_(options), maker_(options) {}

  /// Returns the error of the image, or ""; then datum() and shape() are those of its record.
  std::string try_to_make(const ImageEntry& entry, const std::string& key) {
    try {
      datum_ = maker_.make(entry);
    } catch (const SampleError& error) {
      return error.what();
    } catch (const Error& error) {
      return error.mistakes()[0].message;
    }
    const Sample& shape = maker_.shape();
    if (options_.check_size && any_ && shape.shape_str() != first_.shape_str())
      return "it is " + shape.shape_str() + ", but the first image has another size";
    if (key.size() > LmdbWriter::kMaxKeyBytes) return "its name is too long for a key";
    if (!any_) first_ = shape;
    any_ = true;
    return "";
  }
  const std::string& datum() const { return datum_; }
  const Sample& shape() const { return maker_.shape(); }
  Sample decoded() const { return maker_.decoded(); }

 private:
  const ImageOptions& options_;
  ImageToDatum maker_;
  std::string datum_;
  Sample first_;
  bool any_ = false;
};

std::string key_of(size_t place, const ImageEntry& entry) { return number_key(int64_t(place), 8) + "_" + entry.name; }

void reject(DatasetBuilder& builder, const FoundImages& found, const ImageEntry& entry, const std::string& wrong) {
  if (entry.archived) return builder.reject(entry.file, 0, wrong, entry.name);
  if (entry.line == 0) return builder.reject(entry.file, 0, wrong);
  builder.reject(found.list, entry.line, wrong, entry.file);
}

void shuffle(std::vector<ImageEntry>& entries, uint64_t seed) {
  RandomStream random(seed);
  for (size_t i = entries.size(); i > 1; --i) std::swap(entries[i - 1], entries[random.below(i)]);
}

}  // namespace

void check_image_options(const ImageOptions& options) {
  const bool both = (options.resize_height > 0) == (options.resize_width > 0);
  constexpr int kMaxSide = 1 << 15;
  if (!both || options.resize_height < 0 || options.resize_height > kMaxSide || options.resize_width > kMaxSide)
    throw Error(ExitCode::kUsage, "resize_height and resize_width must both be set, from 1 to 32768");
  if (options.short_side < 0 || options.short_side > kMaxSide || (options.short_side > 0 && options.resize_height > 0))
    throw Error(ExitCode::kUsage, "short_side must be from 1 to 32768, without resize_height and resize_width");
  if (!(options.test_share >= 0 && options.test_share < 1))
    throw Error(ExitCode::kUsage, "the fraction of the test set must be between 0 and 1",
                "use for example 0.2 for a fifth of each class");
}

bool is_no_sample(std::string_view name) {
  const std::string lower = lower_case(name);
  return lower.starts_with('.') || lower == "thumbs.db" || lower == "desktop.ini" || lower == "__macosx";
}

void leave_out_bad(FoundImages& found, const ImageOptions& options, DatasetBuilder& builder) {
  Judge judge(options);
  std::vector<ImageEntry> good;
  for (size_t i = 0; i < found.entries.size(); ++i) {
    ImageEntry& entry = found.entries[i];
    if (options.progress && i % 16 == 0) options.progress(int64_t(i), int64_t(found.entries.size()));
    const std::string wrong = judge.try_to_make(entry, key_of(i, entry));
    if (wrong.empty())
      good.push_back(std::move(entry));
    else
      reject(builder, found, entry, wrong);
  }
  if (options.progress) options.progress(int64_t(found.entries.size()), int64_t(found.entries.size()));
  found.entries = std::move(good);
}

OddImages add_images(FoundImages found, const ImageOptions& options, DatasetBuilder& builder, DatasetBuilder* tests) {
  for (const Rejected& line : found.bad_lines) builder.reject(line.file, line.line, line.reason);
  if (options.shuffle) shuffle(found.entries, options.seed);
  Judge judge(options);
  OddImageFinder odd;
  for (size_t i = 0; i < found.entries.size(); ++i) {
    const ImageEntry& entry = found.entries[i];
    const std::string key = key_of(i, entry), wrong = judge.try_to_make(entry, key);
    DatasetBuilder& its = entry.tests ? *tests : builder;
    if (!wrong.empty()) {
      reject(builder, found, entry, wrong);
      continue;
    }
    its.add(key, judge.datum(), entry.label, judge.shape());
    odd.look(judge.decoded(), entry.name, entry.label, entry.tests);
  }
  return odd.take();
}

ConvertReport convert_images(FoundImages found, const ImageOptions& options) {
  if (options.test_share > 0 || found.parted) return convert_in_two(std::move(found), options);
  const std::vector<std::string> classes = found.classes;
  const int64_t skipped = found.skipped;
  const FolderNotes folders = found.folders;
  DatasetBuilder builder(options, int64_t(found.entries.size() + found.bad_lines.size()),
                         {labels_text(classes), found.label_map});
  const OddImages odd = add_images(std::move(found), options, builder);
  ConvertReport report = builder.finish();
  report.odd = odd;
  report.classes = classes;
  report.skipped = skipped;
  report.folders = folders;
  return report;
}

}  // namespace cortado::data
