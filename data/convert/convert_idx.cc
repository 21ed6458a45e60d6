// IDX, the format of MNIST: 00 00 08 and the number of dimensions, then each dimension as a big-endian 32-bit number,
// then bytes.
#include <zlib.h>

#include <array>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/files/descriptor.h"
#include "data/convert/convert.h"
#include "data/convert/dataset_builder.h"
#include "data/formats/datum.h"

namespace cortado::data {

namespace {

[[noreturn]] void fail_on_idx(const std::string& path, const std::string& what, const std::string& hint = {}) {
  throw file_error(ExitCode::kData, path, what, hint);
}

/// An IDX file, plain or gzip, read sequentially.
class IdxFile {
 public:
  IdxFile(const std::string& path, const std::string& content) : path_(path), file_(nullptr, ::gzclose) {
    std::string why;
    Descriptor file = open_regular_file(path, why);
    if (!file.ok()) throw file_error(ExitCode::kIo, path, "cannot read: " + why);
    file_.reset(::gzdopen(file.fd(), "rb"));
    if (file_ == nullptr) throw std::bad_alloc();
    file.release();  // gzclose closes it
    ::gzbuffer(file_.get(), 1 << 17);
    std::array<uint8_t, 4> magic{};
    read(magic.data(), magic.size());
    if (magic[0] != 0 || magic[1] != 0 || magic[2] != 8 || magic[3] < 1 || magic[3] > 4)
      fail_on_idx(path, "this is not an IDX file of bytes with " + content);
    for (int axis = 0; axis < magic[3]; ++axis) {
      std::array<uint8_t, 4> extent{};
      read(extent.data(), extent.size());
      dims.push_back(int64_t(extent[0]) << 24 | extent[1] << 16 | extent[2] << 8 | extent[3]);
    }
  }

  void read(void* to, size_t bytes) {
    const int got = ::gzread(file_.get(), to, static_cast<unsigned>(bytes));
    if (got >= 0 && size_t(got) == bytes) return;
    check_unpacking();
    fail_on_idx(path_, "the file is truncated");
  }
  void expect_end() {  // gzip verifies the data only at the end
    char extra;
    if (::gzread(file_.get(), &extra, 1) > 0) fail_on_idx(path_, "the file has more data than its header states");
    check_unpacking();
  }

  std::vector<int64_t> dims;

 private:
  void check_unpacking() {
    int code = Z_OK;
    std::string reason = ::gzerror(file_.get(), &code);  // "<fd:3>: unexpected end of file"
    if (const size_t end = reason.find(">: "); reason.starts_with('<') && end != std::string::npos)
      reason.erase(0, end + 3);
    if (code != Z_OK && code != Z_STREAM_END) fail_on_idx(path_, "cannot be decompressed: " + reason);
  }

  std::string path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
};

/// Channels, height and width of the image file.
Sample shape_of_idx(const IdxFile& file, const std::string& path) {
  const size_t axes = file.dims.size();
  if (axes < 3)
    fail_on_idx(path,
                "this IDX file has " + std::to_string(axes) + (axes == 1 ? " axis" : " axes") +
                    "; images have 3 (number, height, width) or 4",
                "name the image file first, then the label file");
  constexpr int64_t kMax = 1 << 14;
  const int64_t c = axes == 4 ? file.dims[1] : 1, h = file.dims[axes - 2], w = file.dims[axes - 1];
  if (c < 1 || h < 1 || w < 1 || c > kMax || h > kMax || w > kMax || c * h * w > int64_t(1) << 28)
    fail_on_idx(path, "its images are " + std::to_string(c) + "x" + std::to_string(h) + "x" + std::to_string(w));
  return {int(c), int(h), int(w), nullptr, nullptr, false};
}

}  // namespace

ConvertReport convert_idx(const IdxOptions& options) {
  IdxFile images(options.images, "images"), labels(options.labels, "labels");
  const Sample shape = shape_of_idx(images, options.images);
  if (labels.dims.size() != 1)
    fail_on_idx(options.labels, "this IDX file has " + std::to_string(labels.dims.size()) + " axes; labels have 1",
                "name the image file first, then the label file");
  const int64_t n = images.dims[0];
  if (labels.dims[0] != n)
    fail_on_idx(options.labels,
                "there are " + std::to_string(labels.dims[0]) + " labels for " + std::to_string(n) + " images");
  DatasetBuilder builder(options, n);
  std::string pixels(size_t(shape.count()), '\0');
  for (int64_t i = 0; i < n; ++i) {
    uint8_t label = 0;
    images.read(pixels.data(), pixels.size());
    labels.read(&label, 1);
    builder.add(number_key(i, 8), make_datum(shape.channels, shape.height, shape.width, pixels, label), label, shape);
  }
  images.expect_end();
  labels.expect_end();
  return builder.finish();
}

}  // namespace cortado::data
