#include "core/error.h"
#include "tests/layers/pair_folder.h"

namespace cortado::harness {
namespace {

TEST(ImageLabelmapData, ReturnsBinaryMaps) {
  const PairFolder folder("image_labelmap_data");
  folder.write("a.pgm", std::string("P5 3 2 255\n") + "\x01\x02\x03\x04\x05\x06");
  folder.write("b.pgm", std::string("P5 3 2 255\n") + std::string("\x00\x01\x7f\x80\xc8\xff", 6));
  folder.write("list", "a.pgm b.pgm\n");
  LayerRun run("type: 'ImageLabelmapData' top: 'data' top: 'label' image_data_param { " + folder.source() +
                   "} transform_param { mean_value: 1 }",
               {}, {.backward = false});
  EXPECT_EQ(run.made().shapes.y, (std::vector<Shape>{{1, 3, 2, 3}, {1, 1, 2, 3}}));
  run.forward();
  expect_near(run.y()[1], Array({1, 1, 2, 3}, {0, 0, 0, 1, 1, 1}), 0, "label");
  for (size_t k = 0; k < 18; ++k) EXPECT_EQ(run.y()[0][k], double(k % 6));
}

TEST(ImageLabelmapData, RejectsUnsupportedOptions) {
  const std::string layer = "type: 'ImageLabelmapData' top: 'data' image_data_param { source: 's' ";
  expect_field_error(layer + "has_label: false }", {}, "image_data_param.has_label", "without labels");
  expect_field_error(layer + "min_height: 5 }", {}, "image_data_param.min_height", "not supported");
}

TEST(ImageLabelmapData, KnowsTheShapesFromASize) {
  EXPECT_EQ(shapes_without_files("ImageLabelmapData", "image_data_param { source: 's' new_height: 6 new_width: 4 }", 2),
            (std::vector<Shape>{{1, 3, 6, 4}, {1, 1, 6, 4}}));
}

}  // namespace
}  // namespace cortado::harness
