// DenseBlock: the dense block of DenseNet (Huang et al. 2017) in one layer, as in Tongcheng's memory-efficient Caffe. y
// starts with the initChannel channels of x, and each of numTransition steps appends growthRate channels,
//     conv(relu(bn(all channels so far))),
// with use_BC conv(relu(bn(conv1x1(relu(bn(all channels so far)))))), whose 1 x 1 convolution has 4 growthRate outputs.
// bn has factors, terms and a running average as in Caffe's BatchNorm, with its eps of 1e-5. Intermediate values are
// not kept; backward recomputes them (layers/common/weights/norm_conv.h).
//
// Weights, each for all steps before the next: the filters of the (last) convolutions, then of the (first) bn factors,
// terms, sums of means and of variances; with use_BC five more, the 1 x 1 filters and the bn before the last
// convolution; at the end the factor of all averages. Blobs of a bn are 1 x C x 1 x 1.
//
// The fork publishes only the layer's options. The order of the weights, the fraction of the moving average and the
// position of dropout (after the last convolution of each step) are known only second hand. The options of memory and
// device have no effect. Some nets set initChannel below the bottom's number of channels; the first initChannel
// channels are used, which matches the shapes of their weights.

#include <algorithm>

#include "core/device/device_memory.h"
#include "core/log.h"
#include "core/rng.h"
#include "kernels/scratch.h"
#include "layers/common/loops/strips.h"
#include "layers/common/weights/dense_block_form.h"
#include "layers/common/weights/running_average.h"
#include "layers/registry.h"

namespace cortado {

namespace {

/// Four elements at a time, because one draw returns four words.
struct Drop {
  float* values;
  int64_t n;
  uint64_t key;
  const uint64_t* pass;
  int64_t first_group;
  uint32_t threshold;  ///< words below it drop the element
  float scale;
  CORTADO_HD void operator()(int64_t group) const {
    const Philox::Words words = Philox(key)(*pass, uint64_t(first_group + group));
    for (int64_t i = group * 4, lane = 0; lane < 4 && i < n; ++i, ++lane)
      values[i] = words.v[lane] < threshold ? 0.0f : values[i] * scale;
  }
};

/// to += from, where `from` is strips of `to`.
struct AddStrips {
  const float* from;
  float* to;
  int64_t gap_to;
  CORTADO_HD void operator()(int64_t i, int64_t row) const { to[i + row * gap_to] += from[i]; }
};

class DenseBlockLayer : public Layer {
 public:
  explicit DenseBlockLayer(const LayerOptions& options)
      : options_(options.config.denseblock_param()),
        training_(options.phase == caffe::TRAIN),
        form_(options_, options.phase) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    images_ = x[0].axes() == 4 ? x[0][0] : 0;
    plane_ = x[0].axes() == 4 ? x[0].count(2) : 0;
    return form_.infer(x[0]);
  }
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override;
  void backward(Context& context, const Operands& io) override;
  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>&) const override {
    int64_t sum = 0;
    for (const DenseBlockForm::Part& part : form_.parts()) sum += NormConv::flops(part.form);
    return sum;
  }

 private:
  using Form = DenseBlockForm;
  using Call = NormConv::Operands;

  struct Memory {
    float* all;                ///< the gradient of y; backward only
    float *x, *dx;             ///< of a step
    float* between;            ///< of a part
    float *middle, *d_middle;  ///< of the 1 x 1 convolution
    float* out;                ///< of the step, or its gradient
    void* kernels;
  };

  size_t first(int64_t step) const { return size_t(step * (form_.bottleneck() ? 2 : 1)); }
  size_t last(int64_t step) const { return first(step + 1) - 1; }
  Call call(const Operands& io, size_t part, const Memory& m) const;
  void add_gradients(const Operands& io, size_t part, Call& call) const;
  Memory memory(void* scratch, bool backward, int64_t* bytes) const;
  void keep_statistics(Context& context, const Operands& io);
  Statistics statistics(const Operands& io, const Form::Part& part) const;
  void move(Context& context, const float* from, int64_t from_channels, float* to, int64_t to_channels,
            int64_t channels) const;
  void drop(Context& context, int64_t step, float* values) const;
  void step_forward(Context& context, const Operands& io, int64_t step, const Memory& m);
  void step_backward(Context& context, const Operands& io, int64_t step, const Memory& m);

  const caffe::DenseBlockParameter& options_;
  bool training_;
  DenseBlockForm form_;
  int64_t images_ = 0, plane_ = 0;
  uint64_t layer_seed_ = 0;
  std::vector<NormConv> runs_;  ///< of form_.parts()
};

