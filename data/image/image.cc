#include "data/image/image.h"

#include <cctype>

#include "core/files/file.h"
#include "data/image/color.h"
#include "data/image/image_module.h"
#include "data/image/jpeg.h"
#include "data/image/orientation.h"
#include "data/image/png.h"

namespace cortado::data {

namespace {

/// Reads "P5"/"P6", width, height and the maximum value, with comments in between, up to the first pixel.
class PnmHeader {
 public:
  explicit PnmHeader(std::string_view file) : rest_(file) {
    channels = file[1] == '5' ? 1 : 3;
    rest_.remove_prefix(2);
    width = number();
    height = number();
    most = number();
    if (rest_.empty() || most != 255) throw SampleError("the PNM's maximum value is not 255");
    rest_.remove_prefix(1);
    if (width < 1 || height < 1 || int64_t(width) * height > kMaxPixels)
      throw SampleError("the PNM is " + std::to_string(height) + "x" + std::to_string(width));
  }
  std::string_view pixels() const { return rest_; }
  int channels, width, height, most;

 private:
  int number() {
    while (!rest_.empty() && (std::isspace(static_cast<unsigned char>(rest_[0])) || rest_[0] == '#')) {
      const size_t end = rest_[0] == '#' ? rest_.find('\n') : 0;
      rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    }
    int value = 0, digits = 0;
    for (; !rest_.empty() && std::isdigit(static_cast<unsigned char>(rest_[0])) && digits < 8;
         ++digits, rest_.remove_prefix(1))
      value = value * 10 + (rest_[0] - '0');
    if (digits == 0) throw SampleError("the PNM's header is damaged");
    return value;
  }

  std::string_view rest_;
};

bool is_pnm(std::string_view file) { return file.size() > 2 && file[0] == 'P' && (file[1] == '5' || file[1] == '6'); }

void decode_pnm(std::string_view file, ColorMode mode, Image& out) {
  const PnmHeader header(file);
  if (int64_t(header.pixels().size()) < int64_t(header.channels) * header.height * header.width)
    throw SampleError("the PNM is truncated");
  out.resize(header.channels, header.height, header.width);
  const auto* in = reinterpret_cast<const uint8_t*>(header.pixels().data());
  for (size_t i = 0; i < out.pixels.size(); ++i)  // swap red and blue
    out.pixels[i] = in[header.channels == 3 ? i + 2 - 2 * (i % 3) : i];
  convert_color(out, mode);
}

}  // namespace

void Image::resize(int c, int h, int w) {
  channels = c;
  height = h;
  width = w;
  pixels.resize(size_t(c) * size_t(h) * size_t(w));
}

ImageDecoder::ImageDecoder() = default;
ImageDecoder::~ImageDecoder() = default;
ImageDecoder::ImageDecoder(ImageDecoder&&) noexcept = default;
ImageDecoder& ImageDecoder::operator=(ImageDecoder&&) noexcept = default;

void ImageDecoder::decode(std::string_view file, ColorMode mode, Image& out) {
  if (file.empty()) throw SampleError("the image is empty");
  if (is_pnm(file)) return decode_pnm(file, mode, out);
  const int orientation = exif_orientation(file);
  Image& stored = orientation == 1 ? out : stored_;
  if (is_jpeg(file))
    jpeg().decode(file, mode, stored);
  else if (is_png(file))
    decode_png(file, mode, stored);
  else
    decode_with_module(file, mode, stored);
  if (orientation != 1) turn_upright(stored_, orientation, out);
}

ImageDecoder::Jpeg& ImageDecoder::jpeg() {
  if (!jpeg_) jpeg_ = std::make_unique<Jpeg>();
  return *jpeg_;
}

Sample ImageDecoder::open(std::string_view file, ColorMode mode) {
  Sample sample;
  reads_jpeg_ = is_jpeg(file) && exif_orientation(file) == 1 && jpeg().open(file, mode, sample);
  if (reads_jpeg_) return sample;
  decode(file, mode, whole_);
  sample = whole_.sample();
  sample.bytes = nullptr;
  return sample;
}

SamplePart ImageDecoder::read(const SourceWindow& window, const PixelPlace& place) {
  if (reads_jpeg_) return jpeg_->read(window, place);
  const SourcePart part{window.top, window.left, window.height, window.width};
  return copy_part(whole_.sample(), part, place(size_t(whole_.channels) * size_t(part.height) * size_t(part.width)));
}

Image read_image(const std::string& path, ColorMode mode) {
  Image image;
  ImageDecoder().decode(read_file(path, kMaxImageFileBytes), mode, image);
  return image;
}

std::string encode_image(const Image& image, const std::string& type) {
  if (type == "jpg" || type == "jpeg") return encode_jpeg(image, 95);
  return encode_with_module(image, type);
}

}  // namespace cortado::data
