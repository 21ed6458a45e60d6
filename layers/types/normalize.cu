// Normalize: y = x / norm times a learned scale, norm = sqrt(sum of x^2 + eps) over the channels at each position, or
// over a whole sample (across_spatial, the default). The scale is one number (channel_shared, the default) or one for
// each channel, and is initialized to 1. With n = x / norm and h = dy scale
//   dx = (h - n sum(n h)) / norm,   dscale = sum of dy n
// The defaults are SSD's, whose files set both switches to false.
//
// Without norm_param it is NormFace's (Wang et al. 2017), without a scale: the norm is that of the channels at each
// position, by normalize_param's normalize_type L2 or L1. For L1, y = x / (sum of |x| + eps), dx = (dy - sign(x) sum(y
// dy)) / norm.

#include <cmath>

#include "layers/common/loops/row_moments.h"
#include "layers/common/needs.h"
#include "layers/common/shape_rules.h"
#include "layers/common/weights/filler.h"
#include "layers/common/weights/normalize_form.h"
#include "layers/registry.h"

namespace cortado {

namespace {

/// x as samples x channels x positions. A set is normalized together; element i of set k is at(k, i).
struct Sets {
  int64_t channels, places;
  bool whole;                    ///< a set is a sample, else the channels of one position
  int64_t scale_stride;          ///< stride between the scales of channels; 0 if shared
  const float *inverse, *scale;  ///< 1 / norm of each set; null: no scale
  bool absolute = false;         ///< the norm is L1

  CORTADO_HD int64_t at(int64_t k, int64_t i) const {
    return whole ? k * channels * places + i : (k / places * channels + i) * places + k % places;
  }
  /// The set of element i, which is in row r: one channel of one sample.
  CORTADO_HD int64_t of(int64_t i, int64_t r) const {
    return whole ? r / channels : r / channels * places + i - r * places;
  }
  CORTADO_HD float gain(int64_t r) const { return scale ? scale[r % channels * scale_stride] : 1; }
  /// The term of an element in the sum of its norm.
  CORTADO_HD float term(float v) const { return absolute ? fabsf(v) : v * v; }
  /// The slope of the norm, by element v.
  CORTADO_HD float slope(float v, float inverse_norm) const {
    return absolute ? v > 0 ? 1 : v < 0 ? -1 : 0 : v * inverse_norm;
  }
};

template <typename T>
struct Square {
  const T* x;
  Sets sets;
  CORTADO_HD float operator()(int64_t k, int64_t i) const { return sets.term(x[sets.at(k, i)]); }
};

template <typename T>
struct NormalizeForward {
  const T* x;
  T* y;
  Sets sets;
  CORTADO_HD void operator()(int64_t i, int64_t r) const { y[i] = x[i] * sets.inverse[sets.of(i, r)] * sets.gain(r); }
};

/// n h.
template <typename T>
struct Projection {
  const T *x, *dy;
  Sets sets;
  CORTADO_HD float operator()(int64_t k, int64_t i) const {
    const int64_t at = sets.at(k, i), channel = sets.whole ? i / sets.places : i;
    return x[at] * sets.inverse[k] * dy[at] * sets.gain(channel);
  }
};

template <typename T>
struct NormalizeBackward {
  const T *x, *dy;
  T* dx;
  Sets sets;
  const float* projection;
  CORTADO_HD void operator()(int64_t i, int64_t r) const {
    const int64_t k = sets.of(i, r);
    const float inverse = sets.inverse[k];
    dx[i] = (dy[i] * sets.gain(r) - sets.slope(x[i], inverse) * projection[k]) * inverse;
  }
};

/// dy n, in row r.
template <typename T>
struct ScaleTerm {
  const T *x, *dy;
  Sets sets;
  CORTADO_HD float operator()(int64_t r, int64_t place) const {
    const int64_t i = r * sets.places + place;
    return dy[i] * x[i] * sets.inverse[sets.of(i, r)];
  }
};

/// The contribution of row i, of the rows that share scale c, to its gradient.
struct SumOfRows {
  const float* sums;
  int64_t scales;
  CORTADO_HD float operator()(int64_t c, int64_t i) const { return sums[i * scales + c]; }
};

struct InverseOfNorm {
  float* values;
  float eps;
  CORTADO_HD void operator()(int64_t k) const { values[k] = 1 / (values[k] + eps); }
};

class NormalizeLayer : public Layer {
 public:
  explicit NormalizeLayer(const LayerOptions& options)
      : form_(normalize_form(options.config)), options_(form_.options), filler_(options_.scale_filler()) {
    if (!options_.has_scale_filler()) filler_.set_value(1);
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    require_axes(x[0], 2);
    samples_ = x[0][0], channels_ = x[0][1], places_ = x[0].count(2);
    if (!form_.scales) return {.y = {x[0]}, .w = {}};
    const Shape scale = options_.channel_shared() ? Shape() : Shape{channels_};
    return {.y = {x[0]}, .w = {filled_weight(filler_, scale, "norm_param.scale_filler")}};
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kFollow}; }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    LayerNeeds needs = needs_of_x(request);
    needs.saved = {sets() * kFloatBytes};
    needs.backward_scratch = (sets() + rows()) * kFloatBytes;
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    sum_of_rows<Square>(context, sets(), size(), inverse(io), io.x[0], sets_of(io));
    if (form_.absolute)
      for_each(context, sets(), InverseOfNorm{inverse(io), options_.eps()});
    else
      for_each(context, sets(), InverseDeviation{inverse(io), options_.eps()});
    for_each_channel_typed<NormalizeForward>(context, view(), io.x[0], io.y[0], sets_of(io));
  }

