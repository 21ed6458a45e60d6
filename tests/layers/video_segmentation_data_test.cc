#include "tests/layers/volume_folder.h"

namespace cortado::harness {
namespace {

TEST(VideoSegmentationData, HasTheLastChannelAsClasses) {
  const VolumeFolder folder("video_segmentation");
  const Shape shape{4, 2, 5, 6};
  folder.add(3, shape, true);
  LayerRun run("type: 'VideoSegmentationData' top: 'data' top: 'truth' image_data_param { source: '" +
                   folder.path("list") + "' batch_size: 2 } transform_param { crop_size: 3 mean_value: 4 scale: 0.5 }",
               {}, {.phase = caffe::TEST, .backward = false});
  EXPECT_EQ(run.made().shapes.y, (std::vector<Shape>{{2, 3, 2, 3, 3}, {2, 1, 2, 3, 3}}));
  for (int pass = 0; pass < 3; ++pass) {
    run.forward();
    for (int n = 0; n < 2; ++n)
      for (int64_t c = 0; c < 4; ++c)
        for (int64_t k = 0; k < 18; ++k) {
          const double v = voxel_of((2 * pass + n) % 3, c, k / 9, 1 + k / 3 % 3, 1 + k % 3);
          if (c < 3)
            ASSERT_EQ(run.y()[0][size_t((n * 3 + c) * 18 + k)], (v - 4) * 0.5);
          else
            ASSERT_EQ(run.y()[1][size_t(n * 18 + k)], v);
        }
  }
}

}  // namespace
}  // namespace cortado::harness
