#include "formats/mat_file.h"

#include <cstring>

#include "core/error.h"
#include "core/files/file.h"

namespace cortado {

namespace {

constexpr size_t kMatHeader = 128, kMatVersion = 124, kMatAlignment = 8;
constexpr uint16_t kMatLevel5 = 0x0100;
constexpr uint32_t kMatSingle = 7, kMatMatrix = 14, kMatCompressed = 15;  // types of elements
constexpr uint32_t kMatSingleClass = 7, kMatFirstNumeric = 6, kMatLastNumeric = 15;
constexpr uint32_t kMatComplex = 0x0800;
constexpr size_t kMatMaxDims = 32;

[[noreturn]] void fail_mat(const std::string& name, const std::string& what) {
  throw file_error(ExitCode::kData, name, what, "save it in MATLAB with save(..., '-v6')");
}

template <typename T>
T mat_number(std::string_view bytes, size_t at = 0) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

struct MatElement {
  uint32_t type;
  std::string_view bytes;
};

/// Takes the first element off `rest`, which is not empty.
MatElement take_element(std::string_view& rest, const std::string& name) {
  if (rest.size() < kMatAlignment) fail_mat(name, "truncated between elements");
  const uint32_t type = mat_number<uint32_t>(rest);
  if (type >> 16) {  // small: at most 4 bytes, next to the type
    if (type >> 16 > 4) fail_mat(name, "an element is damaged");
    const MatElement element{type & 0xFFFF, rest.substr(4, type >> 16)};
    rest.remove_prefix(kMatAlignment);
    return element;
  }
  const size_t bytes = mat_number<uint32_t>(rest, 4);
  rest.remove_prefix(kMatAlignment);
  if (bytes > rest.size()) fail_mat(name, "truncated in an element of " + std::to_string(bytes) + " bytes");
  const MatElement element{type, rest.substr(0, bytes)};
  const size_t padded = type == kMatCompressed ? bytes : (bytes + kMatAlignment - 1) / kMatAlignment * kMatAlignment;
  rest.remove_prefix(std::min(padded, rest.size()));
  return element;
}

template <typename T>
bool convert_mat(std::string_view bytes, std::vector<float>& values) {
  if (bytes.size() % sizeof(T) != 0) return false;
  values.resize(bytes.size() / sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) values[i] = float(mat_number<T>(bytes, i * sizeof(T)));
  return true;
}

/// False for a number of bytes that does not fit the type, or another type.
bool convert_mat(const MatElement& element, std::vector<float>& values) {
  switch (element.type) {
    case 1:
      return convert_mat<int8_t>(element.bytes, values);
    case 2:
      return convert_mat<uint8_t>(element.bytes, values);
    case 3:
      return convert_mat<int16_t>(element.bytes, values);
    case 4:
      return convert_mat<uint16_t>(element.bytes, values);
    case 5:
      return convert_mat<int32_t>(element.bytes, values);
    case 6:
      return convert_mat<uint32_t>(element.bytes, values);
    case kMatSingle:
      return convert_mat<float>(element.bytes, values);
    case 9:
      return convert_mat<double>(element.bytes, values);
    case 12:
      return convert_mat<int64_t>(element.bytes, values);
    case 13:
      return convert_mat<uint64_t>(element.bytes, values);
    default:
      return false;
  }
}

std::vector<int64_t> mat_dims(const MatElement& element, const std::string& name) {
  std::vector<int64_t> dims;
  for (size_t at = 0; at + 4 <= element.bytes.size() && dims.size() <= kMatMaxDims; at += 4)
    dims.push_back(mat_number<int32_t>(element.bytes, at));
  bool valid = element.type == 5 && dims.size() >= 2 && dims.size() <= kMatMaxDims;
  for (const int64_t dim : dims) valid = valid && dim >= 0;
  if (!valid) fail_mat(name, "the dimensions of a variable are damaged");
  return dims;
}

bool fits_dims(const MatArray& array) {
  size_t count = 1;
  for (const int64_t dim : array.dims) {
    if (dim == 0) return array.values.empty();
    if (count > array.values.size() / size_t(dim)) return false;
    count *= size_t(dim);
  }
  return count == array.values.size();
}

/// The variable in a matrix element, if it has this name.
bool read_variable(std::string_view rest, const std::string& variable, const std::string& name, MatArray& array) {
  if (rest.empty()) return false;
  const MatElement flags = take_element(rest, name);
  if (flags.bytes.size() < 4 || rest.empty()) fail_mat(name, "the flags of a variable are damaged");
  const uint32_t bits = mat_number<uint32_t>(flags.bytes), of_class = bits & 0xFF;
  const MatElement dims = take_element(rest, name);
  if (rest.empty()) fail_mat(name, "a variable has no name");
  if (take_element(rest, name).bytes != variable) return false;
  if (of_class < kMatFirstNumeric || of_class > kMatLastNumeric || (bits & kMatComplex))
    fail_mat(name, "'" + variable + "' is not an array of real numbers");
  array.dims = mat_dims(dims, name);
  if (rest.empty()) fail_mat(name, "'" + variable + "' has no values");
  if (!convert_mat(take_element(rest, name), array.values) || !fits_dims(array))
    fail_mat(name, "the values of '" + variable + "' do not match its dimensions");
  return true;
}

void put_words(std::string& out, const std::vector<uint32_t>& words) {
  out.append(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint32_t));
}

void pad_element(std::string& out) { out.append((kMatAlignment - out.size() % kMatAlignment) % kMatAlignment, '\0'); }

}  // namespace

