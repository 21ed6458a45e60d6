// ImageData: lists, sizes, orders and errors. pipeline_test.cc tests what follows.
#include "data/sources/image_source.h"

#include <sys/stat.h>

#include "data/sources/image_list.h"
#include "tests/data/fixtures.h"
#include "tests/data/layer_batches.h"

namespace cortado::data::testing {

namespace {

/// Twelve images, every second one a JPEG, in a folder whose name contains a space.
class ImageSource : public ::testing::Test {
 protected:
  ImageSource() {
    std::filesystem::create_directory(folder_ / "some images");
    std::string list;
    for (int i = 0; i < kImages; ++i) {
      const std::string name = "some images/an image " + std::to_string(i) + (i % 2 ? ".jpg" : ".ppm");
      images_.push_back(picture(3, 20, 26, i));
      write_file(folder_ / name, i % 2 ? encode_image(images_.back(), "jpg") : pnm(images_.back()));
      list += name + " " + std::to_string(100 - i) + (i % 3 ? "\n" : "\r\n");
    }
    write_file(folder_ / "list.txt", list);
  }

  std::string layer(const std::string& more, const std::string& rest = "", int batch = 4) const {
    return "type: 'ImageData' top: 'data' top: 'label' image_data_param { source: '" + (folder_ / "list.txt") +
           "' root_folder: '" + (folder_ / "") + "' batch_size: " + std::to_string(batch) + " " + more + " } " + rest;
  }

  /// Image `i`, decoded.
  Image decoded(int i, ColorMode mode = ColorMode::kColor) const {
    Image image;
    ImageDecoder().decode(i % 2 ? encode_image(images_[size_t(i)], "jpg") : pnm(images_[size_t(i)]), mode, image);
    return image;
  }

