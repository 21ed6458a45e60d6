#include "proto/weights/weights_checksum.h"

#include "core/files/crc.h"

namespace cortado {

std::string checksum_field(uint32_t crc) {
  std::string field;
  put_varint(uint64_t(kChecksumField) << 3 | WireField::kFixed32, field);
  for (int byte = 0; byte < 4; ++byte) field += char(crc >> 8 * byte & 255);
  return field;
}

void check_weights_checksum(const WireFile& file) {
  const std::string first = checksum_field(0);
  if (!file.content.starts_with(first)) return;
  const char* hint = "copy it again from where it came from; an older snapshot may be whole";
  if (file.content.size() < 2 * first.size()) file.fail("truncated: its checksum is missing", hint);
  const std::string_view last = file.content.substr(file.content.size() - first.size());
  if (last.substr(0, first.size() - 4) != std::string_view(first).substr(0, first.size() - 4))
    file.fail("truncated or damaged: its checksum is missing", hint);
  if (last != checksum_field(crc32c_of(file.content.substr(0, file.content.size() - first.size()))))
    file.fail("damaged: its content does not match its checksum", hint);
}

}  // namespace cortado
