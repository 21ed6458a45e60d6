#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

struct Options {
  int64_t heads = 1;
  bool causal = false;
  double scale = 0;  ///< 0: 1 / sqrt(values of a head)
};

/// The value of the mask for sample n, head h, query i and key j; axes of 1 are the same for all.
double mask_at(const Array& mask, int64_t n, int64_t h, int64_t i, int64_t j) {
  const int64_t at[] = {n, h, i, j};
  const int missing = 4 - mask.shape.axes();
  int64_t place = 0;
  for (int axis = missing; axis < 4; ++axis) {
    const int64_t extent = mask.shape[axis - missing];
    place = place * extent + (extent == 1 ? 0 : at[axis]);
  }
  return mask[size_t(place)];
}

/// By the definition, pair by pair; `mask` may be null.
Array attended(const Array& q, const Array& k, const Array& v, const Array* mask, const Options& o) {
  const int64_t samples = q.shape[0], queries = q.shape[1], keys = k.shape[1];
  const int64_t width = q.shape[2] / o.heads, wide = v.shape[2] / o.heads;
  const double scale = o.scale != 0 ? o.scale : 1 / std::sqrt(double(width));
  Array y({samples, queries, v.shape[2]}, 0.0);
  for (int64_t n = 0; n < samples; ++n)
    for (int64_t h = 0; h < o.heads; ++h)
      for (int64_t i = 0; i < queries; ++i) {
        std::vector<double> p(static_cast<size_t>(keys));
        double sum = 0;
        for (int64_t j = 0; j < keys; ++j) {
          double dot = 0;
          for (int64_t c = 0; c < width; ++c)
            dot += q[size_t((n * queries + i) * q.shape[2] + h * width + c)] *
                   k[size_t((n * keys + j) * q.shape[2] + h * width + c)];
          const double bias = mask ? mask_at(*mask, n, h, i, j) : 0;
          sum += p[size_t(j)] = o.causal && j > i ? 0 : std::exp(scale * dot + bias);
        }
        for (int64_t j = 0; j < keys && sum > 0; ++j)
          for (int64_t c = 0; c < wide; ++c)
            y[size_t((n * queries + i) * v.shape[2] + h * wide + c)] +=
                p[size_t(j)] / sum * v[size_t((n * keys + j) * v.shape[2] + h * wide + c)];
      }
  return y;
}

/// Part `part` of three of the last axis.
Array third(const Array& x, int part) {
  const int64_t width = x.shape[2] / 3;
  Array y({x.shape[0], x.shape[1], width});
  for (int64_t row = 0; row < x.shape[0] * x.shape[1]; ++row)
    for (int64_t c = 0; c < width; ++c) y[size_t(row * width + c)] = x[size_t(row * 3 * width + part * width + c)];
  return y;
}

std::string text_of(const Options& o) {
  return "type: 'Attention' attention_param { heads: " + std::to_string(o.heads) + (o.causal ? " causal: true" : "") +
         (o.scale != 0 ? " scale: " + std::to_string(o.scale) : "") + " }";
}

LayerCase packed(const Options& o, const Shape& shape) {
  return {
      .layer = text_of(o) + " bottom: 'qkv' top: 'y'",
      .x = {random(shape, 1, -2, 2)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        return {attended(third(x[0], 0), third(x[0], 1), third(x[0], 2), nullptr, o)};
      },
  };
}