MatArray parse_mat(std::string_view content, const std::string& variable, const std::string& name) {
  if (content.size() < kMatHeader) fail_mat(name, "too short for a MAT-file");
  const std::string_view order = content.substr(kMatVersion + 2, 2);
  if (order == "MI") fail_mat(name, "a big-endian MAT-file, which is not supported");
  if (order != "IM" || mat_number<uint16_t>(content, kMatVersion) != kMatLevel5)
    fail_mat(name, "not a MAT-file of level 5");
  bool compressed = false;
  MatArray array;
  for (std::string_view rest = content.substr(kMatHeader); !rest.empty();) {
    const MatElement element = take_element(rest, name);
    compressed = compressed || element.type == kMatCompressed;
    if (element.type == kMatMatrix && read_variable(element.bytes, variable, name, array)) return array;
  }
  fail_mat(name, compressed ? "its variables are compressed, which is not supported"
                            : "it has no variable '" + variable + "'");
}

MatArray read_mat(const std::string& path, const std::string& variable) {
  return parse_mat(read_file(path, int64_t(1) << 33), variable, path);
}

void write_mat(const std::string& path, const std::string& variable, const std::vector<int64_t>& dims,
               const float* values) {
  uint64_t bytes = sizeof(float);
  std::string body;
  put_words(body, {6, 8, kMatSingleClass, 0, 5, uint32_t(4 * dims.size())});
  for (const int64_t dim : dims) {
    bytes *= uint64_t(dim);
    put_words(body, {uint32_t(dim)});
  }
  pad_element(body);
  put_words(body, {1, uint32_t(variable.size())});
  body += variable;
  pad_element(body);
  if (bytes > UINT32_MAX - body.size() - kMatHeader)
    throw file_error(ExitCode::kUsage, path, "MAT-files of level 5 are limited to 4 GiB", "write fewer values");
  put_words(body, {kMatSingle, uint32_t(bytes)});
  const uint64_t padding = (kMatAlignment - bytes % kMatAlignment) % kMatAlignment;
  std::string head = "MATLAB 5.0 MAT-file, written by Cortado";
  head.resize(kMatVersion, ' ');
  head += {'\0', '\1', 'I', 'M'};
  put_words(head, {kMatMatrix, uint32_t(body.size() + bytes + padding)});
  AtomicFile file(path, int64_t(head.size() + body.size() + bytes + padding));
  file.append(head);
  file.append(body);
  file.append({reinterpret_cast<const char*>(values), size_t(bytes)});
  file.append(std::string(padding, '\0'));
  file.commit();
}

}  // namespace cortado
