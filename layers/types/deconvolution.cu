// Deconvolution: the transpose of Convolution. Each value of x adds a kernel, scaled by it, to y; kernels overlap. The
// bias is added last. Along each spatial axis
//     out = stride (in - 1) + dilation (kernel - 1) + 1 - 2 pad.
// w is channels of x x num_output / group x kernel h x kernel w. For the corresponding convolution y is the input and x
// the output. So forward is its backward_data, dx its forward and dw its backward_weights.
//
// Several bottoms share the weights; each has its own top.

#include <algorithm>

#include "core/error.h"
#include "kernels/conv.h"
#include "layers/common/loops/copies.h"
#include "layers/common/shape_rules.h"
#include "layers/common/weights/channel_sums.h"
#include "layers/common/weights/linear_weights.h"
#include "layers/common/windows/conv_window.h"
#include "layers/common/windows/volume_options.h"
#include "layers/registry.h"
#include "layers/types/convolution3d.h"

namespace cortado {

namespace {

template <typename T>
struct AddBias {
  T* y;
  const float* bias;
  CORTADO_HD void operator()(int64_t i, int64_t c) const { y[i] = y[i] + bias[c]; }
};

template <typename T>
struct DeconvolutionItself {
  const T* a;
  CORTADO_HD float operator()(int64_t i) const { return a[i]; }
};

bool any(const std::vector<bool>& list) { return std::find(list.begin(), list.end(), true) != list.end(); }

class DeconvolutionLayer : public Layer {
 public:
  explicit DeconvolutionLayer(const LayerOptions& options)
      : options_(options.config.convolution_param()), window_(options_), tops_(size_t(options.config.top_size())) {
    check_fusions();
  }
  DeconvolutionLayer(const LayerOptions& options, const VolumeConvolution& volume)
      : options_(volume.options),
        window_(ConvWindow::of_volumes(options_, volume.message)),
        tops_(size_t(options.config.top_size())) {
    check_fusions();
  }

  void check_without_shapes() const override { window_.check_group(); }

  LayerShapes infer(const std::vector<Shape>& x) override {
    window_.check_operands(x, tops_);
    auto axes = window_.axes_for(x[0], "bottom[0]");
    axis_ = window_.channel_axis(x[0], "bottom[0]");
    window_.check_channels(x[0][axis_]);
    std::vector<int64_t> places;
    for (kernels::ConvAxis& axis : axes) places.push_back(axis.in = outputs(axis));
    shape_ = window_.shape_for(x[0], axes);
    shape_.c = options_.num_output(), shape_.k = x[0][axis_];
    of_images_ = window_.is_of_images(x[0]);
    return window_.layer_shapes(x, shape_.weight(), shape_.c, places);
  }

  /// The sums for the bias do not support padding lanes.
  StorageRule storage(const kernels::PostOps&) const override {
    return {.layout = of_images_ ? LayoutRule::kPreferred : LayoutRule::kPlain,
            .type = TypeRule::kHalf,
            .suits_blocks = shape_.c % 16 == 0 && kernels::conv_suits_blocks(shape_.c, shape_.k, shape_.groups)};
  }

  LayerNeeds prepare(const PrepareRequest& request, Context& context) override {
    wants_dw_ = request.backward && any(request.wants_dw);
    kernels::ConvRequest conv{.shape = shape_, .backward_data = true, .backward_weights = wants_dw_};
    conv.winograd = options_.engine() != caffe::ConvolutionParameter::CAFFE;
    conv.adds = request.adds_dw || tops_ > 1;
    conv.shape.dtype = request.x[0].dtype;
    conv.forward = request.backward && any(request.wants_dx);
    conv.frozen = request.frozen;
    conv.w_format = LinearWeights::fixed_format(request);
    LayerNeeds needs;
    convs_.clear();
    for (size_t i = 0; i < tops_; ++i) {
      conv.shape.x_layout = request.y[i].layout;
      conv.shape.y_layout = request.x[i].layout;
      convs_.push_back(kernels::plan_conv(conv, context));
      conv.w_format = convs_[0]->weight_format();
      needs.forward_scratch = std::max(needs.forward_scratch, convs_[i]->backward_scratch());
      needs.backward_scratch =
          std::max({needs.backward_scratch, convs_[i]->backward_scratch(), convs_[i]->forward_scratch(),
                    has_bias() ? channel_sums_scratch(channel_view(request.y[i], axis_)) : 0});
    }
    needs.algorithm = convs_[0]->name();
    // The bias is added here, in 32-bit floats.
    weights_.prepare(request, convs_[0]->weight_format(), /*own_bias=*/false, /*channels_first=*/true, needs);
    needs.backward_reads_x.assign(tops_, wants_dw_ && request.wants_dw[0]);
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    for (size_t i = 0; i < tops_; ++i) {
      convs_[i]->backward_data(context, {.dy = io.x[i].data, .w = weights_.w(io), .dx = io.y[i].data}, io.scratch);
      if (has_bias())
        for_each_channel_typed<AddBias>(context, channel_view(io.y[i].spec, axis_), io.y[i], io.w[1].f32());
    }
  }