LayerNeeds DenseBlockLayer::prepare(const PrepareRequest& request, Context& context) {
  layer_seed_ = request.layer_seed;
  if (request.x[0].shape[1] > form_.initial())
    log_warning() << "DenseBlock uses the first " << form_.initial() << " of its bottom's " << request.x[0].shape[1]
                  << " channels, as set by initChannel";
  LayerNeeds needs;
  for (const TensorSpec& w : request.w) needs.w_formats.emplace_back(w.shape);
  runs_.clear();
  for (const Form::Part& part : form_.parts()) {
    const size_t filter = form_.weight(part.filter, part.step);
    runs_.emplace_back(part.form, request, filter, context);
    needs.w_formats[filter] = runs_.back().filter_format();
  }
  needs.saved = {form_.moments() * kFloatBytes};
  needs.backward_reads_y = {true};
  memory(nullptr, false, &needs.forward_scratch);
  if (request.backward) memory(nullptr, true, &needs.backward_scratch);
  return needs;
}

/// The parts of scratch; if `bytes` is not null, sets their size instead.
DenseBlockLayer::Memory DenseBlockLayer::memory(void* scratch, bool backward, int64_t* bytes) const {
  int64_t widest = 0, of_kernels = 0;
  for (const NormConv& run : runs_) {
    widest = std::max(widest, run.x_count());
    of_kernels = std::max(of_kernels, backward ? run.backward_scratch() : run.forward_scratch());
  }
  kernels::ScratchLayout layout;
  const auto floats = [&](int64_t count) {
    const int64_t at = layout.add(count * kFloatBytes);
    return scratch ? static_cast<float*>(kernels::scratch_part(scratch, at)) : nullptr;
  };
  const int64_t image = images_ * plane_, middle = form_.middle() * image;
  Memory m{};
  m.all = floats(backward ? form_.total() * image : 0);
  m.x = floats(widest), m.dx = floats(backward ? widest : 0), m.between = floats(widest);
  m.middle = floats(middle), m.d_middle = floats(backward ? middle : 0);
  m.out = floats(form_.growth() * image);
  m.kernels = floats((of_kernels + kFloatBytes - 1) / kFloatBytes);
  if (bytes) *bytes = layout.bytes();
  return m;
}

/// Copies the first `channels` of each image. `from` and `to` point to the first image.
void DenseBlockLayer::move(Context& context, const float* from, int64_t from_channels, float* to, int64_t to_channels,
                           int64_t channels) const {
  const ChannelView strips{1, images_, channels * plane_, Layout::kPlain};
  for_each_channel(
      context, strips,
      CopyStrips<float>{from, to, 0, 0, (from_channels - channels) * plane_, (to_channels - channels) * plane_});
}

void DenseBlockLayer::drop(Context& context, int64_t step, float* values) const {
  if (!training_ || !options_.use_dropout() || options_.dropout_amount() == 0) return;
  const int64_t n = form_.growth() * images_ * plane_, groups = (n + 3) / 4;
  const float ratio = options_.dropout_amount();
  for_each(context, groups,
           Drop{values, n, mix_key(context.seed, layer_seed_), context.pass_word(), step * groups,
                uint32_t(double(ratio) * 4294967296.0), 1 / (1 - ratio)});
}

Statistics DenseBlockLayer::statistics(const Operands& io, const Form::Part& part) const {
  float* mean = static_cast<float*>(io.saved[0]) + part.moments;
  const auto sums = [&](int behind_gamma) { return io.w[form_.weight(part.gamma + behind_gamma, part.step)].f32(); };
  return {mean, mean + part.form.channels, sums(2), sums(3), io.w[form_.factor()].f32()};
}

/// All averages share a factor, which the last one updates.
void DenseBlockLayer::keep_statistics(Context& context, const Operands& io) {
  for (const Form::Part& part : form_.parts()) {
    const Statistics s = statistics(io, part);
    const bool is_last = &part == &form_.parts().back();
    const kernels::RunningAverage average = moving_sums(s.means, s.variances, is_last ? s.factor : nullptr,
                                                        options_.moving_average_fraction(), images_ * plane_);
    for_each(context, part.form.channels, AddToAverage{average, s.mean, s.variance});
  }
}

