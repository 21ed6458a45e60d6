#include "data/formats/mean_file.h"

#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <cstdint>

#include "core/error.h"
#include "core/files/file.h"
#include "core/shape.h"
#include "formats/npy.h"
#include "proto/cortado.pb.h"
#include "proto/weights/file_kind.h"

namespace cortado::data {

namespace {

[[noreturn]] void fail_on_mean_file(const std::string& path, const std::string& what, const std::string& hint) {
  throw file_error(ExitCode::kData, path, what, hint);
}

/// C3D's blobs have the length of a clip as a further field, which BlobProto lacks.
int64_t length_of(const caffe::BlobProto& blob) {
  const google::protobuf::UnknownFieldSet& fields = blob.GetReflection()->GetUnknownFields(blob);
  for (int i = 0; i < fields.field_count(); ++i)
    if (fields.field(i).type() == google::protobuf::UnknownField::TYPE_VARINT)
      return int64_t(std::min<uint64_t>(fields.field(i).varint(), INT32_MAX));
  return 0;
}

std::vector<int64_t> dims_of(const caffe::BlobProto& blob) {
  if (blob.has_shape()) return {blob.shape().dim().begin(), blob.shape().dim().end()};
  if (const int64_t length = length_of(blob); length > 0)
    return {blob.num(), blob.channels(), length, blob.height(), blob.width()};
  return {blob.num(), blob.channels(), blob.height(), blob.width()};
}

constexpr const char* kMeanFileHint =
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
  if (content.empty() || !blob.ParseFromString(content))
    fail_on_mean_file(path, "this is not a mean file", kMeanFileHint);
  Elements found{dims_of(blob), {blob.data().begin(), blob.data().end()}};
  if (blob.data_size() == 0) found.values.assign(blob.double_data().begin(), blob.double_data().end());
  return found;
}

}  // namespace

std::shared_ptr<const MeanImage> read_mean_file(const std::string& path) {
  const std::string content = read_file(path, int64_t(1) << 30);
  Elements found = kind_of_content(content) == FileKind::kNpy ? from_npy(content, path) : from_blob(content, path);
  std::vector<int64_t>& dims = found.dims;
  if (dims.size() > 3 && dims[0] == 1) dims.erase(dims.begin());
  const int64_t there = int64_t(found.values.size());
  bool sane = (dims.size() == 3 || dims.size() == 4) && there > 0;
  for (const int64_t dim : dims) sane = sane && dim > 0 && dim <= there;
  if (sane && dims.size() == 4) dims = {checked_mul(dims[0], dims[1]), dims[2], dims[3]};
  if (!sane || checked_mul(checked_mul(dims[0], dims[1]), dims[2]) != there)
    fail_on_mean_file(path, "its shape is " + Shape(dims).str() + ", but it has " + std::to_string(there) + " elements",
                      kMeanFileHint);
  auto mean = std::make_shared<MeanImage>();
  mean->path = path;
  mean->channels = int(dims[0]);
  mean->height = int(dims[1]);
  mean->width = int(dims[2]);
  mean->values = std::move(found.values);
  return mean;
}

}  // namespace cortado::data
