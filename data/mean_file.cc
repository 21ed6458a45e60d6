#include "data/mean_file.h"

#include "core/file.h"
#include "core/file_error.h"
#include "core/shape.h"
#include "data/datum_reader.h"
#include "proto/file_kind.h"
#include "proto/npy.h"

namespace cortado::data {

namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what, const std::string& hint) {
  throw file_error(ExitCode::kData, path, what, hint);
}

std::vector<int64_t> dims_of(const caffe::BlobProto& blob) {
  if (blob.has_shape()) return {blob.shape().dim().begin(), blob.shape().dim().end()};
  return {blob.num(), blob.channels(), blob.height(), blob.width()};
}

constexpr const char* kHint =
    "a mean file is channels x height x width, as `cortado mean` writes it: a .binaryproto or a .npy";

struct Elements {
  std::vector<int64_t> dims;
  std::vector<float> values;
};

Elements from_npy(const std::string& content, const std::string& path) {
  NpyArray array = parse_npy(content, path);
  return {array.shape.dims(), std::move(array.values)};
}

Elements from_blob(const std::string& content, const std::string& path) {
  caffe::BlobProto blob;
  if (content.empty() || !blob.ParseFromString(content)) fail(path, "this is not a mean file", kHint);
  Elements found{dims_of(blob), {blob.data().begin(), blob.data().end()}};
  if (blob.data_size() == 0) found.values.assign(blob.double_data().begin(), blob.double_data().end());
  return found;
}

/// Sums every element over samples of one size.
class MeanSum {
 public:
  void add(const Sample& sample) {
    if (count_++ == 0) start(sample);
    if (sample.channels != first_.channels || sample.height != first_.height || sample.width != first_.width)
      throw SampleError("the image is " + sample.shape_str() + ", but the first one is " + first_.shape_str(),
                        "a mean image needs images of one size; give mean_value instead, or resize when converting");
    if (sample.bytes != nullptr)
      add(sample.bytes, sample);
    else
      add(sample.floats, sample);
  }

  caffe::BlobProto mean() const {
    caffe::BlobProto blob;
    blob.set_num(1);
    blob.set_channels(first_.channels);
    blob.set_height(first_.height);
    blob.set_width(first_.width);
    for (const double sum : sums_) blob.add_data(float(sum / double(count_)));
    return blob;
  }

 private:
  void start(const Sample& sample) {
    first_ = sample;
    sums_.assign(size_t(sample.count()), 0.0);
  }

  template <typename T>
  void add(const T* x, const Sample& sample) {
    const size_t plane = size_t(sample.height) * size_t(sample.width), channels = size_t(sample.channels);
    const size_t pixel_step = sample.interleaved ? channels : 1, channel_step = sample.interleaved ? 1 : plane;
    for (size_t c = 0; c < channels; ++c)
      for (size_t i = 0; i < plane; ++i) sums_[c * plane + i] += double(x[c * channel_step + i * pixel_step]);
  }

  Sample first_;
  int64_t count_ = 0;
  std::vector<double> sums_;
};

}  // namespace

std::shared_ptr<const MeanImage> read_mean_file(const std::string& path) {
  const std::string content = read_file(path, int64_t(1) << 30);
  Elements found = kind_of_content(content) == FileKind::kNpy ? from_npy(content, path) : from_blob(content, path);
  std::vector<int64_t>& dims = found.dims;
  if (dims.size() == 4 && dims[0] == 1) dims.erase(dims.begin());
  const int64_t there = int64_t(found.values.size());
  bool sane = dims.size() == 3 && there > 0;
  for (const int64_t dim : dims) sane = sane && dim > 0 && dim <= there;
  if (!sane || checked_mul(checked_mul(dims[0], dims[1]), dims[2]) != there)
    fail(path, "its shape is " + Shape(dims).str() + ", and it holds " + std::to_string(there) + " elements", kHint);
  auto mean = std::make_shared<MeanImage>();
  mean->path = path;
  mean->channels = int(dims[0]);
  mean->height = int(dims[1]);
  mean->width = int(dims[2]);
  mean->values = std::move(found.values);
  return mean;
}

caffe::BlobProto compute_mean(const std::string& lmdb, const Progress& progress) {
  const std::shared_ptr<const Lmdb> database = Lmdb::open(lmdb);
  LmdbCursor cursor(database);
  DatumReader reader;
  MeanSum sum;
  for (int64_t i = 0; i < database->records(); ++i) {
    const Record record = cursor.next();
    try {
      int32_t label;
      sum.add(reader.read(record, label));
    } catch (const SampleError& error) {
      database->check_unchanged();
      throw_bad_record(*database, record.key, error);
    }
    if (progress && (i + 1) % 1000 == 0) progress(i + 1, database->records());
  }
  database->check_unchanged();
  if (progress) progress(database->records(), database->records());
  return sum.mean();
}

}  // namespace cortado::data
