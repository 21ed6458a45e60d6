#include "core/shape.h"

#include <charconv>
#include <climits>

#include "core/error.h"

namespace cortado {

int64_t checked_mul(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product) || product > (int64_t(1) << 62))
    throw FieldError("", "the size " + std::to_string(a) + " x " + std::to_string(b) + " overflows");
  return product;
}

int64_t Shape::count(int from, int to) const {
  int64_t product = 1;
  for (int axis = from; axis < to; ++axis) product = checked_mul(product, dims_[size_t(axis)]);
  return product;
}

int Shape::canonical_axis(int64_t axis) const {
  if (axis < 0) axis += axes();
  return axis >= 0 && axis < axes() ? int(axis) : -1;
}

std::string Shape::str() const {
  if (dims_.empty()) return "scalar";
  std::string text;
  for (size_t i = 0; i < dims_.size(); ++i) text += (i ? "x" : "") + std::to_string(dims_[i]);
  return text;
}

namespace {

[[noreturn]] void refuse_shape(const std::string& text, const std::string& why) {
  throw Error(ExitCode::kUsage, "--shape=" + text + ": " + why, "use, for example, --shape=1,3,224,224");
}

Shape shape_from_text(const std::string& dims, const std::string& text) {
  std::vector<int64_t> extents;
  for (const char* at = dims.data();; ++at) {
    int64_t extent = 0;
    const auto [end, failure] = std::from_chars(at, dims.data() + dims.size(), extent);
    if (failure != std::errc() || extent < 1 || extent > INT32_MAX)
      refuse_shape(text, "extents must be integers of at least 1");
    extents.push_back(extent);
    at = end;
    if (at == dims.data() + dims.size()) break;
    if (*at != ',' && *at != 'x') refuse_shape(text, "extents must be integers of at least 1");
  }
  if (extents.size() > size_t(Shape::kMaxAxes))
    refuse_shape(text, "more than " + std::to_string(Shape::kMaxAxes) + " extents");
  return Shape(extents);
}

}  // namespace

std::map<std::string, Shape> shapes_from_text(const std::vector<std::string>& texts) {
  std::map<std::string, Shape> shapes;
  for (const std::string& text : texts) {
    const size_t equals = text.rfind('=');
    const std::string name = equals == std::string::npos ? "" : text.substr(0, equals);
    shapes[name] = shape_from_text(text.substr(equals == std::string::npos ? 0 : equals + 1), text);
  }
  return shapes;
}

}  // namespace cortado
