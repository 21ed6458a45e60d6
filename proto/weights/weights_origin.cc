#include "proto/weights/weights_origin.h"

#include "core/files/crc.h"

namespace cortado {

std::string name_of(Dialect dialect) {
  switch (dialect) {
    case Dialect::kNvidia:
      return "NVIDIA";
    case Dialect::kIntel:
      return "Intel";
    case Dialect::kBvlc:
      break;
  }
  return "BVLC";
}

std::string WeightsOrigin::str() const {
  std::string text = container == kSafetensors ? "safetensors"
                     : container == kHdf5      ? "HDF5"
                     : container == kNpz       ? "NumPy arrays"
                     : container == kOnnx      ? "an ONNX model"
                                               : name_of(dialect) + " dialect";
  if (year > 0) text += ", layers of " + std::to_string(year);
  if (four_extents) text += ", blobs of four extents";
  if (halves) text += ", 16-bit values";
  if (doubles) text += ", 64-bit values";
  if (batch_norm_blobs > 3) text += ", BatchNorm of " + std::to_string(batch_norm_blobs) + " blobs";
  return text;
}

std::string checksum_field(uint32_t crc) {
  std::string field;
  put_varint(uint64_t(kChecksumField) << 3 | WireField::kFixed32, field);
  for (int byte = 0; byte < 4; ++byte) field += char(crc >> 8 * byte & 255);
  return field;
}

void check_weights_checksum(const WireFile& file) {
  const std::string first = checksum_field(0);
  if (!file.content.starts_with(first)) return;
  const char* hint = "copy it again from its source, or use an older snapshot";
  if (file.content.size() < 2 * first.size()) file.fail("truncated: its checksum is missing", hint);
  const std::string_view last = file.content.substr(file.content.size() - first.size());
  if (last.substr(0, first.size() - 4) != std::string_view(first).substr(0, first.size() - 4))
    file.fail("truncated or damaged: its checksum is missing", hint);
  if (last != checksum_field(crc32c_of(file.content.substr(0, file.content.size() - first.size()))))
    file.fail("damaged: its content does not match its checksum", hint);
}

}  // namespace cortado
