// Code common to all weights files: their kinds, mapping, and the writer of snapshots.
#include "proto/weights/weights_file.h"

#include <filesystem>
#include <limits>

#include "core/error.h"
#include "core/files/crc.h"
#include "core/files/file.h"
#include "core/files/mapped_file.h"
#include "core/log.h"
#include "formats/wire.h"
#include "proto/weights/caffemodel_reader.h"
#include "proto/weights/file_kind.h"
#include "proto/weights/onnx_file.h"
#include "proto/weights/safetensors.h"
#include "proto/weights/weights_hdf5.h"
#include "proto/weights/weights_npz.h"
#include "proto/weights/weights_origin.h"

namespace cortado {

namespace {

/// Accepts unknown kinds: parsing reports errors with an offset.
void check_kind(const WireFile& file, FileKind wanted) {
  const FileKind kind = kind_of_content(file.content);
  if (kind == wanted || kind == FileKind::kUnknown) return;
  file.fail(describe(kind) + ", where " + describe(wanted) + " is expected", advice_for(kind));
}

void check_message_size(size_t bytes, const std::string& path) {
  constexpr size_t kMax = size_t(std::numeric_limits<int32_t>::max());
  if (bytes <= kMax) return;
  WireFile{path, {}}.fail(std::to_string(bytes) + " bytes; a file of this kind holds at most " + std::to_string(kMax),
                          "set snapshot_diff: false to halve the size of weights");
}

std::string serialized(const google::protobuf::MessageLite& message, const std::string& path) {
  check_message_size(message.ByteSizeLong(), path);
  return message.SerializePartialAsString();
}

/// Returns the origin to the caller, or else logs it.
void tell(const WeightsOrigin& found, const std::string& path, WeightsOrigin* origin) {
  if (origin)
    *origin = found;
  else
    log_info() << path << ": weights of " << found.str();
}

std::vector<LayerWeights> parse_with_origin(std::string_view content, const std::string& path, WeightsOrigin* origin) {
  WeightsOrigin found;
  std::vector<LayerWeights> layers = weights_from_bytes(content, path, &found);
  tell(found, path, origin);
  return layers;
}

/// Reads a pipe or another file that cannot be mapped; a folder is an error.
std::vector<LayerWeights> weights_from_pipe(const std::string& path, std::string* digest, WeightsOrigin* origin) {
  const std::string content = read_file(path);
  if (digest != nullptr) *digest = digest_of(content);
  return parse_with_origin(content, path, origin);
}

}  // namespace

std::vector<LayerWeights> weights_from_bytes(std::string_view content, const std::string& path, WeightsOrigin* origin) {
  const WireFile file{path, content, ExitCode::kSnapshot};
  WeightsOrigin found;
  const FileKind kind = kind_of_content(content);
  if (kind != FileKind::kSafetensors && kind != FileKind::kNpz) {
    check_weights_checksum(file);
    check_kind(file, FileKind::kWeights);
  }
  std::vector<LayerWeights> layers = kind == FileKind::kSafetensors ? read_safetensors(file, found)
                                     : kind == FileKind::kNpz       ? read_weights_npz(file, found)
                                                                    : read_caffemodel(file, found);
  if (origin) *origin = found;
  return layers;
}

std::vector<LayerWeights> read_weights(const std::string& path, std::string* digest, WeightsOrigin* origin) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return weights_from_pipe(path, digest, origin);
  if (is_hdf5_file(path)) {
    WeightsOrigin found;
    found.container = WeightsOrigin::kHdf5;
    tell(found, path, origin);
    return read_weights_hdf5(path, digest);
  }
  if (is_onnx_file(path)) {
    WeightsOrigin found;
    found.container = WeightsOrigin::kOnnx;
    tell(found, path, origin);
    return read_onnx_weights(path, digest);
  }
  const MappedFile file(path);
  const std::string_view content(reinterpret_cast<const char*>(file.data()), size_t(file.size()));
  if (digest != nullptr) *digest = digest_of(content);
  std::vector<LayerWeights> layers = parse_with_origin(content, path, origin);
  if (file.damaged()) WireFile{path, content, ExitCode::kIo}.fail("it changed while it was read");
  return layers;
}

WeightsWriter::WeightsWriter(const std::string& path, const std::string& net_name, int64_t bytes)
    : path_(path), file_(path, bytes) {
  append(checksum_field(0));
  caffe::NetParameter head;
  head.set_name(net_name);
  append(head.SerializeAsString());
}

/// Concatenated messages form one message, so each layer is written as a net with that layer alone.
void WeightsWriter::add(const caffe::LayerParameter& layer) {
  const std::string body = serialized(layer, path_);
  append(field_head(caffe::NetParameter::kLayerFieldNumber, body.size()));
  append(body);
}

void WeightsWriter::append(std::string_view piece) {
  bytes_ += int64_t(piece.size());
  check_message_size(size_t(bytes_), path_);
  file_.append(piece);
  digest_.add(piece);
  crc_ = crc32c_of(piece, crc_);
}

std::string WeightsWriter::commit() {
  append(checksum_field(crc_));
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
