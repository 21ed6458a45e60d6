#pragma once

// Reads batches of a data layer in text form, by the pipeline of its options.

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "core/device/device_memory.h"
#include "data/pipeline/pipeline_options.h"

namespace cortado::data::testing {

struct LayerBatch {
  Shape shape;
  std::vector<float> data, labels;
  bool operator==(const LayerBatch&) const = default;
};

struct ReadOptions {
  int threads = 1;
  uint64_t from = 0;  ///< position
  DeviceKind device = DeviceKind::kCpu;
  caffe::Phase phase = caffe::TRAIN;
  uint64_t seed = 1;
};

inline caffe::LayerParameter layer_of(const std::string& text) {
  caffe::LayerParameter layer;
  if (!google::protobuf::TextFormat::ParseFromString(text, &layer))
    throw std::runtime_error("cannot parse the layer: " + text);
  return layer;
}

inline PipelineOptions pipeline_of(const std::string& text, const ReadOptions& read = {}) {
  DataOptions options;
  options.phase = read.phase;
  options.data_threads = read.threads;
  options.seed = read.seed;
  const caffe::LayerParameter layer = layer_of(text);
  return (layer.type() == "WindowData" ? make_window_options : make_image_options)(layer, options, true);
}

inline std::vector<LayerBatch> layer_batches(const std::string& text, int n, const ReadOptions& read = {}) {
  Context context({.threads = 2, .device = {read.device, 0}});
  DataPipeline pipeline(pipeline_of(text, read));
  if (read.from > 0) pipeline.seek(read.from);
  const Shape shape = pipeline.data_shape(), label_shape = pipeline.label_shape();
  DeviceMemory y(context, size_t(shape.count()) * 4), labels(context, size_t(label_shape.count()) * 4);
  std::vector<LayerBatch> batches;
  for (int i = 0; i < n; ++i) {
    pipeline.read(context, {{shape}, context.device, y.data()}, {{label_shape}, context.device, labels.data()});
    LayerBatch batch{shape, std::vector<float>(size_t(shape.count())), std::vector<float>(size_t(label_shape.count()))};
    copy_to_host(context, batch.data.data(), y.data(), y.bytes());
    copy_to_host(context, batch.labels.data(), labels.data(), labels.bytes());
    batches.push_back(std::move(batch));
  }
  return batches;
}

/// Expects an error for the layer's options that names the field.
inline void expect_field(const std::string& field, const std::string& text) {
  try {
    pipeline_of(text);
    ADD_FAILURE() << "no error for " << field;
  } catch (const FieldError& error) {
    EXPECT_EQ(error.field(), field) << error.message();
  }
}

/// An image as a PPM file, or as a PGM file if it has one channel.
inline std::string pnm(const Image& image) {
  std::string file = std::string(image.channels == 1 ? "P5" : "P6") + "\n" + std::to_string(image.width) + " " +
                     std::to_string(image.height) + "\n255\n";
  for (size_t i = 0; i < image.pixels.size(); ++i)  // swaps red and blue
    file += char(image.pixels[image.channels == 1 ? i : i + 2 - 2 * (i % 3)]);
  return file;
}

}  // namespace cortado::data::testing
