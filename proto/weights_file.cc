// Reads weights straight from the bytes, because a generated parser builds every message that a file claims to have,
// and a file of zeros and ones can claim a hundred times its own size. Only what weights need is looked at: names,
// types, blobs.
#include "proto/weights_file.h"

#include <limits>

#include "core/error.h"
#include "core/file.h"
#include "proto/blob_reader.h"
#include "proto/file_kind.h"
#include "proto/weights_hdf5.h"
#include "proto/wire.h"

namespace cortado {

namespace {

constexpr size_t kMostLayers = 100'000, kMostBlobs = 1'000'000;

/// Where the three generations of layers keep what weights need.
struct LayerFields {
  uint32_t name, type, blobs;
  uint32_t inner = 0;  // of 2014 around 2013: the layer inside
};
constexpr LayerFields kToday{1, 2, 7}, k2014{4, 5, 6, 1}, k2013{1, 2, 50};

class WeightsReader {
 public:
  explicit WeightsReader(const WireFile& file) : file_(file) {}

  std::vector<LayerWeights> read() {
    WireReader reader(file_, file_.content);
    for (WireField field; reader.next(field);) {
      if (field.is(100, WireField::kBytes)) add(field.bytes, kToday);
      if (field.is(2, WireField::kBytes)) add(field.bytes, k2014);
    }
    return std::move(layers_);
  }

 private:
  void add(std::string_view message, const LayerFields& fields) {
    LayerWeights layer;
    read_names(message, fields, layer);  // first, so that errors in blobs can name the layer
    read_blobs(message, fields, layer);
    if (layer.blobs.empty()) return;
    if (layers_.size() == kMostLayers) file_.fail("more than " + std::to_string(kMostLayers) + " layers");
    layers_.push_back(std::move(layer));
  }

  void read_names(std::string_view message, const LayerFields& fields, LayerWeights& layer) {
    WireReader reader(file_, message);
    for (WireField field; reader.next(field);) {
      if (field.is(fields.name, WireField::kBytes)) layer.name = field.bytes;
      if (field.is(fields.type, WireField::kBytes)) layer.type = field.bytes;
      if (field.is(fields.type, WireField::kVarint)) layer.type = std::to_string(field.value);
      if (fields.inner && field.is(fields.inner, WireField::kBytes)) read_names(field.bytes, k2013, layer);
    }
  }

  void read_blobs(std::string_view message, const LayerFields& fields, LayerWeights& layer) {
    WireReader reader(file_, message);
    for (WireField field; reader.next(field);) {
      if (fields.inner && field.is(fields.inner, WireField::kBytes)) read_blobs(field.bytes, k2013, layer);
      if (!field.is(fields.blobs, WireField::kBytes)) continue;
      if (++blobs_ > kMostBlobs) file_.fail("more than " + std::to_string(kMostBlobs) + " blobs");
      const std::string what = "layer '" + layer.name.substr(0, 100) + "', blob " + std::to_string(layer.blobs.size());
      layer.blobs.push_back(read_blob(file_, field.bytes, what));
    }
  }

  const WireFile& file_;
  std::vector<LayerWeights> layers_;
  size_t blobs_ = 0;
};

/// An unknown kind is read on: what is wrong with it then has a place.
void check_kind(const WireFile& file, FileKind wanted) {
  const FileKind kind = kind_of_content(file.content);
  if (kind == wanted || kind == FileKind::kUnknown) return;
  file.fail(describe(kind) + ", where " + describe(wanted) + " is expected", advice_for(kind));
}

void check_size(size_t bytes, const std::string& path) {
  constexpr size_t kMost = size_t(std::numeric_limits<int32_t>::max());
  if (bytes > kMost)
    throw Error(ExitCode::kSnapshot,
                Mistake{{path, 0, 0, {}},
                        std::to_string(bytes) + " bytes; a file of this kind holds at most " + std::to_string(kMost),
                        "snapshot_diff: false halves the size of weights",
                        {}});
}

std::string serialized(const google::protobuf::MessageLite& message, const std::string& path) {
  check_size(message.ByteSizeLong(), path);
  return message.SerializePartialAsString();
}

}  // namespace

std::vector<LayerWeights> weights_from_bytes(std::string_view content, const std::string& path) {
  const WireFile file{path, content, ExitCode::kSnapshot};
  check_kind(file, FileKind::kWeights);
  return WeightsReader(file).read();
}

std::vector<LayerWeights> read_weights(const std::string& path, std::string* digest) {
  if (is_hdf5_file(path)) return read_weights_hdf5(path, digest);
  const std::string content = read_file(path);
  if (digest != nullptr) *digest = digest_of(content);
  return weights_from_bytes(content, path);
}

WeightsWriter::WeightsWriter(const std::string& path, const std::string& net_name, int64_t bytes)
    : path_(path), file_(path, bytes) {
  caffe::NetParameter head;
  head.set_name(net_name);
  append(head.SerializeAsString());
}

/// A message is the concatenation of its parts: each layer is written as a net of that layer alone.
void WeightsWriter::add(const caffe::LayerParameter& layer) {
  const std::string body = serialized(layer, path_);
  append(field_head(caffe::NetParameter::kLayerFieldNumber, body.size()));
  append(body);
}

void WeightsWriter::append(std::string_view piece) {
  bytes_ += int64_t(piece.size());
  check_size(size_t(bytes_), path_);
  file_.append(piece);
  digest_.add(piece);
}

std::string WeightsWriter::commit() {
  file_.commit();
  return digest_.str();
}

std::string write_weights(const std::string& path, const caffe::NetParameter& net) {
  WeightsWriter writer(path, net.name(), int64_t(net.ByteSizeLong()));
  for (const caffe::LayerParameter& layer : net.layer()) writer.add(layer);
  return writer.commit();
}

BlobFile read_blob_file(const std::string& path) {
  const std::string content = read_file(path);
  const WireFile file{path, content, ExitCode::kData};
  check_kind(file, FileKind::kBlob);
  return read_blob(file, content, "the blob");
}

void write_blob_file(const std::string& path, const BlobFile& blob) {
  caffe::BlobProto message;
  to_message(blob, message);
  write_file_atomically(path, serialized(message, path));
}

void to_message(const BlobFile& blob, caffe::BlobProto& message) {
  message.Clear();
  for (int64_t dim : blob.shape.dims()) message.mutable_shape()->add_dim(dim);
  if (blob.shape.axes() == 0) message.mutable_shape();
  message.mutable_data()->Add(blob.data.begin(), blob.data.end());
}

BlobFile from_message(const caffe::BlobProto& message, const std::string& what) {
  const std::string content = message.SerializeAsString();
  return read_blob({what, content, ExitCode::kSnapshot}, content, "the blob");
}

}  // namespace cortado
