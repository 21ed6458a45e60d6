// Filler formulas:
//   constant           value
//   uniform            U[min, max)
//   gaussian           N(mean, std); with sparse = s each value stays with probability s / shape[0] and else is 0
//   positive_unitball  U(0, 1), then each row (along axis 0) divided by its sum
//   gaussian_unitball  N(0, 1), then each row (along axis 0) divided by its L2 norm (NormFace)
//   xavier             U[-a, a), a = sqrt(3 / n)       (Glorot and Bengio, 2010)
//   msra               N(0, sqrt(2 / n)) times scale   (He et al., 2015)
//   bilinear           the bilinear interpolation kernel, the same in every channel
//   bilinear_3D        the trilinear one, of volumes (DenseVoxNet)
//   file               the numbers in a text file, in row-major order (SpatialTransformer's repository)
// n is FAN_IN count / shape[0], FAN_OUT count / shape[1], or their AVERAGE.
//
// Values are drawn in chunks with a RandomStream each, in groups of four that know their position in it. So threads, on
// the host or a device, share the work and the result does not depend on them. On the CPU normal values are drawn in
// larger groups (core/loops/normal_draws.h).

#include <cmath>

#include "core/device/device_memory.h"
#include "core/loops/normal_draws.h"
#include "core/rng.h"
#include "layers/common/loops/typed.h"
#include "layers/common/weights/filler.h"
#include "layers/common/weights/given_values.h"

namespace cortado {

namespace {

using caffe::FillerParameter;

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

/// The storage order. Values are drawn in row-major order, whatever the storage.
struct Order {
  int64_t channels, inner;  ///< of channels-last storage; 0: row-major
  CORTADO_HD int64_t at(int64_t i) const {
    if (channels == 0) return i;
    return (i / (inner * channels) * inner + i % inner) * channels + i / inner % channels;
  }
};

Order order_of(const TensorSpec& spec) {
  if (spec.layout != Layout::kChannelsLast) return {0, 0};
  return {spec.shape[1], spec.shape.count(2)};
}

constexpr int64_t kChunk = 16384;  ///< values per stream

/// Words of the stream for group `group` of four values: `PerValue` for each.
template <int PerValue>
struct FourDraws {
  uint32_t words[4 * PerValue];