  void backward(Context& context, const Operands& io) override {
    bool add_w = io.adds(0), add_bias = has_bias() && io.adds(1);
    for (size_t i = 0; i < tops_; ++i) {
      if (!io.dy[i]) {
        if (io.dx[i]) clear_values(context, io.dx[i]);
        continue;
      }
      const kernels::ConvOperands call{.x = io.dy[i].data,
                                       .dy = io.x[i].data,
                                       .w = io.w[0].data,
                                       .y = io.dx[i].data,
                                       .d = {io.dw[0].f32(), nullptr, add_w, false}};
      if (call.d.w) convs_[i]->backward_weights(context, call, io.scratch);
      if (has_bias() && io.dw[1]) {
        const ChannelSums sums{io.scratch, io.dw[1], add_bias};
        sum_channels<DeconvolutionItself>(context, channel_view(io.dy[i].spec, axis_), sums, io.dy[i]);
      }
      add_w = add_bias = true;  // the other bottoms add to the first one's result
      if (io.dx[i]) convs_[i]->forward(context, call, io.scratch);
    }
  }

  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>& y) const override {
    return int64_t(tops_) * (2 * shape_.macs() + (has_bias() ? y[0].count() : 0));
  }

 private:
  void check_fusions() const {
    if (options_.relu())
      throw FieldError("convolution_param.relu", "a ReLU within a deconvolution is not available",
                       "add a ReLU layer after it");
    if (options_.fusion_type() != caffe::ConvolutionParameter::NONE_FUSION)
      throw FieldError("convolution_param.fusion_type", "fusion_type is not available", "remove it");
  }
  bool has_bias() const { return options_.bias_term(); }

  int64_t outputs(const kernels::ConvAxis& axis) const {
    const int64_t out = checked_mul(axis.stride, axis.in - 1) + axis.extent() - 2 * axis.pad;
    require_extent(std::max<int64_t>(out, 0), window_.path(""));
    if (axis.in > 0 && out > 0) return out;
    throw FieldError(window_.path(""),
                     "the result is empty along an axis: stride " + std::to_string(axis.stride) + " x (" +
                         std::to_string(axis.in) + " - 1) + " + std::to_string(axis.extent()) + " - 2 x pad " +
                         std::to_string(axis.pad) + " = " + std::to_string(out),
                     "reduce pad, which crops the result on each side");
  }

  caffe::ConvolutionParameter options_;
  ConvWindow window_;
  size_t tops_;
  int axis_ = 1;  ///< of the channels
  bool wants_dw_ = false, of_images_ = true;
  LinearWeights weights_;
  kernels::ConvShape shape_;                           ///< of the corresponding convolution
  std::vector<std::unique_ptr<kernels::Conv>> convs_;  ///< one for each bottom
};

const RegisterLayer register_deconvolution({
    .name = "Deconvolution",
    .help = "the transpose of convolution: learned upsampling",
    .options = "convolution_param",
    .min_bottoms = 1,
    .max_bottoms = -1,
    .min_tops = 1,
    .max_tops = -1,
    .make = make_layer<DeconvolutionLayer>,
    .family = LayerFamily::kConvolution,
});

}  // namespace

std::unique_ptr<Layer> make_volume_deconvolution(const LayerOptions& options) {
  return std::make_unique<DeconvolutionLayer>(options, read_volume_convolution(options.config));
}

}  // namespace cortado
