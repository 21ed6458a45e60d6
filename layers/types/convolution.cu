// Convolution: y[k] = bias[k] + sum over the channels c of k's group of w[k][c] * x[c], where * is cross-correlation
// with a window (layers/common/windows/conv_window.h). Several bottoms share the weights; each has its own top.
//
// It fuses a following ReLU or ReLU6. Backward then first sets dy to 0 where the ReLU blocked, in dy's memory, unless
// the layer that reads y has done so. In a frozen net it also fuses the scale and shift of its channels, by folding
// them into w, and a sum: then the last x is the other operand. Kernels that add to y find the operand there if y
// shares its memory; else it is copied.
//
// Any axis may hold the channels, and the one to eight axes after it are spatial. `engine` and force_nd_im2col select
// between implementations with the same result in Caffe. Here kernels/conv.h selects, and `engine: CAFFE` only excludes
// Winograd's algorithm, which has different rounding. A depthwise convolution has a group for each channel; its options
// may omit that.
//
// With scales in quantization_param it computes on 8-bit integers where the graph requests it, by
// kernels/quantized_conv.h.

#include <algorithm>

#include "core/error.h"
#include "kernels/conv.h"
#include "kernels/quantized_conv.h"
#include "layers/common/fusion_kinds.h"
#include "layers/common/loops/copies.h"
#include "layers/common/loops/relu_mask.h"
#include "layers/common/weights/linear_weights.h"
#include "layers/common/weights/quantization.h"
#include "layers/common/windows/conv_window.h"
#include "layers/common/windows/volume_options.h"
#include "layers/registry.h"
#include "layers/types/convolution3d.h"
#include "layers/types/depthwise_convolution.h"

namespace cortado {

namespace {

class ConvolutionLayer : public Layer {
 public:
  explicit ConvolutionLayer(const LayerOptions& options, bool depthwise = false)
      : options_(depthwise ? depthwise_options(options.config) : options.config.convolution_param()),
        depthwise_(depthwise),
        window_(options_, /*has_filters=*/!depthwise || options_.has_num_output()),
        quantization_(options.config.quantization_param()),
        tops_(size_t(options.config.top_size())) {
    check_fusions();
  }
  ConvolutionLayer(const LayerOptions& options, const VolumeConvolution& volume)
      : options_(volume.options),
        depthwise_(false),
        window_(ConvWindow::of_volumes(options_, volume.message)),
        quantization_(options.config.quantization_param()),
        tops_(size_t(options.config.top_size())) {
    check_fusions();
  }

  void check_without_shapes() const override {
    if (!depthwise_) window_.check_group();
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    window_.check_operands(x, tops_);
    const auto axes = window_.axes_for(x[0], "bottom[0]");
    const int64_t channels = x[0][window_.channel_axis(x[0], "bottom[0]")];
    if (depthwise_) fill_in_depthwise(options_, channels);
    window_.check_channels(channels);
    window_.check_kernel_fits(axes);
    shape_ = window_.shape_for(x[0], axes);
    shape_.c = channels, shape_.k = options_.num_output();
    of_images_ = window_.is_of_images(x[0]);
    check_quantization(quantization_, shape_.k);
    std::vector<int64_t> places;
    for (const kernels::ConvAxis& axis : axes) places.push_back(axis.out());
    return window_.layer_shapes(x, shape_.weight(), shape_.k, places);
  }

  bool accepts(const kernels::PostOps& post, NetMode mode) const override {
    if (options_.relu() || tops_ != 1) return false;
    if (mode == NetMode::kTraining) return post.affine.empty() && !post.sum && post.activation.gates();
    if (!post.activation.keeps_zero() && shape_.k % 16 != 0) return false;  // padding lanes of blocks must stay 0
    return post.affine.empty() || of_images_;
  }

  /// The sums are of the plain convolution's result, as in the engines of libraries.
  std::vector<Fusion> fusions(const FusionQuery& query) const override {
    const kernels::PostOps post = with_own(query.post);
    std::vector<Fusion> list;
    if (tops_ == 1 && post.activation.kind == kernels::Activation::kRelu) list.push_back(Fusion::maker(kReluMask));
    if (tops_ == 1 && query.device.statistics && of_images_ && !has_bias() && post.empty())
      list.push_back(Fusion::maker(kChannelSums));
    return list;
  }

  StorageRule storage(const kernels::PostOps& post) const override {
    return {.layout = of_images_ ? LayoutRule::kPreferred : LayoutRule::kPlain,
            .type = TypeRule::kHalf,
            .eight_bits = eight_bits(post),
            .suits_blocks = kernels::conv_suits_blocks(shape_.c, shape_.k, shape_.groups),
            .accepts_plain_x = kernels::conv_suits_plain_x(shape_.c, shape_.groups)};
  }

