#include <algorithm>
#include <set>

#include "core/error.h"
#include "proto/cortado.pb.h"
#include "tests/harness/errors.h"
#include "tests/layers/volume_folder.h"

namespace cortado::harness {
namespace {

/// Two volumes of 3 channels, of which two are the truth, 2 frames of 5 x 6.
class VideoWithVoxelTruthData : public testing::Test {
 protected:
  VideoWithVoxelTruthData() { folder_.add(2, kShape, false); }
  std::string layer(const std::string& own, const std::string& transform = "") const {
    return "type: 'VideoWithVoxelTruthData' top: 'data' top: 'truth' image_data_param { source: '" +
           folder_.path("list") + "' num_truth_channels: 2 " + own + " } transform_param { " + transform + " }";
  }
  void expect_error(const std::string& text, const std::string& words) const {
    cortado::expect_error([&] { LayerRun(text, {}, {.backward = false}).forward(); }, ExitCode::kData, words);
  }

  const Shape kShape{3, 2, 5, 6};
  const VolumeFolder folder_{"voxel_truth"};
};

/// Channel c of the part at (top, left) of volume i, with `value` of each voxel.
template <typename Value>
void expect_channel(const Array& y, int64_t n, int64_t k, int i, int64_t c, int64_t top, int64_t left, bool mirrored,
                    const Value& value) {
  const Shape& s = y.shape;
  for (int64_t l = 0; l < s[2]; ++l)
    for (int64_t h = 0; h < s[3]; ++h)
      for (int64_t w = 0; w < s[4]; ++w) {
        const double v = voxel_of(i, c, l, top + h, left + (mirrored ? s[4] - 1 - w : w));
        ASSERT_NEAR(y[size_t((((n * s[1] + k) * s[2] + l) * s[3] + h) * s[4] + w)], value(v), 1e-4);
      }
}

TEST_F(VideoWithVoxelTruthData, HasTheLastChannelsAsTruth) {
  LayerRun run(layer("batch_size: 2 mean_value: 50 truth_scale: 0.125", "scale: 2"), {}, {.backward = false});
  EXPECT_EQ(run.made().shapes.y, (std::vector<Shape>{{2, 1, 2, 5, 6}, {2, 2, 2, 5, 6}}));
  run.forward();
  for (int i = 0; i < 2; ++i) {
    expect_channel(run.y()[0], i, 0, i, 0, 0, 0, false, [](double v) { return (v - 50) * 2; });
    for (int k = 0; k < 2; ++k)
      expect_channel(run.y()[1], i, k, i, 1 + k, 0, 0, false, [](double v) { return v * 0.125; });
  }
}

TEST_F(VideoWithVoxelTruthData, ClipsTheTruth) {
  LayerRun run(layer("clip_min: 50 clip_max: 150"), {}, {.backward = false});
  run.forward();
  for (int k = 0; k < 2; ++k)
    expect_channel(run.y()[1], 0, k, 0, 1 + k, 0, 0, false,
                   [](double v) { return std::min(std::max((v - 50) / 100, 0.0), 1.0); });
}

TEST_F(VideoWithVoxelTruthData, CropsBothAlikeAndNegatesMirroredFlow) {
  LayerRun run(layer("is_flow: true", "crop_size: 4 mirror: true"), {}, {.backward = false});
  std::set<int> seen;
  for (int pass = 0; pass < 60; ++pass) {
    run.forward();
    const Array& y = run.y()[0];
    const bool mirrored = y[1] < y[0];
    const double corner = mirrored ? y[3] : y[0];
    int found = -1;
    for (int place = 0; place < 6; ++place)
      if (voxel_of(pass % 2, 0, 0, place / 3, place % 3) == corner) found = place;
    ASSERT_GE(found, 0);
    seen.insert(found * 2 + mirrored);
    const int64_t top = found / 3, left = found % 3;
    expect_channel(y, 0, 0, pass % 2, 0, top, left, mirrored, [](double v) { return v; });
    expect_channel(run.y()[1], 0, 0, pass % 2, 1, top, left, mirrored, [&](double v) { return mirrored ? -v : v; });
    expect_channel(run.y()[1], 0, 1, pass % 2, 2, top, left, mirrored, [](double v) { return v; });
  }
  EXPECT_GT(seen.size(), 9u);
  LayerRun centre(layer("", "crop_size: 3"), {}, {.phase = caffe::TEST, .backward = false});
  centre.forward();
  expect_channel(centre.y()[0], 0, 0, 0, 0, 1, 1, false, [](double v) { return v; });
}

TEST_F(VideoWithVoxelTruthData, ReadsBytesMeansAndShuffles) {
  folder_.add(5, kShape, true);
  caffe::BlobProto mean;
  for (const int64_t dim : {1, 1, 2, 5, 6}) mean.mutable_shape()->add_dim(dim);
  for (int k = 0; k < 60; ++k) mean.add_data(float(k));
  folder_.write("mean", mean.SerializeAsString());
  LayerRun run(layer("batch_size: 5 use_byte_input: true shuffle: true", "mean_file: '" + folder_.path("mean") + "'"),
               {}, {.backward = false});
  std::set<std::vector<double>> orders;
  for (int pass = 0; pass < 4; ++pass) {
    run.forward();
    std::vector<double> order;
    for (int64_t n = 0; n < 5; ++n) {
      const double first = run.y()[0][size_t(n * 60)];
      int i = 0;
      while (i < 5 && voxel_of(i, 0, 0, 0, 0) != first) ++i;
      ASSERT_EQ(run.y()[0][size_t(n * 60 + 7)], voxel_of(i, 0, 0, 1, 1) - 7);
      order.push_back(first);
    }
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 1u);
}

TEST_F(VideoWithVoxelTruthData, ReportsDamagedFiles) {
  const std::string whole = VolumeFolder::volume(0, kShape, false);
  const auto broken = [&](const std::string& content, const std::string& words) {
    folder_.write("v1", content);
    expect_error(layer("batch_size: 2"), words);
  };
  broken("", "too short");
  broken(whole.substr(0, 20), "has 20 bytes");
  broken(whole + "x", "its size needs");
  broken(VolumeFolder::volume(0, kShape, true), "use_byte_input");
  broken(VolumeFolder::number(2) + whole.substr(4) + whole.substr(20), "it has 2 volumes");
  broken(VolumeFolder::number(1) + VolumeFolder::number(-3) + whole.substr(8), "its size is 1x-3x2x5x6");
  broken(VolumeFolder::number(1) + VolumeFolder::number(2000000000) + whole.substr(8), "its size is 1x2000000000");
  broken(VolumeFolder::volume(0, {3, 2, 5, 7}, false), "the first one is 3x2x5x6");
  folder_.write("list", folder_.path("none") + "\n");
  expect_error(layer(""), "none");
}

TEST_F(VideoWithVoxelTruthData, ReportsErrors) {
  const auto wrong = [&](const std::string& own, const std::string& transform, const std::string& field,
                         const std::string& words) {
    expect_field_error("type: 'VideoWithVoxelTruthData' top: 'a' top: 'b' image_data_param { source: '" +
                           folder_.path("list") + "' " + own + " } transform_param { " + transform + " }",
                       {}, field, words);
  };
  const std::string own = "image_data_param.", two = "num_truth_channels: 2 ";
  wrong("", "", own + "num_truth_channels", "not set");
  wrong("num_truth_channels: 3", "", own + "num_truth_channels", "3x2x5x6");
  wrong(two + "clip_min: 2", "", own + "clip_max", "must be above clip_min");
  wrong(two + "new_height: 3", "", own + "new_height", "not supported");
  wrong(two + "batch_size: 0", "", own + "batch_size", "0");
  wrong(two, "crop_size: 6", "transform_param.crop_size", "3x2x5x6");
  wrong(two, "mean_value: 1 mean_value: 2", "transform_param.mean_value[1]", "one mean value");
  wrong(two, "force_gray: true", "transform_param.force_gray", "only cropped");
  wrong(two + "mean_value: 1", "mean_file: 'm'", "transform_param.mean_file", "set as well");
  expect_field_error("type: 'VideoWithVoxelTruthData' top: 'a' top: 'b'", {}, own + "source", "not set");
}

}  // namespace
}  // namespace cortado::harness
