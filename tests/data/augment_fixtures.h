#pragma once

// Plans from prototxt, synthetic samples, and single results.

#include <google/protobuf/text_format.h>

#include <cmath>

#include "data/augment/transform.h"
#include "tests/data/fixtures.h"

namespace cortado::data::testing {

inline caffe::TransformationParameter param_of(const std::string& text) {
  caffe::TransformationParameter param;
  if (!google::protobuf::TextFormat::ParseFromString(text, &param))
    throw std::runtime_error("cannot parse the message: " + text);
  return param;
}

inline TransformPlan plan_of(const std::string& text, caffe::Phase phase = caffe::TRAIN) {
  return make_transform_plan(param_of(text), phase);
}

/// A sample that owns its memory. Smooth samples have no detail finer than a few pixels.
struct Picture {
  Picture(int channels, int height, int width, bool interleaved = false, bool of_floats = false, bool smooth = false) {
    RandomStream random(uint64_t(channels * 1000 + height * 10 + width));
    const size_t n = size_t(channels * height * width);
    for (size_t i = 0; i < n; ++i) {
      const size_t area = size_t(height * width), at = interleaved ? i / size_t(channels) : i % area;
      const size_t c = interleaved ? i % size_t(channels) : i / area;
      const double x = double(at % size_t(width)), y = double(at / size_t(width));
      const double wave = 128 + 60 * std::sin(x / 7 + double(c)) + 50 * std::cos(y / 9 - double(c) * 2);
      bytes.push_back(smooth ? uint8_t(wave) : uint8_t(random.next_word()));
    }
    for (const uint8_t byte : bytes) floats.push_back(float(byte) * 1.25f - 7);
    sample = {channels,   height, width, of_floats ? nullptr : bytes.data(), of_floats ? floats.data() : nullptr,
              interleaved};
  }
  double at(int c, int y, int x) const {
    const size_t i = sample.interleaved ? size_t((y * sample.width + x) * sample.channels + c)
                                        : size_t((c * sample.height + y) * sample.width + x);
    return sample.bytes ? bytes[i] : double(floats[i]);
  }
  std::vector<uint8_t> bytes;
  std::vector<float> floats;
  Sample sample;
};

inline AugmentParams draw_of(const TransformPlan& plan, const Sample& sample, uint64_t index = 0, uint64_t seed = 5) {
  return draw_params(plan, sample.channels, sample.height, sample.width, seed, 1, index);
}

inline std::vector<float> made(const Sample& sample, const TransformPlan& plan, const AugmentParams& params) {
  std::vector<float> out(size_t(sample.channels) * size_t(params.out_height) * size_t(params.out_width), -1e9f);
  transform(sample, plan, params, out.data());
  return out;
}

}  // namespace cortado::data::testing
