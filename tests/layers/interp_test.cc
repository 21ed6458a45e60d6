#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"
#include "tests/layers/resized_by_shares.h"

namespace cortado::harness {
namespace {

std::string interp(const std::string& options) { return "type: 'Interp' interp_param { " + options + " }"; }

/// By the definition: the weights of all elements, most of them 0, after cropping x by `begin` and `end`.
Array resized(const Array& x, int64_t h, int64_t w, int64_t begin = 0, int64_t end = 0) {
  return resized_by_shares(x, h, w, [&](int64_t place, int64_t out, int64_t at, int64_t in) {
    if (at < begin || at >= in - end) return 0.0;
    const double where = out == 1 ? 0 : double(place) * double(in - begin - end - 1) / double(out - 1);
    return std::max(0.0, 1 - std::fabs(where - double(at - begin)));
  });
}

void check(const std::string& options, const Shape& x, int64_t h, int64_t w, int64_t begin = 0, int64_t end = 0) {
  SCOPED_TRACE(options + " of " + x.str());
  check_layer({
      .layer = interp(options),
      .x = {random(x, 1)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays { return {resized(x[0], h, w, begin, end)}; },
      .channels_last = true,
  });
}

TEST(Interp, ResizesToHeightAndWidth) {
  check("height: 7 width: 9", {2, 20, 4, 3}, 7, 9);
  check("height: 2 width: 3", {2, 3, 5, 7}, 2, 3);
  check("height: 5 width: 4", {1, 16, 5, 4}, 5, 4);
}

TEST(Interp, AcceptsOneRowOrColumn) {
  check("height: 1 width: 1", {2, 3, 4, 5}, 1, 1);
  check("height: 3 width: 4", {2, 3, 1, 1}, 3, 4);
  check("height: 3 width: 1", {1, 1, 2, 4}, 3, 1);
}

TEST(Interp, AcceptsFewerAxes) {
  for (const Shape& shape : {Shape{3}, Shape{2, 3, 4}})
    check_layer({.layer = interp("height: 3 width: 2"),
                 .x = {random(shape, 1)},
                 .reference = [](const Arrays& x, const Arrays&) -> Arrays {
                   Array whole = x[0];
                   std::vector<int64_t> dims(whole.shape.dims().begin(), whole.shape.dims().end());
                   dims.resize(4, 1);
                   whole.shape = Shape(dims);
                   return {resized(whole, 3, 2)};
                 }});
}

TEST(Interp, ShrinksThenZooms) {
  check("zoom_factor: 3", {1, 2, 3, 4}, 7, 10);
  check("shrink_factor: 2", {1, 2, 6, 7}, 3, 4);
  check("shrink_factor: 2 zoom_factor: 3", {1, 2, 6, 7}, 7, 10);
  check("zoom_factor: 1", {1, 2, 3, 4}, 3, 4);
}

TEST(Interp, CropsFirst) {
  check("height: 5 width: 5 pad_beg: -1", {1, 20, 4, 5}, 5, 5, 1, 0);
  check("height: 5 width: 6 pad_end: -2", {1, 2, 4, 5}, 5, 6, 0, 2);
  check("zoom_factor: 2 pad_beg: -1 pad_end: -1", {1, 2, 5, 6}, 5, 7, 1, 1);
}

TEST(Interp, UsesTheSizeOfASecondBottom) {
  check_layer({
      .layer = "type: 'Interp' bottom: 'x' bottom: 'size'",
      .x = {random({2, 20, 3, 4}, 1), random({1, 5, 6, 2}, 2)},
      .reference = [](const Arrays& x, const Arrays&) -> Arrays { return {resized(x[0], 6, 2)}; },
      .channels_last = true,
  });
}

TEST(Interp, KeepsTheCorners) {
  LayerRun run(interp("height: 713 width: 3"), {Array({1, 1, 2, 2}, {1, 2, 3, 4})});
  run.forward();
  const Array& y = run.y()[0];
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[1], 1.5);
  EXPECT_EQ(y[2], 2);
  EXPECT_EQ(y[712 * 3], 3);
  EXPECT_EQ(y[712 * 3 + 2], 4);
}

TEST(Interp, ReportsErrors) {
  const auto refuses = [](const std::string& options, const std::string& field, const std::string& words,
                          const std::vector<Shape>& x = {{1, 2, 3, 4}}) {
    SCOPED_TRACE(options);
    expect_field_error(interp(options), x, field, words);
  };
  const std::string p = "interp_param";
  refuses("", p, "size of the top is missing");
  refuses("use_blob_size: true", p + ".use_blob_size", "is missing");
  refuses("height: 3", p + ".height", "only one side");
  refuses("width: 3", p + ".width", "only one side");
  refuses("height: 0 width: 3", p + ".height", "height is 0");
  refuses("height: 3 width: -3", p + ".width", "width is -3");
  refuses("zoom_factor: 0", p + ".zoom_factor", "zoom_factor is 0");
  refuses("shrink_factor: -1", p + ".shrink_factor", "shrink_factor is -1");
  refuses("zoom_factor: 2 pad_beg: 1", p + ".pad_beg", "must not be above 0");
  refuses("zoom_factor: 2 pad_end: 1", p + ".pad_end", "must not be above 0");
  refuses("zoom_factor: 2 pad_beg: -1 pad_end: -2", p + ".pad_beg", "nothing is left of axis 2");
  refuses("zoom_factor: 2 pad_end: -2147483648", p + ".pad_end", "nothing is left");
  refuses("height: 3 width: 3 zoom_factor: 2", p + ".height", "contradict");
  refuses("height: 3 width: 3", p + ".height", "second bottom", {{1, 2, 3, 4}, {1, 2, 3, 4}});
  refuses("zoom_factor: 2", p + ".zoom_factor", "second bottom", {{1, 2, 3, 4}, {1, 2, 3, 4}});
  refuses("zoom_factor: 2", "bottom[0]", "N x C x H x W", {{2, 3, 4, 5, 6}});
  refuses("zoom_factor: 2", "bottom[0]", "nothing is left", {{2, 3, 4, 0}});
  refuses("", "bottom[1]", "N x C x H x W", {{1, 2, 3, 4}, {1, 2, 3, 4, 5}});
}

}  // namespace
}  // namespace cortado::harness