DenseBlockLayer::Call DenseBlockLayer::call(const Operands& io, size_t i, const Memory& m) const {
  const Form::Part& part = form_.parts()[i];
  const Statistics s = statistics(io, part);
  Call call;
  call.between = m.between;
  call.filter = io.w[form_.weight(part.filter, part.step)].data;
  call.gamma = io.w[form_.weight(part.gamma, part.step)].f32();
  call.beta = io.w[form_.weight(part.gamma + 1, part.step)].f32();
  call.mean = s.mean;
  call.variance = s.variance;
  call.scratch = m.kernels;
  return call;
}

/// From all previous channels, in m.x, to those of the step, in m.out.
void DenseBlockLayer::step_forward(Context& context, const Operands& io, int64_t step, const Memory& m) {
  Call one = call(io, first(step), m);
  one.x = m.x, one.y = form_.bottleneck() ? m.middle : m.out;
  runs_[first(step)].forward(context, one);
  if (!form_.bottleneck()) return;
  Call two = call(io, last(step), m);
  two.x = m.middle, two.y = m.out;
  runs_[last(step)].forward(context, two);
}

void DenseBlockLayer::forward(Context& context, const Operands& io) {
  const Memory m = memory(io.scratch, false, nullptr);
  const int64_t total = form_.total(), growth = form_.growth();
  float* y = io.y[0].f32();
  if (!training_)
    for (const Form::Part& part : form_.parts())
      for_each(context, part.form.channels, TakeAverage{statistics(io, part)});
  move(context, io.x[0].f32(), io.x[0].shape()[1], y, total, form_.initial());
  for (int64_t step = 0; step < form_.steps(); ++step) {
    const int64_t channels = form_.channels_before(step);
    move(context, y, total, m.x, channels, channels);
    step_forward(context, io, step, m);
    drop(context, step, m.out);
    move(context, m.out, growth, y + channels * plane_, total, growth);
  }
  if (training_) keep_statistics(context, io);
}

void DenseBlockLayer::add_gradients(const Operands& io, size_t i, Call& call) const {
  const Form::Part& part = form_.parts()[i];
  const size_t filter = form_.weight(part.filter, part.step), gamma = form_.weight(part.gamma, part.step),
               beta = form_.weight(part.gamma + 1, part.step);
  call.d = {.w = io.dw[filter].f32(), .add_w = io.adds(filter)};
  call.dgamma = io.dw[gamma].f32(), call.add_dgamma = io.adds(gamma);
  call.dbeta = io.dw[beta].f32(), call.add_dbeta = io.adds(beta);
}

/// From the gradient of the step's channels in m.out to that of all previous channels in m.dx.
void DenseBlockLayer::step_backward(Context& context, const Operands& io, int64_t step, const Memory& m) {
  Call one = call(io, first(step), m);
  one.x = m.x, one.dx = m.dx, one.dy = m.out;
  if (form_.bottleneck()) {
    one.y = m.middle, one.dy = m.d_middle;
    runs_[first(step)].recompute(context, one);
    Call two = call(io, last(step), m);
    add_gradients(io, last(step), two);
    two.x = m.middle, two.dy = m.out, two.dx = m.d_middle;
    runs_[last(step)].backward(context, two);
  }
  add_gradients(io, first(step), one);
  runs_[first(step)].backward(context, one);
}

void DenseBlockLayer::backward(Context& context, const Operands& io) {
  const Memory m = memory(io.scratch, true, nullptr);
  const int64_t total = form_.total(), growth = form_.growth();
  const float* y = io.y[0].f32();
  move(context, io.dy[0].f32(), total, m.all, total, total);
  for (int64_t step = form_.steps() - 1; step >= 0; --step) {
    const int64_t channels = form_.channels_before(step), gap = (total - channels) * plane_;
    move(context, m.all + channels * plane_, total, m.out, growth, growth);
    drop(context, step, m.out);
    move(context, y, total, m.x, channels, channels);
    step_backward(context, io, step, m);
    for_each_channel(context, {1, images_, channels * plane_, Layout::kPlain}, AddStrips{m.dx, m.all, gap});
  }
  if (!io.dx[0]) return;
  const int64_t given = io.dx[0].shape()[1];
  if (given > form_.initial()) clear_on_device(context, io.dx[0].data, size_t(io.dx[0].spec.bytes()));
  move(context, m.all, total, io.dx[0].f32(), given, form_.initial());
}

const RegisterLayer register_dense_block({
    .name = "DenseBlock",
    .help = "DenseNet's block: each convolution reads all previous channels",
    .options = "denseblock_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<DenseBlockLayer>,
});

}  // namespace

}  // namespace cortado