  LayerNeeds prepare(const PrepareRequest& request, Context& context) override {
    const bool wants_dw =
        request.backward && std::find(request.wants_dw.begin(), request.wants_dw.end(), true) != request.wants_dw.end();
    post_ = with_own(request.post);
    masks_dy_ = request.backward && post_.activation && !find_fusion(request.fusions, kReluMask, Fusion::kMaker);
    if (is_8_bit(request.x[0].dtype)) return prepare_quantized(request, context);
    LayerNeeds needs;
    kernels::ConvRequest conv{.shape = shape_,
                              .bias = has_bias() || !post_.affine.empty(),
                              .post = {.sum = post_.sum, .activation = post_.activation},
                              .backward_data = false,
                              .backward_weights = wants_dw};
    // 16-bit weights if updates write them; their gradients stay 32-bit floats.
    const bool derives = request.updates_derived && of_images_ && request.x[0].dtype != DType::kF32;
    conv.frozen = request.frozen || derives;
    const bool wants_all = std::find(request.wants_dw.begin(), request.wants_dw.end(), false) == request.wants_dw.end();
    conv.winograd = options_.engine() != caffe::ConvolutionParameter::CAFFE;
    conv.adds = request.adds_dw || request.x.size() > 1 || !wants_all;
    conv.sums = writes_sums_ = find_fusion(request.fusions, kChannelSums, Fusion::kMaker);
    conv.w_format = LinearWeights::fixed_format(request);
    conv.shape.dtype = request.x[0].dtype;
    convs_.clear(), gradients_.clear();
    for (size_t i = 0; i < tops_; ++i) {
      conv.shape.x_layout = request.x[i].layout;
      conv.shape.y_layout = request.y[i].layout;
      conv.backward_data = request.backward && request.wants_dx[i];
      conv.backward_weights = wants_dw && !derives;
      convs_.push_back(kernels::plan_conv(conv, context));
      conv.w_format = convs_[0]->weight_format();
      needs.forward_scratch = std::max(needs.forward_scratch, convs_[i]->forward_scratch());
      needs.backward_scratch = std::max(needs.backward_scratch, convs_[i]->backward_scratch());
      if (i == 0) needs.algorithm = convs_[0]->name();
      if (derives && wants_dw) plan_gradients(conv, context, needs);
    }
    weights_.prepare(request, convs_[0]->weight_format(), has_bias(), /*channels_first=*/true, needs,
                     convs_[0]->bias_format());
    settle_sum(needs);
    needs.backward_reads_x.assign(request.x.size(), wants_dw);
    needs.backward_reads_y.assign(request.y.size(), masks_dy_);
    needs.aliasing.overwrites_dy = masks_dy_;
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    if (sums_in_y_ && io.y[0].data != io.x[1].data) copy_values(context, io.x[1], io.y[0]);
    kernels::ConvOperands call{.w = weights_.w(io), .bias = weights_.bias(io)};
    if (post_.sum) call.z = sums_in_y_ ? io.y[0].data : io.x[1].data;
    if (writes_sums_) call.sums = io.y.back().f32();
    for (size_t i = 0; i < tops_; ++i) {
      call.x = io.x[i].data, call.y = io.y[i].data;
      convs_[i]->forward(context, call, io.scratch);
    }
  }

  void backward(Context& context, const Operands& io) override {
    kernels::WeightGradients d{io.dw[0].f32(), has_bias() ? io.dw[1].f32() : nullptr, io.adds(0),
                               has_bias() && io.adds(1)};
    for (size_t i = 0; i < io.x.size(); ++i) {
      if (!io.dy[i]) {
        if (io.dx[i]) clear_values(context, io.dx[i]);
        continue;
      }
      if (masks_dy_) mask_by_relu(context, io.y[i], io.dy[i], post_.activation);
      const kernels::ConvOperands call{
          .x = io.x[i].data, .dy = io.dy[i].data, .w = weights_.w(io), .dx = io.dx[i].data, .d = d};
      if (d.w || d.bias) (gradients_.empty() ? convs_ : gradients_)[i]->backward_weights(context, call, io.scratch);
      d.add_w = d.add_bias = true;  // the other bottoms add to the first one's result
      if (io.dx[i]) convs_[i]->backward_data(context, call, io.scratch);
    }
  }

  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>& y) const override {
    const kernels::PostOps post = with_own(post_);
    const int64_t per_result = (has_bias() || !post.affine.empty()) + bool(post.activation) + post.sum;
    return int64_t(tops_) * (2 * shape_.macs() + per_result * y[0].count());
  }

