// ContinuationIndicator: y is time_step x batch_size, 0 in the first step and 1 in all others: the `cont` of an LSTM or
// RNN whose sequences start in each pass, as in crnn.caffe. With a bottom (deepdetect's fork) its extent along `axis`
// is the number of sequences, and batch_size is optional; the bottom's values are not read.

#include "core/error.h"
#include "core/loops/for_each.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"

namespace cortado {

namespace {

struct Indicate {
  float* y;
  int64_t sequences;
  CORTADO_HD void operator()(int64_t i) const { y[i] = i < sequences ? 0 : 1; }
};

class ContinuationIndicatorLayer : public Layer {
 public:
  explicit ContinuationIndicatorLayer(const LayerOptions& options)
      : param_(options.config.continuation_indicator_param()) {
    if (param_.time_step() == 0)
      throw FieldError(field("time_step"), param_.has_time_step() ? "time_step is 0" : "time_step is missing",
                       "set the number of steps of a sequence");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    sequences_ = param_.batch_size();
    if (x.empty()) {
      if (param_.has_axis()) throw FieldError(field("axis"), "axis needs a bottom", "set batch_size instead");
      if (sequences_ == 0)
        throw FieldError(field("batch_size"), "neither batch_size nor a bottom is set",
                         "set batch_size to the number of sequences");
    } else {
      const int64_t extent = x[0][axis_of(x[0], param_.axis(), field("axis"))];
      if (param_.batch_size() != 0 && extent != sequences_)
        throw FieldError(field("batch_size"),
                         "batch_size is " + std::to_string(sequences_) + ", but bottom[0] is " + x[0].str() + ": " +
                             std::to_string(extent) + " along axis " + std::to_string(param_.axis()),
                         "remove batch_size");
      sequences_ = extent;
    }
    const Shape y = {param_.time_step(), sequences_};
    count_of_elements(y, field("time_step"));
    return {.y = {y}, .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }

  void forward(Context& context, const Operands& io) override {
    for_each(context, io.y[0].count(), Indicate{io.y[0].f32(), sequences_});
  }

  bool differentiable(int) const override { return false; }
  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>&) const override { return 0; }

 private:
  /// The option's path, or that of the message if the option is not set.
  std::string field(const std::string& name) const {
    const bool there = name == "time_step"    ? param_.has_time_step()
                       : name == "batch_size" ? param_.has_batch_size()
                                              : param_.has_axis();
    return "continuation_indicator_param" + (there ? "." + name : "");
  }

  const caffe::ContinuationIndicatorParameter& param_;
  int64_t sequences_ = 0;
};

const RegisterLayer register_continuation_indicator({
    .name = "ContinuationIndicator",
    .help = "the cont of LSTM and RNN: 0 for the first step of sequences, 1 for the others",
    .options = "continuation_indicator_param",
    .min_bottoms = 0,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<ContinuationIndicatorLayer>,
    .kind = LayerKind::kConstant,
});

}  // namespace

}  // namespace cortado
