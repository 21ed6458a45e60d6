// The choices of `cortado new`, without files of nets and datasets.
#include <gtest/gtest.h>

#include "core/error.h"
#include "proto/files/read_text.h"
#include "tools/starter/head.h"
#include "tools/starter/schedule.h"
#include "tools/starter/transform.h"

namespace cortado::tools::testing {

namespace {

DatasetFolder images(int64_t count, int height, int width, int least = 0, int channels = 3) {
  DatasetFolder data;
  data.names = {"ant", "bee", "cat"};
  data.stats.records = data.stats.decoded = count;
  data.stats.per_channels[channels] = count;
  data.stats.per_size["largest"] = 1;
  if (least > 0) data.stats.per_size["least"] = 1;
  data.stats.height.counts[height] = data.stats.width.counts[width] = count;
  if (least > 0) data.stats.short_side.counts[least] = count / 2;
  data.stats.short_side.counts[std::min(height, width)] += count - (least > 0 ? count / 2 : 0);
  data.stats.mean.assign(size_t(channels), 100.04);
  data.stats.deviation.assign(size_t(channels), 50);
  return data;
}

StartingNet net_for(int side, const std::string& filler = "xavier") {
  StartingNet start;
  start.side = side;
  start.name = "start";
  auto file = std::make_shared<NetFile>();
  caffe::LayerParameter& layer = *file->net.add_layer();
  layer.set_type("Convolution");
  layer.mutable_convolution_param()->mutable_weight_filler()->set_type(filler);
  start.file = file;
  start.transform.add_mean_value(104);
  start.transform.set_scale(0.017F);
  return start;
}

TEST(StarterTransform, SmallImagesOfOneSizeStay) {
  const TransformChoice choice = choose_transform(images(1000, 28, 32), net_for(28), {});
  EXPECT_EQ(choice.train.crop_size(), 0U);
  EXPECT_EQ(choice.height, 28);
  EXPECT_EQ(choice.width, 32);
  EXPECT_GT(choice.train.augment().translate(), 0);
  EXPECT_FALSE(choice.test.has_augment());
  EXPECT_FLOAT_EQ(choice.train.mean_value(0), 100.0F);
  EXPECT_FLOAT_EQ(choice.train.scale(), 0.02F);
  EXPECT_FLOAT_EQ(choice.test.scale(), 0.02F);
}

TEST(StarterTransform, PhotographsAreCroppedInTrainingAndResizedInTesting) {
  const TransformChoice choice = choose_transform(images(1000, 600, 800, 300), net_for(224), {.any_side = true});
  EXPECT_EQ(choice.train.crop_size(), 224U);
  EXPECT_TRUE(choice.train.augment().has_resized_crop());
  EXPECT_FALSE(choice.train.augment().has_short_side());
  EXPECT_EQ(choice.test.augment().short_side(), 256U);
  EXPECT_EQ(choice.test.crop_size(), 224U);
}

TEST(StarterTransform, SmallPhotographsAreNotEnlargedUnlessTheNetNeedsIt) {
  EXPECT_EQ(choose_transform(images(9, 120, 130, 110), net_for(224), {.any_side = true}).train.crop_size(), 96U);
  EXPECT_EQ(choose_transform(images(9, 120, 130, 110), net_for(224), {}).train.crop_size(), 224U);
  EXPECT_EQ(choose_transform(images(9, 120, 130, 110), net_for(224), {.side = 80}).train.crop_size(), 80U);
}

TEST(StarterTransform, TinyImagesAreEnlarged) {
  const TransformChoice choice = choose_transform(images(9, 12, 12), net_for(28), {});
  EXPECT_EQ(choice.train.crop_size(), 28U);
  EXPECT_EQ(choice.train.augment().short_side(), 28U);
  EXPECT_EQ(choice.test.augment().short_side(), 28U);
}

TEST(StarterTransform, FinetuningKeepsMeanAndScaleOfTheWeights) {
  const TransformChoice choice = choose_transform(images(9, 300, 300), net_for(224), {.keep_values = true});
  ASSERT_EQ(choice.train.mean_value_size(), 1);
  EXPECT_FLOAT_EQ(choice.train.mean_value(0), 104);
  EXPECT_FLOAT_EQ(choice.train.scale(), 0.017F);
  EXPECT_FLOAT_EQ(choose_transform(images(9, 300, 300), net_for(224, "gaussian"), {}).train.scale(), 0.017F)
      << "fillers with a fixed std expect the recipe's scale";
}

TEST(StarterTransform, OneSmallImageDoesNotChangeTheSize) {
  DatasetFolder data = images(1000, 600, 800, 500);
  ++data.stats.short_side.counts[32];
  ++data.stats.per_size["thumbnail"];
  EXPECT_EQ(choose_transform(data, net_for(224), {.any_side = true}).train.crop_size(), 224U);
}

TEST(StarterTransform, ClassNamesDisableMirroring) {
  const auto mirrors = [](const std::vector<std::string>& names) {
    DatasetFolder data = images(1000, 28, 28);
    data.names = names;
    return choose_transform(data, net_for(28), {}).train.augment().has_flip_h();
  };
  for (const std::vector<std::string>& names :
       std::vector<std::vector<std::string>>{{"zero", "one", "two"},
                                             {"digit_0", "digit_1"},
                                             {"0", "1", "100"},
                                             {"0 - zero", "1 - one"},
                                             {"A_upper", "a_lower", "B_upper", "none"},
                                             {"Alpha", "Beta", "Gamma"},
                                             {"TurnLeft", "TurnRight", "Stop"},
                                             {"left_hand", "right_hand"},
                                             {"ahead", "keep-right"}})
    EXPECT_FALSE(mirrors(names)) << names[0];
  for (const std::vector<std::string>& names : std::vector<std::vector<std::string>>{{"ant", "bee", "cat"},
                                                                                     {"001.ak47", "002.american-flag"},
                                                                                     {"bright", "leftover"},
                                                                                     {"daisy", "rose", "x"},
                                                                                     {"\xc3\xa4pfel", "birnen"}})
    EXPECT_TRUE(mirrors(names)) << names[0];
}

TEST(StarterTransform, DigitsAreNotMirrored) {
  DatasetFolder data = images(1000, 28, 28);
  EXPECT_TRUE(choose_transform(data, net_for(28), {}).train.augment().has_flip_h());
  data.names = {"0", "1", "10"};
  EXPECT_FALSE(choose_transform(data, net_for(28), {}).train.augment().has_flip_h());
}

TEST(StarterSchedule, IsLongerThanItsWarmUp) {
  const Recipe recipe{.source = "x", .base_lr = 0.1F, .batch = 256, .batch_at_once = 64};
  for (const int64_t images : {1, 2, 3, 5, 17})
    for (const int64_t batch : {0, 1, 2, 7, 64})
      for (const int64_t epochs : {1, 2, 3}) {
        const Schedule schedule = choose_schedule(images, recipe, {.batch = batch, .epochs = epochs});
        EXPECT_EQ(schedule.iterations, (epochs * images + schedule.batch - 1) / schedule.batch);
        EXPECT_LT(schedule.warmup, schedule.iterations) << images << " images, batch " << batch;
      }
}

TEST(StarterSchedule, FollowsTheNumberOfImages) {
  const Recipe recipe{.source = "x", .base_lr = 0.1F, .batch = 256, .batch_at_once = 64};
  const Schedule few = choose_schedule(100, recipe, {}), many = choose_schedule(50000, recipe, {});
  EXPECT_EQ(few.batch, 16);
  EXPECT_EQ(few.epochs, 80);
  EXPECT_EQ(few.iterations, 80 * 100 / 16) << "epochs follow each other without a gap in a batch";
  EXPECT_FLOAT_EQ(few.base_lr, 0.0063F);  // 0.1 * 16 / 256, rounded to two digits
  EXPECT_EQ(many.batch, 64);
  EXPECT_EQ(many.epochs, 10);
  EXPECT_FLOAT_EQ(many.base_lr, 0.025F);
  EXPECT_LT(few.display, many.display);
  for (const Schedule& schedule : {few, many, choose_schedule(1, recipe, {}), choose_schedule(2, recipe, {})}) {
    EXPECT_GE(schedule.display, 1);
    EXPECT_GE(schedule.warmup, 1);
    EXPECT_GE(schedule.test_interval, 1);
    EXPECT_GE(schedule.snapshot, 1);
    EXPECT_LE(schedule.warmup, schedule.iterations);
  }
}

TEST(StarterSchedule, FinetuningIsSlowerAndShorter) {
  const Recipe recipe{.source = "x", .base_lr = 0.1F, .batch = 64, .batch_at_once = 64};
  const Schedule fresh = choose_schedule(5000, recipe, {}),
                 tuned = choose_schedule(5000, recipe, {.from_weights = true, .slow = true});
  EXPECT_FLOAT_EQ(tuned.base_lr, fresh.base_lr / 10);
  EXPECT_LT(tuned.epochs, fresh.epochs);
  const Schedule own = choose_schedule(5000, recipe, {.batch = 8, .epochs = 3});
  EXPECT_EQ(own.batch, 8);
  EXPECT_EQ(own.epochs, 3);
}

constexpr char kNet[] = R"(
layer { name: "data" type: "Data" top: "data" top: "label" }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv" convolution_param { num_output: 8 } }
layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool" pooling_param { pool: AVE kernel_size: 7 } }
layer { name: "drop" type: "Dropout" bottom: "pool" top: "pool" }
layer { name: "fc" type: "InnerProduct" bottom: "pool" top: "fc" param { lr_mult: 1 } param { lr_mult: 2 }
  inner_product_param { num_output: 1000 } }
layer { name: "relu" type: "ReLU" bottom: "fc" top: "fc" }
layer { name: "top5" type: "Accuracy" bottom: "fc" bottom: "label" top: "top5" accuracy_param { top_k: 5 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" })";

TEST(StarterHead, IsFoundAmongLayersWithoutWeights) {
  caffe::NetParameter net = read_net_from_text(kNet, "net").net;
  const std::vector<int> heads = head_layers(net, "net");
  ASSERT_EQ(heads, std::vector<int>{4});
  EXPECT_TRUE(pool_globally(net, heads));
  EXPECT_TRUE(net.layer(2).pooling_param().global_pooling());
  set_classes(net, heads, 3, "birds", 10);
  EXPECT_EQ(net.layer(4).name(), "fc_birds");
  EXPECT_EQ(net.layer(4).inner_product_param().num_output(), 3U);
  EXPECT_FLOAT_EQ(net.layer(4).param(0).lr_mult(), 10);
  EXPECT_FLOAT_EQ(net.layer(4).param(1).lr_mult(), 20);
  for (const caffe::LayerParameter& layer : net.layer())
    EXPECT_NE(layer.name(), "top5") << "top_k: 5 exceeds 3 classes";
  EXPECT_EQ(accuracy_blob(net), "accuracy");
  EXPECT_EQ(net.layer(net.layer_size() - 1).bottom(0), "fc");
}

TEST(StarterHead, NetsWithoutClassifierAreErrors) {
  const caffe::NetParameter net = read_net_from_text("layer { name: 'x' type: 'EuclideanLoss' }", "net").net;
  EXPECT_THROW(head_layers(net, "net"), Error);
}

}  // namespace

}  // namespace cortado::tools::testing