  CORTADO_HD FourDraws(uint64_t key, int64_t group) {
    const int64_t groups = kChunk / 4, in_chunk = group % groups;
    const Philox philox(mix_key(key, uint64_t(group / groups)));
    for (int k = 0; k < PerValue; ++k) {
      const Philox::Words four = philox(0, uint64_t(in_chunk * PerValue + k));
      for (int i = 0; i < 4; ++i) words[4 * k + i] = four.v[i];
    }
  }
};

/// Like RandomStream::normal(), from two words.
CORTADO_HD inline double normal_of(uint32_t first, uint32_t second) {
  const double u = (double(first) + 1.0) / 4294967296.0, v = double(second) / 4294967296.0;
  return sqrt(-2.0 * log(u)) * cos(2.0 * M_PI * v);
}

template <typename T>
struct Uniform {
  T* y;
  int64_t n;
  uint64_t key;
  Order order;
  float low, width;
  CORTADO_HD void operator()(int64_t group) const {
    const FourDraws<1> draws(key, group);
    for (int64_t i = 0; i < 4 && group * 4 + i < n; ++i)
      y[order.at(group * 4 + i)] = low + width * unit_float(draws.words[i]);
  }
};

template <typename T>
struct Gaussian {
  T* y;
  int64_t n;
  uint64_t key;
  Order order;
  double mean, deviation;
  CORTADO_HD void operator()(int64_t group) const {
    const FourDraws<2> draws(key, group);
    for (int64_t i = 0; i < 4 && group * 4 + i < n; ++i)
      y[order.at(group * 4 + i)] = float(mean + deviation * normal_of(draws.words[2 * i], draws.words[2 * i + 1]));
  }
};

/// Gaussian for kNormalsAtOnce values, on the CPU.
template <typename T>
struct GaussianRun {
  T* y;
  int64_t n;
  uint64_t key;
  Order order;
  double mean, deviation;
  void operator()(int64_t run) const {
    const int64_t first = run * kNormalsAtOnce, rest = n - first;
    float values[kNormalsAtOnce];
    draw_normals(mix_key(key, uint64_t(first / kChunk)), uint64_t(first % kChunk), mean, deviation, values);
    for (int64_t i = 0; i < kNormalsAtOnce && i < rest; ++i) y[order.at(first + i)] = values[i];
  }
};

template <typename T>
struct SparseGaussian {
  T* y;
  int64_t n;
  uint64_t key;
  Order order;
  double mean, deviation, kept;
  CORTADO_HD void operator()(int64_t group) const {
    const FourDraws<3> draws(key, group);
    for (int64_t i = 0; i < 4 && group * 4 + i < n; ++i) {
      const uint32_t* words = draws.words + 3 * i;
      const double value = mean + deviation * normal_of(words[0], words[1]);
      y[order.at(group * 4 + i)] = double(unit_float(words[2])) < kept ? float(value) : 0.0f;
    }
  }
};

/// One row of `width` values.
template <typename T>
struct DivideBySum {
  T* y;
  int64_t width;
  Order order;
  CORTADO_HD double at(int64_t i) const { return double(float(y[order.at(i)])); }
  CORTADO_HD void operator()(int64_t row) const {
    double sum = 0;
    for (int64_t i = row * width; i < (row + 1) * width; ++i) sum += at(i);
    for (int64_t i = row * width; i < (row + 1) * width && sum > 0; ++i) y[order.at(i)] = float(at(i) / sum);
  }
};

/// The same by the L2 norm.
template <typename T>
struct DivideByNorm {
  T* y;
  int64_t width;
  Order order;
  CORTADO_HD double at(int64_t i) const { return double(float(y[order.at(i)])); }
  CORTADO_HD void operator()(int64_t row) const {
    double squares = 0;
    for (int64_t i = row * width; i < (row + 1) * width; ++i) squares += at(i) * at(i);
    const double norm = sqrt(squares);
    for (int64_t i = row * width; i < (row + 1) * width && norm > 0; ++i) y[order.at(i)] = float(at(i) / norm);
  }
};

template <typename T>
struct Bilinear {
  T* y;
  Order order;
  int64_t size, half;
  double centre;
  bool volumes;
  CORTADO_HD double weight(int64_t i) const { return 1 - fabs(double(i) / double(half) - centre); }
  CORTADO_HD void operator()(int64_t i) const {
    const double depth = volumes ? weight(i / (size * size) % size) : 1;
    y[order.at(i)] = float(weight(i % size) * weight(i / size % size) * depth);
  }
};

/// for_each over the groups of four.
template <template <typename> class Draw, typename... Members>
void draw(Context& context, const Tensor& y, uint64_t key, const Members&... members) {
  const int64_t n = y.count();
  const auto use = [&](const auto& functor) { for_each(context, (n + 3) / 4, functor); };
  with_functor<Draw>(use, y, n, key, order_of(y.spec), members...);
}

void fill_uniform(Context& context, uint64_t key, const Tensor& y, float low, float high) {
  draw<Uniform>(context, y, key, low, high - low);
}

void fill_normal(Context& context, uint64_t key, const Tensor& y, double mean, double deviation) {
  if (!host_threads_run(context)) return draw<Gaussian>(context, y, key, mean, deviation);
  const int64_t n = y.count(), runs = (n + kNormalsAtOnce - 1) / kNormalsAtOnce;
  const DeviceAccess access(context);
  const auto draw_all = [&](const auto& functor) {
    parallel_ranges(context, runs, /*at_least=*/256, [&](int64_t begin, int64_t end) {
      for (int64_t run = begin; run < end; ++run) functor(run);
    });
  };
  with_functor<GaussianRun>(draw_all, y, n, key, order_of(y.spec), mean, deviation);
}

void fill_gaussian(Context& context, const FillerParameter& filler, uint64_t key, const Tensor& y) {
  const double mean = filler.mean(), deviation = filler.std();
  const double rows = y.shape().axes() > 0 ? double(y.shape()[0]) : 1;
  const double kept = filler.sparse() < 0 ? 1 : filler.sparse() / rows;
  if (kept >= 1) return fill_normal(context, key, y, mean, deviation);
  draw<SparseGaussian>(context, y, key, mean, deviation, kept);
}

/// For positive_unitball, or for gaussian_unitball.
void fill_unit_balls(Context& context, uint64_t key, const Tensor& y, bool positive) {
  if (positive)
    fill_uniform(context, key, y, 0, 1);
  else
    fill_normal(context, key, y, 0, 1);
  const int64_t rows = y.shape().axes() > 0 ? y.shape()[0] : 1;
  const auto divide = [&](const auto& functor) { for_each(context, rows, functor); };
  if (positive)
    with_functor<DivideBySum>(divide, y, y.count() / rows, order_of(y.spec));
  else
    with_functor<DivideByNorm>(divide, y, y.count() / rows, order_of(y.spec));
}

void fill_bilinear(Context& context, const Tensor& y) {
  const int64_t size = y.shape()[3], half = (size + 1) / 2;
  for_each_typed<Bilinear>(context, y, order_of(y.spec), size, half, double(size - 1) / (2.0 * double(half)),
                           y.shape().axes() == 5);
}

template <typename T>
struct CopyNumbers {
  T* y;
  const float* values;
  Order order;
  CORTADO_HD void operator()(int64_t i) const { y[order.at(i)] = values[i]; }
};

void fill_from_file(Context& context, const std::string& path, const Tensor& y) {
  const std::vector<float> values = numbers_in_file(path, y.count());
  const DeviceMemory there(context, values.size() * sizeof(float));
  copy_to_device(context, there.data(), values.data(), there.bytes());
  for_each_typed<CopyNumbers>(context, y, reinterpret_cast<const float*>(there.data()), order_of(y.spec));
}

}  // namespace

void fill(Context& context, const FillerParameter& filler, uint64_t key, const Tensor& y) {
  check_filler(filler, y.shape(), "");
  if (y.count() == 0) return;
  const std::string& type = filler.type();
  if (type == "constant") return for_each_typed<Constant>(context, y, filler.value());
  if (type == "uniform") return fill_uniform(context, key, y, filler.min(), filler.max());
  if (type == "gaussian") return fill_gaussian(context, filler, key, y);
  if (type == "positive_unitball" || type == "gaussian_unitball")
    return fill_unit_balls(context, key, y, type == "positive_unitball");
  if (type == "file") return fill_from_file(context, filler.file(), y);
  if (type == "bilinear" || type == "bilinear_3D") return fill_bilinear(context, y);
  if (type == "msra") {
    const double deviation = double(filler.scale()) * std::sqrt(2 / fan(filler, y.shape()));
    return fill_normal(context, key, y, 0, deviation);
  }
  const float bound = float(std::sqrt(3 / fan(filler, y.shape())));  // xavier
  fill_uniform(context, key, y, -bound, bound);
}

void fill(Context& context, const FillerParameter& filler, const Shape& shape, uint64_t key, float* plain) {
  if (put_given_values(filler, shape, plain)) return;
  Context host(context.threads);
  fill(host, filler, key, plain_view(shape, plain));
}

}  // namespace cortado