 private:
  EightBitRule eight_bits(const kernels::PostOps& post) const {
    const bool computes = tops_ == 1 && of_images_ && wants_8_bits(quantization_) &&
                          kernels::suits_quantized_conv(shape_, with_own(post));
    return computes ? EightBitRule::kComputes : EightBitRule::kNone;
  }
  void check_fusions() const {
    if (options_.relu() && options_.negative_slope() != 0)
      throw FieldError("convolution_param.negative_slope", "a slope within a convolution is not available",
                       "add a ReLU layer with this negative_slope after it");
    if (options_.fusion_type() != caffe::ConvolutionParameter::NONE_FUSION)
      throw FieldError("convolution_param.fusion_type", "fusion_type is not available",
                       "remove it: sums are fused automatically");
  }
  /// For plain weights, independent of `conv`'s format.
  void plan_gradients(kernels::ConvRequest conv, Context& context, LayerNeeds& needs) {
    conv.forward = conv.backward_data = conv.frozen = false;
    conv.backward_weights = true;
    conv.w_format = kernels::WeightFormat(shape_.weight());
    gradients_.push_back(kernels::plan_conv(conv, context));
    needs.backward_scratch = std::max(needs.backward_scratch, gradients_.back()->backward_scratch());
    if (gradients_.size() == 1 && needs.algorithm.find(gradients_[0]->name()) == std::string::npos)
      needs.algorithm += ", " + gradients_[0]->name();
  }
  LayerNeeds prepare_quantized(const PrepareRequest& request, Context& context) {
    kernels::QuantizedConvRequest conv{.shape = shape_,
                                       .x = request.x[0].encoding(),
                                       .y = request.y[0].encoding(),
                                       .z = request.x.back().encoding(),
                                       .w_scales = scales_of_weights(quantization_, shape_.k),
                                       .bias = has_bias() || !post_.affine.empty(),
                                       .post = {.sum = post_.sum, .activation = post_.activation}};
    convs_.clear();
    convs_.push_back(kernels::plan_quantized_conv(conv, context));
    const kernels::Conv& kernel = *convs_[0];
    LayerNeeds needs;
    needs.algorithm = kernel.name();
    needs.forward_scratch = kernel.forward_scratch();
    weights_.prepare(request, kernel.weight_format(), has_bias(), /*channels_first=*/true, needs, kernel.bias_format());
    settle_sum(needs);
    return needs;
  }
  void settle_sum(LayerNeeds& needs) {
    sums_in_y_ = post_.sum && convs_[0]->sum_place() == kernels::SumPlace::kInY;
    needs.aliasing.y_may_overwrite_x = post_.sum && convs_[0]->sum_place() != kernels::SumPlace::kApart;
    needs.aliasing.overwritten_x = post_.sum ? 1 : 0;
  }
  bool has_bias() const { return options_.bias_term(); }
  kernels::PostOps with_own(kernels::PostOps post) const {
    if (options_.relu()) post.activation = kernels::Activation::relu();
    return post;
  }

  caffe::ConvolutionParameter options_;
  bool depthwise_;
  ConvWindow window_;
  LinearWeights weights_;
  kernels::PostOps post_;     ///< its own ReLU and the fused steps
  bool sums_in_y_ = false;    ///< the kernel adds to y
  bool writes_sums_ = false;  ///< of y[0], as y[1]
  bool of_images_ = true;     ///< N x C x H x W; other operands are plain
  bool masks_dy_ = false;     ///< backward applies the mask of the ReLU
  const caffe::QuantizationParameter& quantization_;
  size_t tops_;
  kernels::ConvShape shape_;
  std::vector<std::unique_ptr<kernels::Conv>> convs_;      ///< one for each bottom
  std::vector<std::unique_ptr<kernels::Conv>> gradients_;  ///< likewise, of weights, if convs_ do not compute them
};

const RegisterLayer register_convolution({
    .name = "Convolution",
    .help = "cross-correlation with learned filters",
    .options = "convolution_param",
    .min_bottoms = 1,
    .max_bottoms = -1,
    .min_tops = 1,
    .max_tops = -1,
    .make = make_layer<ConvolutionLayer>,
    .family = LayerFamily::kConvolution,
});

}  // namespace

std::unique_ptr<Layer> make_depthwise_convolution(const LayerOptions& options) {
  return std::make_unique<ConvolutionLayer>(options, /*depthwise=*/true);
}

std::unique_ptr<Layer> make_volume_convolution(const LayerOptions& options) {
  return std::make_unique<ConvolutionLayer>(options, read_volume_convolution(options.config));
}

}  // namespace cortado