  void backward(Context& context, const Operands& io) override {
    float *projection = static_cast<float*>(io.scratch), *sums = projection + sets();
    // The scale first: dx may overwrite dy.
    if (form_.scales && io.dw[0]) {
      const int64_t scales = options_.channel_shared() ? 1 : channels_;
      sum_of_rows<ScaleTerm>(context, rows(), places_, sums, io.x[0], io.dy[0], sets_of(io));
      reduce_rows(context, scales, options_.channel_shared() ? rows() : samples_, SumOfRows{sums, scales},
                  io.dw[0].f32(), io.adds(0));
    }
    if (!io.dx[0]) return;
    sum_of_rows<Projection>(context, sets(), size(), projection, io.x[0], io.dy[0], sets_of(io));
    for_each_channel_typed<NormalizeBackward>(context, view(), io.x[0], io.dy[0], io.dx[0], sets_of(io), projection);
  }

  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 4 * x[0].count(); }

 private:
  static float* inverse(const Operands& io) { return static_cast<float*>(io.saved[0]); }
  int64_t rows() const { return samples_ * channels_; }
  int64_t sets() const { return options_.across_spatial() ? samples_ : samples_ * places_; }
  int64_t size() const { return options_.across_spatial() ? channels_ * places_ : channels_; }
  ChannelView view() const { return {1, rows(), places_, Layout::kPlain}; }
  Sets sets_of(const Operands& io) const {
    return {.channels = channels_,
            .places = places_,
            .whole = options_.across_spatial(),
            .scale_stride = options_.channel_shared() ? 0 : 1,
            .inverse = inverse(io),
            .scale = form_.scales ? io.w[0].f32() : nullptr,
            .absolute = form_.absolute};
  }

  NormalizeForm form_;
  const caffe::NormalizeParameter& options_;
  caffe::FillerParameter filler_;
  int64_t samples_ = 0, channels_ = 0, places_ = 0;
};

const RegisterLayer register_normalize({
    .name = "Normalize",
    .help = "divides by the L2 norm of the channels or of whole samples, with norm_param times a learned scale",
    .options = "norm_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<NormalizeLayer>,
    .family = LayerFamily::kNorm,
});

}  // namespace

}  // namespace cortado