  static constexpr int kImages = 12;
  const Folder folder_;
  std::vector<Image> images_;
};

/// Planar floats of an image.
std::vector<float> planar(const Image& image) {
  std::vector<float> values;
  for (int c = 0; c < image.channels; ++c)
    for (int i = 0; i < image.height * image.width; ++i) values.push_back(image.pixels[size_t(i * image.channels + c)]);
  return values;
}

TEST_F(ImageSource, ReadsTheListInItsOrder) {
  const std::vector<LayerBatch> batches = layer_batches(layer(""), 4);
  EXPECT_EQ(batches[0].shape, (Shape{4, 3, 20, 26}));
  for (int i = 0; i < 16; ++i) {
    const LayerBatch& batch = batches[size_t(i / 4)];
    EXPECT_EQ(batch.labels[size_t(i % 4)], float(100 - i % kImages));
    const auto from = batch.data.begin() + (i % 4) * 1560;
    EXPECT_EQ(std::vector<float>(from, from + 1560), planar(decoded(i % kImages))) << i;
  }
}

TEST_F(ImageSource, EveryShuffledEpochHasEachImageOnceInANewOrder) {
  const std::vector<LayerBatch> batches = layer_batches(layer("shuffle: true"), 6);
  std::vector<std::vector<float>> epochs(2);
  for (int b = 0; b < 6; ++b)
    epochs[size_t(b / 3)].insert(epochs[size_t(b / 3)].end(), batches[size_t(b)].labels.begin(),
                                 batches[size_t(b)].labels.end());
  EXPECT_NE(epochs[0], epochs[1]);
  for (std::vector<float>& epoch : epochs) {
    std::sort(epoch.begin(), epoch.end());
    for (int i = 0; i < kImages; ++i) EXPECT_EQ(epoch[size_t(i)], float(100 - kImages + 1 + i));
  }
  EXPECT_NE(layer_batches(layer("shuffle: true"), 3, {.seed = 2}), std::vector(batches.begin(), batches.begin() + 3));
}

TEST_F(ImageSource, ThreadsPositionsCachesAndDevicesDoNotChangeBatches) {
  for (const char* sizes : {"shuffle: true", "shuffle: true new_height: 17 new_width: 15"}) {
    const std::string rest = "transform_param { crop_size: 12 mirror: true mean_value: 9 }";
    const std::vector<LayerBatch> expected = layer_batches(layer(sizes, rest), 9);
    EXPECT_EQ(layer_batches(layer(sizes, rest), 9, {.threads = 8}), expected);
    EXPECT_EQ(layer_batches(layer(sizes, rest + " data_param { prefetch: 1 }"), 9), expected);
    EXPECT_EQ(layer_batches(layer(std::string(sizes) + " cache: true precache: true", rest), 9), expected);
    EXPECT_EQ(
        layer_batches(layer(sizes, rest + " data_param { cache_on: DEVICE }"), 9, {.device = DeviceKind::kSimulated}),
        expected);
    EXPECT_EQ(layer_batches(layer(sizes, rest), 9, {.threads = 2, .device = DeviceKind::kSimulated}), expected);
    for (const int from : {3, 5})
      EXPECT_EQ(layer_batches(layer(sizes, rest), 9 - from, {.threads = 3, .from = uint64_t(4 * from)}),
                std::vector(expected.begin() + from, expected.end()));
  }
}

TEST_F(ImageSource, ResizesBeforeAnythingElse) {
  Image resized;
  resize_bilinear(decoded(0), 33, 9, resized);
  EXPECT_EQ(layer_batches(layer("new_height: 33 new_width: 9", "", 1), 1)[0].data, planar(resized));

  caffe::BlobProto mean;  // of the new size, and cropped with the image
  for (const int dim : {3, 33, 9}) mean.mutable_shape()->add_dim(dim);
  for (int i = 0; i < 3 * 33 * 9; ++i) mean.add_data(float(i % 7));
  write_file(folder_ / "mean.binaryproto", mean.SerializeAsString());
  const LayerBatch batch =
      layer_batches(layer("new_height: 33 new_width: 9",
                          "transform_param { crop_size: 5 mean_file: '" + (folder_ / "mean.binaryproto") + "' }", 1),
                    1, {.phase = caffe::TEST})[0];
  EXPECT_EQ(batch.shape, (Shape{1, 3, 5, 5}));
  const std::vector<float> whole = planar(resized);
  for (int c = 0; c < 3; ++c)
    for (int y = 0; y < 5; ++y)
      for (int x = 0; x < 5; ++x) {
        const int at = (c * 33 + y + 14) * 9 + x + 2;
        EXPECT_EQ(batch.data[size_t((c * 5 + y) * 5 + x)], whole[size_t(at)] - float(at % 7));
      }
}

TEST_F(ImageSource, ResizesTheShorterSideAndEnlargesSmallImages) {
  const auto shape = [&](const std::string& more) { return layer_batches(layer(more, "", 1), 1)[0].shape; };
  EXPECT_EQ(shape("short_side: 10"), (Shape{1, 3, 10, 13}));
  EXPECT_EQ(shape("short_side: 40"), (Shape{1, 3, 40, 52}));
  EXPECT_EQ(shape("min_height: 30 min_width: 10"), (Shape{1, 3, 30, 39}));
  EXPECT_EQ(shape("min_height: 5 min_width: 39"), (Shape{1, 3, 30, 39}));
  EXPECT_EQ(shape("min_height: 20 min_width: 26"), (Shape{1, 3, 20, 26}));
  EXPECT_EQ(shape("min_height: 100 new_height: 6 new_width: 7"), (Shape{1, 3, 6, 7}));
}

TEST_F(ImageSource, GrayHasTwoNames) {
  const std::vector<float> gray = planar(decoded(0, ColorMode::kGray));
  EXPECT_EQ(layer_batches(layer("is_color: false", "", 1), 1)[0].data, gray);
  EXPECT_EQ(layer_batches(layer("", "transform_param { force_gray: true }", 1), 1)[0].data, gray);
  expect_field("image_data_param.is_color", layer("is_color: false", "transform_param { force_color: true }"));
}

TEST_F(ImageSource, RandSkipStartsWithinTheList) {
  const std::vector<LayerBatch> batches = layer_batches(layer("rand_skip: 9", "", 1), 12, {.seed = 5});
  EXPECT_LT(100 - batches[0].labels[0], 9);
  EXPECT_GT(100 - batches[0].labels[0], 0) << "this seed skips some";
  EXPECT_EQ(batches[1].labels[0], batches[0].labels[0] - 1);
}

TEST_F(ImageSource, ImagesOfManySizesNeedACrop) {
  write_file(folder_ / "some images/an image 2.ppm", pnm(picture(3, 24, 20)));
  EXPECT_EQ(layer_batches(layer("", "transform_param { crop_size: 20 }"), 1)[0].shape, (Shape{4, 3, 20, 20}));
  expect_error([&] { layer_batches(layer(""), 1); }, ExitCode::kData,
               "list.txt:3:1: error: some images/an image 2.ppm: the image is 3x24x20");
}

TEST_F(ImageSource, AMissingOrBrokenImageIsReportedWithItsLine) {
  std::filesystem::remove(folder_ / "some images/an image 4.ppm");
  for (const int threads : {1, 8})
    expect_error([&] { layer_batches(layer(""), 3, {.threads = threads}); }, ExitCode::kData,
                 "list.txt:5:1: error: some images/an image 4.ppm: cannot read the file: No such file");
  ASSERT_EQ(::mkfifo((folder_ / "some images/an image 4.ppm").c_str(), 0600), 0);
  expect_error([&] { layer_batches(layer(""), 3); }, ExitCode::kData, "this is a pipe, not a regular file");
  std::filesystem::remove(folder_ / "some images/an image 4.ppm");
  std::filesystem::create_directory(folder_ / "some images/an image 4.ppm");
  expect_error([&] { layer_batches(layer(""), 3); }, ExitCode::kData, "this is a folder");
  write_file(folder_ / "some images/an image 3.jpg", encode_image(images_[3], "jpg").substr(0, 300));
  expect_error([&] { layer_batches(layer("new_height: 8 new_width: 8"), 3); }, ExitCode::kData,
               "list.txt:4:1: error: some images/an image 3.jpg: the JPEG");
  write_file(folder_ / "some images/an image 0.ppm", "");
  expect_error([&] { DataPipeline pipeline(pipeline_of(layer(""))); }, ExitCode::kData, "list.txt:1:1");
}

TEST_F(ImageSource, NamesTheWrongField) {
  const std::string own = "image_data_param.";
  expect_field(own + "source", "type: 'ImageData' image_data_param { }");
  expect_field(own + "batch_size", layer("", "", 0));
  expect_field(own + "new_width", layer("new_width: 3"));
  expect_field(own + "new_height", layer("new_height: 3"));
  expect_field(own + "new_height", layer("new_height: 70000 new_width: 3"));
  expect_field(own + "short_side", layer("short_side: 8 new_height: 3 new_width: 3"));
  expect_field(own + "dataset_share_per_node", layer("dataset_share_per_node: 2"));
  expect_field("data_param.prefetch", layer("", "data_param { prefetch: 10000 }"));
}

TEST(ImageSourceOptions, ThreadsOfTheProgramOverrideTheLayers) {
  const caffe::LayerParameter given =
      layer_of("type: 'ImageData' image_data_param { source: 'l' threads: 3 } data_param { prefetch: 2 seed: 9 }");
  EXPECT_EQ(make_image_options(given, {}, true).threads, 3);
  EXPECT_EQ(make_image_options(given, {.data_threads = 7}, true).threads, 7);
  EXPECT_EQ(make_image_options(given, {}, true).prefetch, 2);
  EXPECT_EQ(make_image_options(given, {}, true).seed, 9u);
  EXPECT_EQ(make_image_options(given, {}, true).batch_size, 1);
}

TEST(ImageList, ReadsLabelsOfSeveralNumbers) {
  const Folder folder;
  write_file(folder / "list", "a b.jpg 1 -2.5\nc.jpg 3e2 0\n");
  const ImageList list(folder / "list", 2);
  EXPECT_EQ(list[0].name, "a b.jpg");
  EXPECT_EQ(list[1].label, 1) << "the line's number";
  EXPECT_EQ(list.label_rows(), (std::vector<float>{1, -2.5, 300, 0}));
  write_file(folder / "list", "a.jpg 1 2\nb.jpg 3\nc.jpg 1 x\nd.jpg 1 nan\n");
  try {
    ImageList wrong(folder / "list", 2);
    ADD_FAILURE();
  } catch (const Error& error) {
    std::vector<int> lines;
    for (const Diagnostic& mistake : error.mistakes()) lines.push_back(mistake.place.line);
    EXPECT_EQ(lines, (std::vector<int>{2, 3, 4})) << error.what();
  }
}

TEST(ImageList, ReportsEveryWrongLine) {
  const Folder folder;
  write_file(folder / "list", "a.jpg 1\n\nb.jpg\nc d.jpg one\ne.jpg 99999999999\n 3\nf.jpg -1 \n");
  try {
    ImageList list(folder / "list");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kData);
    std::vector<std::pair<int, int>> places;
    for (const Diagnostic& mistake : error.mistakes()) places.emplace_back(mistake.place.line, mistake.place.column);
    EXPECT_EQ(places, (std::vector<std::pair<int, int>>{{3, 1}, {4, 9}, {5, 7}, {6, 1}})) << error.what();
  }
  write_file(folder / "list", "a.jpg 1\nb c.jpg -1\n");
  const ImageList list(folder / "list");
  EXPECT_EQ(list.size(), 2u);
  EXPECT_EQ(list[1].name, "b c.jpg");
  EXPECT_EQ(list[1].label, -1);
  write_file(folder / "list", "\n \n");
  expect_error([&] { ImageList empty(folder / "list"); }, ExitCode::kData, "no image");
  write_file(folder / "list", std::string("\xff\xd8\0\x10", 4));
  expect_error([&] { ImageList binary(folder / "list"); }, ExitCode::kData, "not a text file");
  expect_error([&] { ImageList missing(folder / "none"); }, ExitCode::kIo, "none");
}

}  // namespace

}  // namespace cortado::data::testing
