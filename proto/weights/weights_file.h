#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/files/file.h"
#include "core/shape.h"
#include "proto/cortado.pb.h"
#include "proto/weights/weights_origin.h"

namespace cortado {

/// A tensor from a file, as 32-bit floats. Files of old have four axes whatever the layer: 1x1xNxK for a matrix.
struct BlobFile {
  Shape shape;
  std::vector<float> data;  ///< shape.count() of them
};

/// The weights of one layer. `type` is today's name for it, "Convolution"; "" where the file does not tell.
struct LayerWeights {
  std::string name, type;
  std::vector<BlobFile> blobs;
};

/// The layers of a file of weights that have any, in its order: a .caffemodel of BVLC, Intel or NVIDIA (whose 16-bit
/// blobs are widened), of 2013, 2014 or today, of any size; safetensors; HDF5; NumPy's .npz; or an ONNX model.
/// BatchNorm's blobs come in one order and meaning, whatever program wrote them (batch_norm_form.h). Memory stays
/// within a small multiple of the file's size, whatever the file says. `digest`, where wanted, is of the file's bytes;
/// `origin` is what the file turned out to be, which is logged otherwise. Throws Error(kSnapshot) where the file is
/// truncated, corrupt or of another kind, and Error(kIo) where it cannot be read.
std::vector<LayerWeights> read_weights(const std::string& path, std::string* digest = nullptr,
                                       WeightsOrigin* origin = nullptr);
std::vector<LayerWeights> weights_from_bytes(std::string_view content, const std::string& path,
                                             WeightsOrigin* origin = nullptr);

/// Writes a .caffemodel layer by layer, so that only one of them lies in memory twice, with a checksum behind them
/// (weights_checksum.h). Atomic: without commit() the path keeps its old content. Throws Error(kSnapshot) past the 2
/// GiB that the format can hold, Error(kIo) where it cannot be written.
class WeightsWriter {
 public:
  /// `bytes`: about how large the file will be; the space is reserved first.
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

/// The name and the layers of a net in memory, written in one call; the digest of the file's bytes.
std::string write_weights(const std::string& path, const caffe::NetParameter& net);

/// A .binaryproto with one blob: a mean image, an infogain matrix. Throws Error(kData) where the file is wrong.
BlobFile read_blob_file(const std::string& path);
void write_blob_file(const std::string& path, const BlobFile& blob);

/// The blob as a message, 32-bit and with its shape; and back, of any dialect, with the number of values checked
/// (Error(kSnapshot) about `what`).
void to_message(const BlobFile& blob, caffe::BlobProto& message);
BlobFile from_message(const caffe::BlobProto& message, const std::string& what);

/// Stands for a blob that a file leaves out because an earlier layer, which shares it, has it (HDF5 files of Caffe).
inline BlobFile absent_blob() { return {Shape{-1}, {}}; }
inline bool is_absent(const BlobFile& blob) { return blob.shape == Shape{-1}; }

}  // namespace cortado
