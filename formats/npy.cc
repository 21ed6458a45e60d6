// The format: "\x93NUMPY", version, the header's length, then the header as the text of a Python dict with the keys
// descr, fortran_order and shape, padded so that the elements begin at a multiple of 64 bytes.
#include "formats/npy.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/files/file.h"
#include "core/half.h"

namespace cortado {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

[[noreturn]] void fail(const std::string& name, const std::string& what) {
  throw file_error(ExitCode::kData, name, what, "save the array with numpy.save()");
}

template <typename T>
T load_at(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

struct Header {
  std::string descr;
  bool fortran = false;
  std::vector<int64_t> dims;
  std::string_view elements;
};

/// The text after `'key':` in the dict, without leading spaces.
std::string_view value_of(std::string_view dict, const std::string& key, const std::string& name) {
  size_t at = dict.find("'" + key + "'");
  if (at == std::string_view::npos) fail(name, "the header has no " + key);
  at = dict.find(':', at);
  if (at != std::string_view::npos) at = dict.find_first_not_of(' ', at + 1);
  if (at == std::string_view::npos) fail(name, "the header is damaged");
  return dict.substr(at);
}

std::vector<int64_t> parse_shape(std::string_view text, const std::string& name) {
  std::vector<int64_t> dims;
  const size_t end = text.find(')');
  if (text.empty() || text[0] != '(' || end == std::string_view::npos) fail(name, "the shape is damaged");
  int64_t value = -1;
  for (const char c : text.substr(1, end)) {
    if (c >= '0' && c <= '9') {
      value = (value < 0 ? 0 : value) * 10 + (c - '0');
      if (value > int64_t(1) << 48) fail(name, "the shape is damaged");
    } else if (c == ',' || c == ')') {
      if (value >= 0) dims.push_back(value);
      value = -1;
    } else if (c != ' ' && c != 'L') {
      fail(name, "the shape is damaged");
    }
  }
  if (dims.size() > size_t(Shape::kMaxAxes)) fail(name, "it has more than 32 axes");
  return dims;
}

Header parse_header(std::string_view content, const std::string& name) {
  if (content.substr(0, kMagic.size()) != kMagic || content.size() < 12) fail(name, "not a .npy file");
  const int version = content[6];
  if (version < 1 || version > 3)
    fail(name, "format version " + std::to_string(version) + " is not supported; versions 1 to 3 are");
  const size_t begin = version == 1 ? 10 : 12;
  const uint64_t length = version == 1 ? load_at<uint16_t>(content.data() + 8) : load_at<uint32_t>(content.data() + 8);
  if (length > content.size() - begin) fail(name, "truncated in the header");
  const std::string_view dict = content.substr(begin, length);
  Header header;
  const std::string_view descr = value_of(dict, "descr", name);
  const size_t quote = descr.find_first_of("'\"", 1);
  if ((descr[0] != '\'' && descr[0] != '"') || quote == std::string_view::npos)
    fail(name, "structured arrays are not supported");
  header.descr = descr.substr(1, quote - 1);
  header.fortran = value_of(dict, "fortran_order", name).substr(0, 4) == "True";
  header.dims = parse_shape(value_of(dict, "shape", name), name);
  header.elements = content.substr(begin + length);
  return header;
}

template <typename T>
bool convert(const Header& header, std::vector<float>& values) {
  if (header.elements.size() / sizeof(T) != values.size() || header.elements.size() % sizeof(T) != 0) return false;
  for (size_t i = 0; i < values.size(); ++i) values[i] = float(load_at<T>(header.elements.data() + i * sizeof(T)));
  return true;
}

bool convert_elements(const Header& header, std::vector<float>& values, const std::string& name) {
  const std::string& type = header.descr;
  if (type == "<f4") return convert<float>(header, values);
  if (type == "<f2") return convert<Half>(header, values);
  if (type == "<f8") return convert<double>(header, values);
  if (type == "<i4") return convert<int32_t>(header, values);
  if (type == "<i8") return convert<int64_t>(header, values);
  if (type == "|u1" || type == "|b1") return convert<uint8_t>(header, values);
  if (type == "|i1") return convert<int8_t>(header, values);
  fail(name,
       "dtype '" + type + "' is not supported; little-endian float16, float32, float64, int32, int64 and uint8 are");
}

/// Converts from Fortran order (first axis fastest) to C order.
std::vector<float> from_fortran(const std::vector<float>& values, const Shape& shape) {
  std::vector<float> out(values.size());
  std::vector<int64_t> at(size_t(shape.axes()), 0);
  for (const float value : values) {
    int64_t to = 0;
    for (int axis = 0; axis < shape.axes(); ++axis) to = to * shape[axis] + at[size_t(axis)];
    out[size_t(to)] = value;
    for (int axis = 0; axis < shape.axes() && ++at[size_t(axis)] == shape[axis]; ++axis) at[size_t(axis)] = 0;
  }
  return out;
}

/// The number of elements, or -1 if it exceeds `bytes`.
int64_t bounded_count(const std::vector<int64_t>& dims, int64_t bytes) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  int64_t count = 1;
  for (const int64_t dim : dims) {
    if (count > bytes / dim) return -1;
    count *= dim;
  }
  return count;
}

}  // namespace

NpyArray parse_npy(std::string_view content, const std::string& name) {
  const Header header = parse_header(content, name);
  NpyArray array{Shape(header.dims), {}};
  const int64_t count = bounded_count(header.dims, int64_t(header.elements.size()));
  if (count >= 0) array.values.resize(size_t(count));
  if (count < 0 || !convert_elements(header, array.values, name))
    fail(name, "shape " + array.shape.str() + " does not match " + std::to_string(header.elements.size()) +
                   " bytes of '" + header.descr + "'");
  if (header.fortran) array.values = from_fortran(array.values, array.shape);
  return array;
}

NpyArray read_npy(const std::string& path) { return parse_npy(read_file(path, int64_t(1) << 36), path); }

std::string npy_header(const Shape& shape, bool halves) {
  std::string dict = std::string("{'descr': '<f") + (halves ? "2" : "4") + "', 'fortran_order': False, 'shape': (";
  for (const int64_t dim : shape.dims()) dict += std::to_string(dim) + ", ";
  if (shape.axes() > 1) dict.resize(dict.size() - 2);  // a tuple of one element keeps its comma
  dict += "), }";
  const size_t unpadded = kMagic.size() + 4 + dict.size() + 1;
  dict.append((64 - unpadded % 64) % 64, ' ').push_back('\n');
  std::string header(kMagic);
  header += {'\x01', '\x00', char(dict.size() & 0xFF), char(dict.size() >> 8)};
  return header + dict;
}

void write_npy(const std::string& path, const Shape& shape, const float* values) {
  std::string content = npy_header(shape);
  content.append(reinterpret_cast<const char*>(values), size_t(shape.count()) * sizeof(float));
  write_file_atomically(path, content);
}

}  // namespace cortado
