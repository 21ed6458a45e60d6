// A transform_param and, after a zero byte, a record: transforms the sample for training and testing.
#include "data/augment/transform.h"
#include "data/sources/datum_reader.h"
#include "proto/files/read_text.h"
#include "tests/fuzz/fuzzed.h"

namespace {

constexpr int64_t kMaxElements = 1 << 18;

void transform_record(const cortado::data::TransformPlan& plan, std::string_view record) {
  using namespace cortado::data;
  DatumReader reader(plan.color);
  Label label = 0;
  const Record whole{.key = "key", .value = record};
  const Sample opened = reader.open(whole, label);
  if (opened.count() > kMaxElements) return;
  const OutputSize size = output_size(plan, opened);
  if (int64_t(size.height) * size.width * opened.channels > kMaxElements) return;
  std::vector<float> out(size_t(size.height) * size_t(size.width) * size_t(opened.channels));
  for (uint64_t index = 0; index < 3; ++index) {
    const Sample sample = reader.read(whole, label);
    transform(sample, plan, draw_params(plan, sample.channels, sample.height, sample.width, 1, 0, index), out.data());
  }
}

}  // namespace

void cortado::fuzz::fuzz(std::string_view input) {
  caffe::TransformationParameter param;
  const std::string_view text = take_text(input);
  for (const caffe::Phase phase : {caffe::TRAIN, caffe::TEST})
    expect_answer([&] {
      read_message_from_text(text, "transform", param);
      transform_record(data::make_transform_plan(param, phase, false), input);
    });
}
