#include "formats/wire.h"

#include <cstring>

#include "core/error.h"

namespace cortado {

void WireFile::fail(const std::string& message, const std::string& hint) const {
  throw file_error(code, path, message, hint);
}

void WireReader::corrupt() const {
  file_.fail("corrupt at byte " + std::to_string(file_.offset_of(at_)) + " of " + std::to_string(file_.content.size()));
}

/// If the outermost message is too short the file is truncated; if a nested one is, the file is corrupt.
void WireReader::need(uint64_t bytes) {
  if (bytes <= uint64_t(end_ - at_)) return;
  const size_t size = file_.content.size(), offset = file_.offset_of(at_);
  if (end_ != file_.content.data() + size || bytes > uint64_t(INT64_MAX) - offset) corrupt();
  file_.fail("truncated at byte " + std::to_string(size) + " of " + std::to_string(offset + bytes),
             "copy or download the file again");
}

uint64_t WireReader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    need(1);
    const auto byte = static_cast<unsigned char>(*at_++);
    if (shift < 64) value |= uint64_t(byte & 127) << shift;
    if (byte < 128) return value;
  }
  corrupt();
}

uint64_t WireReader::fixed(size_t bytes) {
  need(bytes);
  uint64_t value = 0;
  std::memcpy(&value, at_, bytes);  // little endian, like the CPU
  at_ += bytes;
  return value;
}

bool WireReader::next(WireField& field) {
  if (at_ == end_) return false;
  const uint64_t tag = varint();
  field.number = uint32_t(tag >> 3);
  if (field.number == 0 || tag > UINT32_MAX) corrupt();
  switch (tag & 7) {
    case WireField::kVarint:
      field.value = varint();
      break;
    case WireField::kFixed64:
      field.value = fixed(8);
      break;
    case WireField::kFixed32:
      field.value = fixed(4);
      break;
    case WireField::kBytes: {
      const uint64_t size = varint();
      need(size);
      field.bytes = {at_, size_t(size)};
      at_ += size;
      break;
    }
    default:
      corrupt();  // groups, which no Caffe message has
  }
  field.type = WireField::Type(tag & 7);
  return true;
}

uint64_t take_varint(const WireFile& file, std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 70 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    if (shift < 64) value |= uint64_t(byte & 127) << shift;
    if (byte < 128) return value;
  }
  file.fail("corrupt at byte " + std::to_string(file.offset_of(bytes.data())));
}

void put_varint(uint64_t value, std::string& out) {
  for (; value >= 128; value >>= 7) out += char(value % 128 + 128);
  out += char(value);
}

std::string number_field(uint32_t number, uint64_t value) {
  std::string field;
  put_varint(uint64_t(number) * 8 + WireField::kVarint, field);
  put_varint(value, field);
  return field;
}

void put_field(const WireField& field, uint32_t number, std::string& out) {
  put_varint(uint64_t(number) << 3 | field.type, out);
  switch (field.type) {
    case WireField::kVarint:
      return put_varint(field.value, out);
    case WireField::kBytes:
      put_varint(field.bytes.size(), out);
      out += field.bytes;
      return;
    case WireField::kFixed32:
    case WireField::kFixed64:
      out.append(reinterpret_cast<const char*>(&field.value), field.type == WireField::kFixed32 ? 4 : 8);
  }
}

std::string field_head(uint32_t number, uint64_t bytes) {
  std::string head;
  put_varint(uint64_t(number) * 8 + WireField::kBytes, head);
  put_varint(bytes, head);
  return head;
}

}  // namespace cortado
