#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/files/file.h"
#include "core/shape.h"
#include "proto/cortado.pb.h"
#include "proto/weights/weights_origin.h"

namespace cortado {

/// A tensor from a file, as 32-bit floats. Old files have four axes for every layer: 1x1xNxK for a matrix.
struct BlobFile {
  Shape shape;
  std::vector<float> data;  ///< shape.count() values
};

/// The weights of one layer. `type` is its current name, "Convolution"; "" if the file does not store it.
struct LayerWeights {
  std::string name, type;
  std::vector<BlobFile> blobs;
};

/// The layers of a weights file that have any, in its order. Reads .caffemodel files of BVLC, Intel or NVIDIA (whose
/// 16-bit blobs are widened), of 2013, 2014 or the current format, of any size; safetensors; HDF5; NumPy's .npz; ONNX
/// models. BatchNorm's blobs are converted to one order (batch_norm_form.h). Memory is limited to a small multiple of
/// the file's size, whatever the file claims. `digest`, if not null, receives that of the file's bytes; `origin`, if
/// not null, the origin, which is logged otherwise. Throws Error(kSnapshot) if the file is truncated, corrupt or of
/// another kind, Error(kIo) if it cannot be read.
std::vector<LayerWeights> read_weights(const std::string& path, std::string* digest = nullptr,
                                       WeightsOrigin* origin = nullptr);
std::vector<LayerWeights> weights_from_bytes(std::string_view content, const std::string& path,
                                             WeightsOrigin* origin = nullptr);

/// Writes a .caffemodel layer by layer, so that only one of them is duplicated in memory, with a checksum at the end
/// (weights_checksum.h). Atomic: without commit() the path keeps its old content. Throws Error(kSnapshot) beyond the
/// format's 2 GiB, Error(kIo) if it cannot be written.
class WeightsWriter {
 public:
  /// `bytes`: approximate size of the file, which is reserved first.
  WeightsWriter(const std::string& path, const std::string& net_name, int64_t bytes);
  void add(const caffe::LayerParameter& layer);
  std::string commit();  ///< the digest of the file's bytes

 private:
  void append(std::string_view piece);

  std::string path_;
  AtomicFile file_;
  Digest digest_;
  uint32_t crc_ = 0;
  int64_t bytes_ = 0;
};

/// Writes the name and the layers of a net in memory in one call; returns the digest of the file's bytes.
std::string write_weights(const std::string& path, const caffe::NetParameter& net);

/// Reads a .binaryproto with one blob: a mean image, an infogain matrix. Throws Error(kData) if the file is invalid.
BlobFile read_blob_file(const std::string& path);
void write_blob_file(const std::string& path, const BlobFile& blob);

/// Conversion of the blob to a message, 32-bit and with its shape; and back, from any dialect. The number of values is
/// checked (Error(kSnapshot) about `what`).
void to_message(const BlobFile& blob, caffe::BlobProto& message);
BlobFile from_message(const caffe::BlobProto& message, const std::string& what);

/// The placeholder for a blob that a file omits because an earlier layer shares it (HDF5 files of Caffe).
inline BlobFile absent_blob() { return {Shape{-1}, {}}; }
inline bool is_absent(const BlobFile& blob) { return blob.shape == Shape{-1}; }

}  // namespace cortado
