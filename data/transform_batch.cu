#include "data/transform_batch.h"

#include "core/error.h"
#include "core/for_each.h"

namespace cortado::data {

namespace {

enum class MeanKind { kNone, kOne, kPerChannel, kImage };

/// y[i] for one element: where it lies says which sample, channel and pixel it is.
struct TransformElement {
  RawBatch batch;
  MeanKind mean_kind;
  int64_t mean_height, mean_width;
  float scale;
  int64_t channels, height, width;
  bool channels_last;
  float* y;

  CORTADO_HD float source(const RawSample& sample, int64_t c, int64_t row, int64_t column) const {
    const int64_t at = sample.interleaved ? (row * sample.width + column) * sample.channels + c
                                          : (c * sample.height + row) * sample.width + column;
    const uint8_t* bytes = batch.bytes + sample.offset;
    return sample.floats ? reinterpret_cast<const float*>(bytes)[at] : float(bytes[at]);
  }

  CORTADO_HD float mean_at(int64_t c, int64_t row, int64_t column) const {
    switch (mean_kind) {
      case MeanKind::kNone: return 0;
      case MeanKind::kOne: return batch.mean[0];
      case MeanKind::kPerChannel: return batch.mean[c];
      case MeanKind::kImage: break;
    }
    return batch.mean[(c * mean_height + row) * mean_width + column];
  }

  CORTADO_HD void operator()(int64_t i) const {
    const int64_t area = height * width, n = i / (channels * area), inside = i % (channels * area);
    const int64_t c = channels_last ? inside % channels : inside / area;
    const int64_t pixel = channels_last ? inside / channels : inside % area;
    const RawSample& sample = batch.samples[n];
    const SampleDraw& draw = batch.draws[n];
    const int64_t x = pixel % width;
    const int64_t row = pixel / width, column = draw.mirror ? width - 1 - x : x;
    const float mean = mean_at(c, draw.mean_top + row, draw.mean_left + column);
    y[i] = (source(sample, c, draw.top + row, draw.left + column) - mean) * scale;
  }
};

MeanKind mean_kind_of(const TransformPlan& plan) {
  if (plan.mean) return MeanKind::kImage;
  if (plan.mean_values.empty()) return MeanKind::kNone;
  return plan.mean_values.size() == 1 ? MeanKind::kOne : MeanKind::kPerChannel;
}

}  // namespace

const std::vector<float>& mean_floats(const TransformPlan& plan) {
  return plan.mean ? plan.mean->values : plan.mean_values;
}

void transform_batch(Context& context, const RawBatch& batch, const TransformPlan& plan, const Tensor& y) {
  const Shape& shape = y.shape();
  if (y.spec.layout == Layout::kBlocked16 || y.spec.dtype != DType::kF32)
    throw_internal("a batch is transformed into a plain or channels-last tensor");
  for_each(context, y.count(),
           TransformElement{batch, mean_kind_of(plan), plan.mean ? plan.mean->height : 0,
                            plan.mean ? plan.mean->width : 0, plan.scale, shape[1], shape[2],
                            shape[3], y.spec.layout == Layout::kChannelsLast, y.f32()});
}

}  // namespace cortado::data
