// Encodes messages by hand, so that a blob's values are written from memory without a copy.
#include "proto/weights/write_weights.h"

#include <limits>

#include "core/error.h"
#include "core/files/crc.h"
#include "core/files/file.h"
#include "formats/value_bytes.h"
#include "formats/wire.h"
#include "proto/weights/batch_norm_form.h"
#include "proto/weights/safetensors.h"
#include "proto/weights/weights_hdf5.h"
#include "proto/weights/weights_npz.h"
#include "proto/weights/weights_origin.h"

namespace cortado {

namespace {

constexpr uint32_t kNetName = 1, kNetLayer = 100, kName = 1, kType = 2, kWriteWeightsBlobs = 7,
                   kWriteWeightsBatchNorm = 139, kDim = 1, kWriteWeightsData = 5, kShape = 7, kRawType = 10,
                   kRawData = 12;

std::string bytes_field(uint32_t number, std::string_view content) {
  return field_head(number, content.size()) + std::string(content);
}

std::string packed_dims(const Shape& shape) {
  std::string dims;
  for (const int64_t dim : shape.dims()) put_varint(uint64_t(dim), dims);
  return dims;
}

class CaffemodelWriter {
 public:
  CaffemodelWriter(const WeightsTarget& target, const std::string& path)
      : target_(target), path_(path), width_(target.halves ? 2 : 4) {}

  std::string write(const std::string& net, const std::vector<LayerWeights>& layers) {
    uint64_t total = 2 * checksum_field(0).size() + bytes_field(kNetName, net).size();
    for (const LayerWeights& layer : layers) total += field_head(kNetLayer, size_of(layer)).size() + size_of(layer);
    if (total > uint64_t(std::numeric_limits<int32_t>::max()))
      throw Error(
          ExitCode::kSnapshot,
          path_ + ": " + std::to_string(total) + " bytes; programs that read .caffemodel files support at most 2 GiB",
          "use --format=safetensors, which has no such limit");
    AtomicFile file(path_, int64_t(total));
    Digest digest;
    uint32_t crc = 0;
    const auto append = [&](std::string_view piece) {
      file.append(piece);
      digest.add(piece);
      crc = crc32c_of(piece, crc);
    };
    append(checksum_field(0));
    send(net, layers, append);
    append(checksum_field(crc));
    file.commit();
    return digest.str();
  }

  void send(const std::string& net, const std::vector<LayerWeights>& layers, const SendPiece& append) {
    append(bytes_field(kNetName, net));
    for (const LayerWeights& layer : layers) {
      append(field_head(kNetLayer, size_of(layer)) + head_of(layer));
      for (const BlobFile& blob : layer.blobs) {
        append(field_head(kWriteWeightsBlobs, size_of(blob)) + head_of(blob));
        append_values(blob.data, target_.halves, append);
      }
    }
  }

 private:
  std::string head_of(const BlobFile& blob) const {
    const bool raw = target_.dialect == Dialect::kNvidia;
    const std::string dims = packed_dims(blob.shape);
    std::string head = bytes_field(kShape, dims.empty() ? dims : bytes_field(kDim, dims));
    if (raw) head += number_field(kRawType, target_.halves ? caffe::FLOAT16 : caffe::FLOAT);
    return head + field_head(raw ? kRawData : kWriteWeightsData, blob.data.size() * width_);
  }
  uint64_t size_of(const BlobFile& blob) const { return head_of(blob).size() + blob.data.size() * width_; }

  /// Marks a BatchNorm with a scale by the dialect's option.
  std::string head_of(const LayerWeights& layer) const {
    std::string head = bytes_field(kName, layer.name);
    if (!layer.type.empty()) head += bytes_field(kType, layer.type);
    if (layer.type != "BatchNorm" || layer.blobs.size() < 4) return head;
    const std::string intel =
        number_field(5, 1) + number_field(6, layer.blobs.size() == 5);  // use_weight_bias, bias_term
    const std::string nvidia = number_field(7, 1);                      // scale_bias
    return head + bytes_field(kWriteWeightsBatchNorm, target_.dialect == Dialect::kIntel ? intel : nvidia);
  }
  uint64_t size_of(const LayerWeights& layer) const {
    uint64_t size = head_of(layer).size();
    for (const BlobFile& blob : layer.blobs)
      size += field_head(kWriteWeightsBlobs, size_of(blob)).size() + size_of(blob);
    return size;
  }

  const WeightsTarget target_;
  const std::string path_;
  const uint64_t width_;
};

/// The layers with their BatchNorms in the form of `target`.
std::vector<LayerWeights> in_form_of(const WeightsTarget& target, std::vector<LayerWeights> layers) {
  std::vector<LayerWeights> out;
  for (LayerWeights& layer : layers) {
    const bool norm = layer.type == "BatchNorm" && layer.blobs.size() >= 3;
    if (norm && target.dialect == Dialect::kBvlc && layer.blobs.size() > 3) {
      for (LayerWeights& half : split_batch_norm(layer, layer.name + "_scale")) out.push_back(std::move(half));
      continue;
    }
    out.push_back(std::move(layer));
    if (!norm || target.dialect != Dialect::kNvidia) continue;
    LayerWeights& nvidia = out.back();
    divide_by_factor(nvidia);
    if (nvidia.blobs.size() != 4) continue;
    const BlobFile no_bias{nvidia.blobs[3].shape, std::vector<float>(nvidia.blobs[3].data.size(), 0.0f)};
    nvidia.blobs.push_back(no_bias);
  }
  return out;
}

}  // namespace

void send_weights(const std::string& net, const std::vector<LayerWeights>& layers, const SendPiece& send) {
  CaffemodelWriter({}, "").send(net, layers, send);
}

std::string write_weights_as(const WeightsTarget& target, const std::string& path, const std::string& net,
                             std::vector<LayerWeights> layers) {
  if (target.container == WeightsOrigin::kSafetensors) return write_safetensors(path, layers, net, target.halves);
  if (target.container == WeightsOrigin::kNpz)
    return write_weights_npz(path, in_form_of(target, std::move(layers)), target.halves);
  if (target.halves && target.dialect != Dialect::kNvidia)
    throw Error(ExitCode::kUsage, name_of(target.dialect) + "'s files cannot store 16-bit values",
                "use NVIDIA's dialect, safetensors or .npz");
  if (target.container == WeightsOrigin::kHdf5) return write_weights_hdf5(path, in_form_of(target, std::move(layers)));
  return CaffemodelWriter(target, path).write(net, in_form_of(target, std::move(layers)));
}

}  // namespace cortado