LayerCase separate(const Options& o, const Shape& q, const Shape& k, const Shape& v) {
  return {
      .layer = text_of(o) + " bottom: 'q' bottom: 'k' bottom: 'v' top: 'y'",
      .x = {random(q, 1, -2, 2), random(k, 2), random(v, 3)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays { return {attended(x[0], x[1], x[2], nullptr, o)}; },
  };
}

TEST(Attention, AttendsWithOneHead) { check_layer(packed({}, {2, 5, 12})); }
TEST(Attention, AttendsWithSeveralHeads) {
  check_layer(packed({.heads = 2}, {2, 5, 18}));
  check_layer(packed({.heads = 3, .scale = 0.7}, {1, 7, 27}));
}
TEST(Attention, ReadsSeparateBottoms) {
  check_layer(separate({.heads = 2}, {2, 3, 6}, {2, 5, 6}, {2, 5, 8}));
  check_layer(separate({}, {1, 2, 20}, {1, 1, 20}, {1, 1, 1}));
}
TEST(Attention, ExcludesLaterPositions) {
  check_layer(packed({.heads = 2, .causal = true}, {2, 6, 12}));
  check_layer(separate({.causal = true}, {1, 4, 3}, {1, 4, 3}, {1, 4, 2}));
}

TEST(Attention, AddsAMask) {
  const Options o = {.heads = 2};
  for (const Shape& shape : {Shape{4, 4}, Shape{2, 2, 4, 4}, Shape{1, 2, 1, 4}, Shape{2, 1, 4, 4}, Shape{1, 4}}) {
    SCOPED_TRACE(shape.str());
    LayerCase of_mask = packed(o, {2, 4, 12});
    of_mask.layer = text_of(o) + " bottom: 'qkv' bottom: 'mask' top: 'y'";
    of_mask.x.push_back(random(shape, 4));
    of_mask.reference = [=](const Arrays& x, const Arrays&) -> Arrays {
      return {attended(third(x[0], 0), third(x[0], 1), third(x[0], 2), &x[1], o)};
    };
    check_layer(of_mask);
  }
}

/// More queries and keys than a block has: forward, and the gradients of a few inputs by differences.
void check_blocks(const Options& o, const Array& q, const Array& k, const Array& v) {
  Arrays x = {q, k, v};
  LayerRun run(text_of(o) + " bottom: 'q' bottom: 'k' bottom: 'v' top: 'y'", x, {.backward = true});
  run.forward();
  const Array y = attended(q, k, v, nullptr, o);
  expect_near(run.y()[0], y, 1e-5, "y");
  const Array dy = random(y.shape, 9);
  run.backward({dy});
  const auto loss = [&](const Arrays& at) {
    const Array y_at = attended(at[0], at[1], at[2], nullptr, o);
    double sum = 0;
    for (size_t i = 0; i < y_at.size(); ++i) sum += y_at[i] * dy[i];
    return sum;
  };
  for (size_t bottom = 0; bottom < 3; ++bottom)
    for (const size_t i : {size_t(0), x[bottom].size() / 2, x[bottom].size() - 1}) {
      const double step = 1e-4, before = x[bottom][i];
      x[bottom][i] = before + step;
      const double above = loss(x);
      x[bottom][i] = before - step;
      const double slope = (above - loss(x)) / (2 * step);
      x[bottom][i] = before;
      EXPECT_NEAR(run.dx(bottom)[i], slope, 2e-5) << "bottom " << bottom << " value " << i;
    }
}

TEST(Attention, WorksInBlocks) {
  check_blocks({.heads = 2}, random({1, 40, 8}, 1, -2, 2), random({1, 300, 8}, 2), random({1, 300, 40}, 3));
  check_blocks({.heads = 2, .causal = true}, random({1, 290, 8}, 1, -2, 2), random({1, 290, 8}, 2),
               random({1, 290, 6}, 3));
  check_blocks({}, random({1, 20, 130}, 1, -2, 2), random({1, 20, 130}, 2), random({1, 20, 7}, 3));
}

TEST(Attention, IsZeroWhereTheMaskExcludesAllKeys) {
  Array mask({2, 2}, 0.0);
  mask[2] = mask[3] = -INFINITY;
  const Array x = random({1, 2, 6}, 1);
  LayerRun run("type: 'Attention' bottom: 'qkv' bottom: 'mask' top: 'y'", {x, mask}, {.backward = true});
  run.forward();
  const Array y = run.y()[0];
  EXPECT_NE(y[0], 0);
  EXPECT_EQ(y[2], 0);
  EXPECT_EQ(y[3], 0);
  run.backward({Array(y.shape, 1.0)});
  for (const double v : run.dx(0).values) EXPECT_TRUE(std::isfinite(v));
  EXPECT_EQ(run.dx(0)[6], 0);
}

TEST(Attention, HandlesLargeScoresAndNan) {
  Array x({1, 2, 3}, {1e4, 1e4, 3, 1e4, -1e4, 5});
  LayerRun run("type: 'Attention' bottom: 'qkv' top: 'y'", {x});
  run.forward();
  EXPECT_EQ(run.y()[0].values, (std::vector<double>{3, 3}));
  x[0] = NAN;
  LayerRun with_nan("type: 'Attention' bottom: 'qkv' top: 'y'", {x});
  with_nan.forward();
  EXPECT_TRUE(std::isnan(with_nan.y()[0][0]));
  EXPECT_EQ(with_nan.y()[0][1], 3);
}

TEST(Attention, ReportsErrors) {
  const auto expect = [](const std::string& options, const std::vector<Shape>& x, const std::string& field,
                         const std::string& words) {
    std::string bottoms;
    for (size_t i = 0; i < x.size(); ++i) bottoms += " bottom: 'x" + std::to_string(i) + "'";
    expect_field_error("type: 'Attention'" + bottoms + " top: 'y' attention_param { " + options + " }", x, field,
                       words);
  };
  expect("heads: 0", {{2, 3, 6}}, "attention_param.heads", "0 heads");
  expect("scale: nan", {{2, 3, 6}}, "attention_param.scale", "nan");
  expect("", {{2, 6}}, "bottom[0]", "samples x positions x values");
  expect("heads: 4", {{2, 3, 6}}, "bottom[0]", "queries, keys and values of 4 heads");
  expect("heads: 4", {{2, 3, 6}, {2, 3, 8}, {2, 3, 8}}, "bottom[0]", "6 values");
  expect("heads: 4", {{2, 3, 8}, {2, 3, 8}, {2, 3, 6}}, "bottom[2]", "6 values");
  expect("", {{2, 3, 8}, {2, 4, 7}, {2, 4, 8}}, "bottom[1]", "2x4x7");
  expect("", {{2, 3, 8}, {1, 4, 8}, {2, 4, 8}}, "bottom[1]", "only the numbers of positions");
  expect("", {{2, 3, 8}, {2, 4, 8}, {2, 5, 8}}, "bottom[2]", "2x5x8");
  expect("causal: true", {{2, 3, 8}, {2, 4, 8}, {2, 4, 8}}, "attention_param.causal", "3 queries, but 4 keys");
  expect("", {{2, 3, 6}, {3, 4}}, "bottom[1]", "the mask is 3x4");
  expect("", {{2, 3, 6}, {2, 3, 3}}, "bottom[1]", "2x1x3x3");
  expect("", {{2, 3, 6}, {2, 1, 3, 1}}, "bottom[1]", "the mask is 2x1x3x1");
}

}  // namespace
}  // namespace cortado::harness
