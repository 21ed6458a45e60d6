// Validation of filler options. Their meaning: layers/common/weights/filler_values.cu.

#include "layers/common/weights/filler.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "core/error.h"
#include "core/files/file.h"
#include "core/text/text.h"

namespace cortado {

namespace {

using caffe::FillerParameter;

const std::vector<std::string>& known_types() {
  static const std::vector<std::string> types = {"constant",    "uniform", "gaussian", "positive_unitball",
                                                 "xavier",      "msra",    "bilinear", "gaussian_unitball",
                                                 "bilinear_3D", "file"};
  return types;
}

void check_sparse(const FillerParameter& filler, const Shape& shape, const std::string& field) {
  if (filler.sparse() == -1) return;
  if (filler.type() != "gaussian")
    throw FieldError(field + "sparse", "only the gaussian filler can be sparse, not " + filler.type());
  const int64_t rows = shape.axes() > 0 ? shape[0] : 1;
  if (filler.sparse() < 0 || filler.sparse() > rows)
    throw FieldError(field + "sparse", "sparse is " + std::to_string(filler.sparse()) +
                                           ", but must lie between 0 and " + std::to_string(rows) +
                                           ", the first extent of " + shape.str());
}

}  // namespace

void check_filler_type(const FillerParameter& filler, const std::string& path) {
  const auto& known = known_types();
  if (std::find(known.begin(), known.end(), filler.type()) != known.end()) return;
  const std::string guess = did_you_mean(filler.type(), known);
  throw FieldError(path + (path.empty() ? "" : ".") + "type", "filler '" + filler.type() + "' is unknown",
                   (guess.empty() ? "" : guess + " ") + "use " + list_text(known));
}

bool is_random(const FillerParameter& filler) {
  const std::string& type = filler.type();
  return type != "constant" && type != "bilinear" && type != "bilinear_3D" && type != "file";
}

void check_filler(const FillerParameter& filler, const Shape& shape, const std::string& path) {
  const std::string field = path.empty() ? "" : path + ".";
  check_filler_type(filler, path);
  check_sparse(filler, shape, field);
  if (filler.type() == "uniform" && filler.min() > filler.max())
    throw FieldError(field + "min", "min " + to_text(filler.min()) + " is above max " + to_text(filler.max()),
                     "set max: its default is 1");
  if (filler.type() == "gaussian" && filler.std() < 0)
    throw FieldError(field + "std", "the standard deviation " + to_text(filler.std()) + " is negative");
  if (filler.type() == "file" && filler.file().empty())
    throw FieldError(field + "file", "a file filler needs a file", "set the path of a text file of numbers");
  if (filler.type() == "bilinear_3D" && (shape.axes() != 5 || shape[2] != shape[3] || shape[3] != shape[4]))
    throw FieldError(field + "type",
                     "a bilinear_3D filler needs five axes and cubic kernels, not the shape " + shape.str());
  if (filler.type() == "bilinear" && (shape.axes() != 4 || shape[2] != shape[3]))
    throw FieldError(field + "type",
                     "a bilinear filler needs four axes and square kernels, not the shape " + shape.str());
}

std::vector<float> numbers_in_file(const std::string& path, int64_t count) {
  constexpr int64_t kMaxDigits = 64;  // bytes of a number with its blanks
  const std::string text = read_file(path, checked_mul(count + 1, kMaxDigits));
  std::vector<float> values;
  const char *at = text.data(), *end = at + text.size();
  const auto is_blank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (true) {
    while (at != end && is_blank(*at)) ++at;
    if (at == end) break;
    float value = 0;
    const auto [after, error] = std::from_chars(at, end, value);
    if (error != std::errc() || (after != end && !is_blank(*after)))
      throw FieldError("file", "number " + std::to_string(values.size() + 1) + " in '" + path + "' is invalid",
                       "separate numbers by blanks or new lines");
    values.push_back(value);
    at = after;
  }
  if (int64_t(values.size()) != count)
    throw FieldError("file", "'" + path + "' has " + count_of(int64_t(values.size()), "number", "numbers") +
                                 ", but there are " + count_of(count, "weight", "weights"));
  return values;
}

WeightSpec filled_weight(const FillerParameter& filler, const Shape& shape, const std::string& field) {
  check_filler(filler, shape, field);
  return {.shape = shape, .filler = filler};
}

}  // namespace cortado
