// Fillers, by the formulas of the language:
//   constant           value
//   uniform            U[min, max)
//   gaussian           N(mean, std); with sparse = s each value stays with probability s / shape[0] and else is 0
//   positive_unitball  U(0, 1), then each row (along axis 0) divided by its sum
//   xavier             U[-a, a), a = sqrt(3 / n)       (Glorot and Bengio, 2010)
//   msra               N(0, sqrt(2 / n)) times scale   (He et al., 2015)
//   bilinear           the kernel that interpolates between pixels, the same in every channel
// n is the number of values a result is summed from: FAN_IN count / shape[0], FAN_OUT count / shape[1], or their
// AVERAGE.
//
// Values are drawn in chunks, each with a stream of its own, so that threads share the work and the result stays the
// same.

#include "layers/filler.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/error.h"
#include "core/rng.h"
#include "core/threads.h"
#include "layers/words.h"

namespace cortado {

namespace {

using caffe::FillerParameter;

const std::vector<std::string>& known_types() {
  static const std::vector<std::string> types = {"constant", "uniform", "gaussian", "positive_unitball",
                                                 "xavier",   "msra",    "bilinear"};
  return types;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

void check_type(const FillerParameter& filler, const std::string& field) {
  const auto& known = known_types();
  if (std::find(known.begin(), known.end(), filler.type()) != known.end()) return;
  const std::string guess = did_you_mean(filler.type(), known);
  throw FieldError(field + "type", "there is no filler '" + filler.type() + "'",
                   (guess.empty() ? "" : guess + " ") + "the fillers are " + joined(known));
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

/// The n of xavier and msra.
double fan(const FillerParameter& filler, const Shape& shape) {
  const double count = double(shape.count());
  const double in = shape.axes() > 0 ? count / double(shape[0]) : count;
  const double out = shape.axes() > 1 ? count / double(shape[1]) : count;
  switch (filler.variance_norm()) {
    case FillerParameter::FAN_IN:
      return in;
    case FillerParameter::FAN_OUT:
      return out;
    case FillerParameter::AVERAGE:
      return (in + out) / 2;
  }
  return in;
}

/// draw(stream) for every element.
template <typename Draw>
void draw_all(Context& context, int64_t n, uint64_t key, float* plain, const Draw& draw) {
  constexpr int64_t kChunk = 16384;
  parallel_ranges(context, (n + kChunk - 1) / kChunk, 1, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      RandomStream stream(mix_key(key, uint64_t(chunk)));
      const int64_t last = std::min(n, (chunk + 1) * kChunk);
      for (int64_t i = chunk * kChunk; i < last; ++i) plain[i] = draw(stream);
    }
  });
}

void fill_uniform(Context& context, int64_t n, uint64_t key, float* plain, float low, float high) {
  const float width = high - low;
  draw_all(context, n, key, plain, [=](RandomStream& stream) { return low + width * stream.uniform(); });
}

void fill_gaussian(Context& context, int64_t n, uint64_t key, float* plain, double mean, double deviation,
                   double kept) {
  if (kept >= 1)
    return draw_all(context, n, key, plain,
                    [=](RandomStream& stream) { return float(mean + deviation * stream.normal()); });
  draw_all(context, n, key, plain, [=](RandomStream& stream) {
    const double value = mean + deviation * stream.normal();
    return double(stream.uniform()) < kept ? float(value) : 0.0f;
  });
}

void divide_rows_by_sums(const Shape& shape, float* plain) {
  const int64_t rows = shape.axes() > 0 ? shape[0] : 1, width = rows > 0 ? shape.count() / rows : 0;
  for (int64_t row = 0; row < rows; ++row) {
    float* values = plain + row * width;
    double sum = 0;
    for (int64_t i = 0; i < width; ++i) sum += values[i];
    for (int64_t i = 0; i < width && sum > 0; ++i) values[i] = float(values[i] / sum);
  }
}

void fill_bilinear(const Shape& shape, float* plain) {
  const int64_t size = shape[3], half = (size + 1) / 2;
  const double centre = double(size - 1) / (2.0 * double(half));
  const auto weight = [&](int64_t i) { return 1 - std::fabs(double(i) / double(half) - centre); };
  const int64_t n = shape.count();
  for (int64_t i = 0; i < n; ++i) plain[i] = float(weight(i % size) * weight(i / size % size));
}

}  // namespace

void check_filler(const FillerParameter& filler, const Shape& shape, const std::string& path) {
  const std::string field = path.empty() ? "" : path + ".";
  check_type(filler, field);
  check_sparse(filler, shape, field);
  if (filler.type() == "uniform" && filler.min() > filler.max())
    throw FieldError(field + "min", "min " + text_of(filler.min()) + " is above max " + text_of(filler.max()),
                     "a uniform filler without max goes up to 1");
  if (filler.type() == "gaussian" && filler.std() < 0)
    throw FieldError(field + "std", "the standard deviation " + text_of(filler.std()) + " is negative");
  if (filler.type() == "bilinear" && (shape.axes() != 4 || shape[2] != shape[3]))
    throw FieldError(field + "type",
                     "a bilinear filler needs four axes and square kernels, not the shape " + shape.str());
}

void fill(Context& context, const FillerParameter& filler, const Shape& shape, uint64_t key, float* plain) {
  check_filler(filler, shape, "");
  const int64_t n = shape.count();
  if (n == 0) return;
  const std::string& type = filler.type();
  if (type == "constant") {
    std::fill(plain, plain + n, filler.value());
  } else if (type == "uniform") {
    fill_uniform(context, n, key, plain, filler.min(), filler.max());
  } else if (type == "gaussian") {
    const double rows = shape.axes() > 0 ? double(shape[0]) : 1;
    const double kept = filler.sparse() < 0 ? 1 : filler.sparse() / rows;
    fill_gaussian(context, n, key, plain, filler.mean(), filler.std(), kept);
  } else if (type == "positive_unitball") {
    fill_uniform(context, n, key, plain, 0, 1);
    divide_rows_by_sums(shape, plain);
  } else if (type == "xavier") {
    const float bound = float(std::sqrt(3 / fan(filler, shape)));
    fill_uniform(context, n, key, plain, -bound, bound);
  } else if (type == "msra") {
    fill_gaussian(context, n, key, plain, 0, double(filler.scale()) * std::sqrt(2 / fan(filler, shape)), 1);
  } else {
    fill_bilinear(shape, plain);
  }
}

void fill(const FillerParameter& filler, const Shape& shape, uint64_t key, float* plain) {
  Context context(1);
  fill(context, filler, shape, key, plain);
}

}  // namespace cortado
