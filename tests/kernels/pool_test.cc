// Every candidate in every layout it supports, compared with the definition of pooling in double.

#include "kernels/pool.h"

#include <cfloat>

#include "kernels/cpu_level.h"
#include "tests/kernels/operand.h"

namespace cortado::kernels {
namespace {

using namespace testing;

using Make = std::unique_ptr<Pool> (*)(const PoolRequest&, Context&, std::string&);

struct Reference {
  std::vector<double> y, dx;
};

/// Iterates over every window of every plane; windows of averages include the padding.
Reference reference(const PoolRequest& r, const Values& x, const Values& dy) {
  const int64_t h = r.x.shape[2], w = r.x.shape[3];
  Reference result{std::vector<double>(dy.size()), std::vector<double>(x.size())};
  for (size_t out = 0; out < dy.size(); ++out) {
    const int64_t ow = int64_t(out) % r.y.shape[3], oh = int64_t(out) / r.y.shape[3] % r.y.shape[2],
                  plane = int64_t(out) / r.y.shape.count(2);
    double area = 0, sum = 0, best = -DBL_MAX;
    std::vector<size_t> inside;
    size_t place = 0;
    for (int64_t i = oh * r.stride_h - r.pad_h; i < oh * r.stride_h - r.pad_h + r.kernel_h; ++i)
      for (int64_t j = ow * r.stride_w - r.pad_w; j < ow * r.stride_w - r.pad_w + r.kernel_w; ++j) {
        const bool in_image = i >= 0 && i < h && j >= 0 && j < w;
        if (in_image || (r.count_padding && i < h + r.pad_h && j < w + r.pad_w)) area += 1;
        if (!in_image) continue;
        inside.push_back(size_t((plane * h + i) * w + j));
        sum += x[inside.back()];
        if (x[inside.back()] > best) best = x[inside.back()], place = inside.back();
      }
    if (inside.empty()) continue;
    result.y[out] = r.average ? sum / area : best;
    if (r.average)
      for (const size_t i : inside) result.dx[i] += dy[out] / area;
    else
      result.dx[place] += dy[out];
  }
  return result;
}

std::string name_of(const PoolRequest& r) {
  return std::string(r.average ? "average " : "maximum ") + name_of(r.x.dtype) + " " + name_of(r.x.layout) + " " +
         r.x.shape.str() + " by " + std::to_string(r.kernel_h) + "x" + std::to_string(r.kernel_w) + " stride " +
         std::to_string(r.stride_h) + "," + std::to_string(r.stride_w) + " pad " + std::to_string(r.pad_h) + "," +
         std::to_string(r.pad_w);
}

/// Returns whether the candidate accepted; if so, compares both directions, run twice in the same memory.
bool check(Make make, const PoolRequest& r, int threads, DeviceKind kind = DeviceKind::kCpu) {
  SCOPED_TRACE(name_of(r));
  Context context = context_on(kind, threads);
  std::string why;
  const auto pool = make(r, context, why);
  if (!pool) {
    EXPECT_FALSE(why.empty());
    return false;
  }
  const Values x = rounded(random_values(r.x.shape.count(), 1), r.x.dtype),
               dy = rounded(random_values(r.y.shape.count(), 2), r.x.dtype);
  const Reference expected = reference(r, x, dy);
  const Operand x_in(context, r.x, x), dy_in(context, r.y, dy), y(context, r.y), dx(context, r.x);
  const Fenced saved(context, pool->saved_bytes()),
      scratch(context, std::max(pool->forward_scratch(), pool->backward_scratch()));
  for (int pass = 0; pass < 2; ++pass) {
    pool->forward(context, x_in.data(), y.data(), nullptr, saved.data(), scratch.data());
    pool->backward(context, dy_in.data(), dx.data(), saved.data(), scratch.data());
  }
  expect_near(y.values(), expected.y, 1e-6 + rounding(r.x.dtype), "y");
  expect_near(dx.values(), expected.dx, 1e-5 + rounding(r.x.dtype), "dx");
  EXPECT_EQ(x_in.values(), x) << "x was changed";
  EXPECT_EQ(dy_in.values(), dy) << "dy was changed";
  saved.expect_intact();
  scratch.expect_intact();
  return true;
}

int64_t outputs(int64_t in, int64_t kernel, int64_t stride, int64_t pad) {
  const int64_t out = (in + 2 * pad - kernel + stride - 1) / stride + 1;
  return pad > 0 && (out - 1) * stride >= in + pad ? out - 1 : out;
}

PoolRequest request(const Shape& x, int64_t kernel_h, int64_t kernel_w, int64_t stride, int64_t pad) {
  PoolRequest r;
  r.kernel_h = kernel_h, r.kernel_w = kernel_w;
  r.stride_h = r.stride_w = stride;
  r.pad_h = r.pad_w = pad;
  r.backward = true;
  r.x.shape = x;
  r.y.shape = {x[0], x[1], outputs(x[2], kernel_h, stride, pad), outputs(x[3], kernel_w, stride, pad)};
  return r;
}

/// One in which all of the axes differ.
PoolRequest uneven(const Shape& x, const std::vector<int64_t>& h, const std::vector<int64_t>& w) {
  PoolRequest r = request(x, h[0], w[0], 1, 0);
  r.stride_h = h[1], r.pad_h = h[2], r.stride_w = w[1], r.pad_w = w[2];
  r.y.shape = {x[0], x[1], outputs(x[2], h[0], h[1], h[2]), outputs(x[3], w[0], w[1], w[2])};
  return r;
}

std::vector<PoolRequest> requests() {
  const std::vector<PoolRequest> geometries = {
      uneven({1, 20, 6, 9}, {3, 2, 1}, {2, 1, 0}), uneven({2, 16, 9, 7}, {2, 1, 1}, {4, 3, 2}),

      request({2, 20, 6, 8}, 2, 2, 2, 0),          request({2, 32, 7, 9}, 3, 3, 2, 0),
      request({1, 20, 6, 5}, 3, 3, 1, 1),          request({1, 16, 6, 8}, 3, 3, 2, 1),
      request({1, 20, 6, 9}, 3, 3, 3, 0),          request({2, 16, 9, 11}, 3, 3, 1, 0),
      request({1, 20, 4, 6}, 2, 2, 2, 1),          request({3, 3, 5, 7}, 5, 7, 1, 0),
      request({1, 5, 9, 4}, 4, 2, 3, 1),           request({1, 20, 5, 7}, 1, 1, 3, 0),
      request({1, 20, 18, 17}, 18, 17, 1, 0),      request({2, 1, 40, 40}, 3, 2, 2, 0),
      request({7, 20, 24, 24}, 3, 3, 2, 1)};
  std::vector<PoolRequest> list;
  for (PoolRequest r : geometries)
    for (const Layout layout : {Layout::kPlain, Layout::kBlocked16}) {
      r.x.layout = r.y.layout = layout;
      r.average = false;
      list.push_back(r);
      r.average = true;
      list.push_back(r);
      r.count_padding = false;
      list.push_back(r);
      r.count_padding = true;
    }
  return list;
}

TEST(Pool, OurOwnAgreesWithTheDefinition) {
  for (const PoolRequest& r : requests())
    for (const int threads : {1, 3}) EXPECT_TRUE(check(make_pool_native, r, threads));
}

TEST(Pool, Bfloat16AgreesWithTheDefinition) {
  for (PoolRequest r : requests()) {
    r.x.dtype = r.y.dtype = DType::kBF16;
    EXPECT_TRUE(check(make_pool_native, r, 2));
  }
}

TEST(Pool, PlainAgreesWithTheDefinitionInEveryTypeOnDevices) {
  for (const DeviceKind kind : devices())
    for (PoolRequest r : requests()) {
      if (r.x.layout == Layout::kBlocked16) r.x.layout = r.y.layout = Layout::kChannelsLast;
      for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
        r.x.dtype = r.y.dtype = dtype;
        EXPECT_TRUE(check(make_pool_generic, r, 2, kind));
      }
    }
}

TEST(Pool, OneDnnAgreesWithTheDefinition) {
  int accepted = 0;
  for (const PoolRequest& r : requests()) accepted += check(make_pool_onednn, r, 2);
  EXPECT_GT(accepted, onednn_level() == CpuLevel::kAvx512 ? 40 : 30);  // with AVX2 no blocks of 16
}

TEST(Pool, OneDnnDeclinesAnotherDivisor) {
  PoolRequest r = request({1, 16, 6, 8}, 3, 3, 2, 1);  // the last windows hang over the padding
  r.average = true;
  Context context(1);
  std::string refused;
  EXPECT_EQ(plan_pool(r, context, &refused)->name(), "own");
  EXPECT_NE(refused.find("hang over the padding"), std::string::npos) << refused;
}

/// 8-bit integers, which have the same order as floats.
TEST(Pool, MaximaOfBytesEqualThoseOfFloats) {
  struct Window {
    int64_t h, w, kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
  };
  for (const Window& v : {Window{9, 7, 3, 3, 2, 2, 0, 0},
                          {8, 8, 3, 3, 2, 2, 1, 1},
                          {5, 6, 2, 2, 3, 3, 0, 0},
                          {9, 6, 3, 2, 2, 1, 1, 0},
                          {6, 9, 2, 4, 1, 3, 1, 2}})
    for (const DType dtype : {DType::kU8, DType::kS8}) {
      const Shape x{2, 19, v.h, v.w},
          y{2, 19, outputs(v.h, v.kernel_h, v.stride_h, v.pad_h), outputs(v.w, v.kernel_w, v.stride_w, v.pad_w)};
      Context context(2);
      PoolRequest r{.x = {x, dtype, Layout::kChannelsLast, 3}, .y = {y, dtype, Layout::kChannelsLast, 3}};
      r.kernel_h = v.kernel_h, r.kernel_w = v.kernel_w, r.stride_h = v.stride_h, r.stride_w = v.stride_w;
      r.pad_h = v.pad_h, r.pad_w = v.pad_w;
      const auto pool = plan_pool(r, context);
      std::vector<int8_t> bytes(size_t(x.count())), out(size_t(y.count()));
      RandomStream random(1);
      for (int8_t& b : bytes) b = int8_t(random.uniform() * 255 - 127);
      pool->forward(context, bytes.data(), out.data(), nullptr, nullptr, nullptr);
      const auto value = [&](int8_t b) { return dtype == DType::kS8 ? float(b) : float(uint8_t(b)); };
      const auto place = [](const Shape& shape, size_t i) {
        const int64_t pixels = shape.count(2), at = int64_t(i);
        return size_t((at / pixels / shape[1] * pixels + at % pixels) * shape[1] + at / pixels % shape[1]);
      };
      Values floats(bytes.size());
      for (size_t i = 0; i < floats.size(); ++i) floats[i] = value(bytes[place(x, i)]);
      r.x = {x}, r.y = {y};
      const Reference expected = reference(r, floats, Values(out.size()));
      for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(value(out[place(y, i)]), expected.y[i]) << i;
    }
}

TEST(Pool, ReturnsArgmax) {
  PoolRequest r = request({1, 1, 3, 4}, 2, 2, 2, 0);
  r.argmax = true;
  using Case = std::pair<Make, DeviceKind>;
  for (const auto& [make, kind] :
       {Case{make_pool_native, DeviceKind::kCpu}, Case{make_pool_generic, DeviceKind::kSimulated}}) {
    Context context = context_on(kind);
    std::string why;
    const auto pool = make(r, context, why);
    const Operand x(context, r.x, {1, 5, 2, 2, 3, 4, 2, 2, 9, 9, 9, 8}), y(context, r.y), places(context, r.y);
    const Fenced saved(context, pool->saved_bytes());
    pool->forward(context, x.data(), y.data(), places.data(), saved.data(), nullptr);
    EXPECT_EQ(y.values(), (Values{5, 2, 9, 9}));
    EXPECT_EQ(places.values(), (Values{1, 2, 8, 10}));
  }
}

TEST(Pool, WithoutGradientDxIsZero) {
  PoolRequest r = request({1, 1, 3, 4}, 2, 2, 2, 0);
  r.argmax = true;
  for (const DeviceKind kind : {DeviceKind::kCpu, DeviceKind::kSimulated}) {
    Context context = context_on(kind);
    const auto pool = plan_pool(r, context);
    const Operand dx(context, r.x);
    const Fenced saved(context, pool->saved_bytes());
    pool->backward(context, nullptr, dx.data(), saved.data(), nullptr);
    EXPECT_EQ(dx.values(), Values(12, 0.0f));
  }
}

}  // namespace
}  // namespace cortado::kernels
