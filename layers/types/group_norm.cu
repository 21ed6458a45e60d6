// GroupNorm: normalizes each group of adjacent channels of a sample, over all positions, to mean 0 and variance 1: n =
// (x - mean) / sqrt(variance + eps), y = n g + b with a factor and a term for each channel.
//   h = dy g
//   dx = (h - mean(h) - n mean(h n)) / sqrt(variance + eps),   dg = sum of dy n,   db = sum of dy
// g is constant within a channel of a sample. So backward sums over these first, then over groups and samples.

#include "core/error.h"
#include "layers/common/loops/row_moments.h"
#include "layers/common/needs.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"
#include "layers/types/group_norm.h"

namespace cortado {

namespace {

/// Row k is one channel of one sample; `width` rows make a group.
struct Groups {
  int64_t channels, width;
  const float *mean, *factor, *g, *b;  ///< mean, factor: per group; g, b: per channel, null: 1 and 0

  CORTADO_HD int64_t of(int64_t k) const { return k / width; }
  CORTADO_HD float gain(int64_t k) const { return g ? g[k % channels] : 1; }
};

// Coefficients are computed per row before the loops over x and dy, so that these do not divide.

struct Coefficients {
  float *mean, *scale, *shift;
};

/// y = (x - mean) scale + shift.
struct ForwardCoefficients {
  Groups groups;
  Coefficients rows;
  CORTADO_HD void operator()(int64_t k) const {
    rows.mean[k] = groups.mean[groups.of(k)];
    rows.scale[k] = groups.factor[groups.of(k)] * groups.gain(k);
    rows.shift[k] = groups.b ? groups.b[k % groups.channels] : 0;
  }
};

template <typename T>
struct GroupNormForward {
  const T* x;
  T* y;
  Coefficients rows;
  CORTADO_HD void operator()(int64_t i, int64_t k) const {
    y[i] = (x[i] - rows.mean[k]) * rows.scale[k] + rows.shift[k];
  }
};

struct GroupStatistics {
  Groups groups;
  float *mean, *factor;
  CORTADO_HD void operator()(int64_t k) const {
    mean[k] = groups.mean[groups.of(k)];
    factor[k] = groups.factor[groups.of(k)];
  }
};

/// dy n, in row k.
template <typename T>
struct NormalTerm {
  const T *x, *dy;
  const float *mean, *factor;
  int64_t size;
  CORTADO_HD float operator()(int64_t k, int64_t i) const {
    return dy[k * size + i] * (x[k * size + i] - mean[k]) * factor[k];
  }
};

/// The mean over a group of h, or of h n, from the rows' sums of dy, or dy n.
struct GroupTerm {
  const float* sums;
  Groups groups;
  float share;  ///< 1 / elements of a group
  CORTADO_HD float operator()(int64_t group, int64_t i) const {
    const int64_t k = group * groups.width + i;
    return share * sums[k] * groups.gain(k);
  }
};

/// The contribution of sample n to the gradient of a weight of channel c.
struct SampleTerm {
  const float* sums;
  int64_t channels;
  CORTADO_HD float operator()(int64_t c, int64_t n) const { return sums[n * channels + c]; }
};

/// dx = dy scale + (x - mean) slope + shift.
struct BackwardCoefficients {
  Groups groups;
  const float *mean_h, *mean_hn;  ///< of groups
  float *scale, *slope, *shift;
  CORTADO_HD void operator()(int64_t k) const {
    const int64_t group = groups.of(k);
    const float factor = groups.factor[group];
    scale[k] = factor * groups.gain(k);
    slope[k] = -mean_hn[group] * factor * factor;
    shift[k] = -mean_h[group] * factor;
  }
};

template <typename T>
struct GroupNormBackward {
  const T *x, *dy;
  T* dx;
  const float *mean, *scale, *slope, *shift;
  CORTADO_HD void operator()(int64_t i, int64_t k) const {
    dx[i] = dy[i] * scale[k] + (x[i] - mean[k]) * slope[k] + shift[k];
  }
};

class GroupNormLayer : public Layer {
 public:
  GroupNormLayer(const NormOptions& options, int64_t groups) : options_(options), groups_option_(groups) {
    check_norm(options_);
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    require_axes(x[0], 2);
    samples_ = x[0][0], channels_ = x[0][1], size_ = x[0].count(2);
    groups_ = groups_option_ == 0 ? channels_ : groups_option_;
    if (groups_ > 0 && channels_ % groups_ != 0)
      throw FieldError(options_.field + ".group",
                       std::to_string(channels_) + " channels cannot be split into " + std::to_string(groups_) +
                           " groups of equal size",
                       "set a divisor of the number of channels");
    LayerShapes shapes{.y = {x[0]}, .w = {}};
    add_affine_weights(shapes, Shape{channels_}, options_);
    return shapes;
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kFollow}; }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    LayerNeeds needs = needs_of_x(request);
    needs.saved = {all_groups() * kFloatBytes, all_groups() * kFloatBytes};
    needs.forward_scratch = 3 * rows() * kFloatBytes;
    needs.backward_scratch = (4 * rows() + 2 * all_groups()) * kFloatBytes;
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    float* scratch = static_cast<float*>(io.scratch);
    const Coefficients coefficients{scratch, scratch + rows(), scratch + 2 * rows()};
    row_moments(context, io.x[0], all_groups(), width() * size_, options_.eps, saved(io, 0), saved(io, 1));
    for_each(context, rows(), ForwardCoefficients{groups(io), coefficients});
    for_each_channel_typed<GroupNormForward>(context, view(), io.x[0], io.y[0], coefficients);
  }

  void backward(Context& context, const Operands& io) override {
    float *mean = static_cast<float*>(io.scratch), *factor = mean + rows(), *sum = factor + rows(),
          *sum_n = sum + rows(), *mean_h = sum_n + rows(), *mean_hn = mean_h + all_groups();
    for_each(context, rows(), GroupStatistics{groups(io), mean, factor});
    sum_of_rows<RowValue>(context, rows(), size_, sum, io.dy[0], size_, 1.0f);
    sum_of_rows<NormalTerm>(context, rows(), size_, sum_n, io.x[0], io.dy[0], mean, factor, size_);
    if (options_.affine && io.dw[0]) add_up(context, sum_n, io.dw[0], io.adds(0));
    if (options_.affine && io.dw[1]) add_up(context, sum, io.dw[1], io.adds(1));
    if (!io.dx[0]) return;
    const float share = share_of_row(width() * size_);
    reduce_rows(context, all_groups(), width(), GroupTerm{sum, groups(io), share}, mean_h);
    reduce_rows(context, all_groups(), width(), GroupTerm{sum_n, groups(io), share}, mean_hn);
    // The coefficients overwrite the sums, which are no longer needed.
    for_each(context, rows(), BackwardCoefficients{groups(io), mean_h, mean_hn, factor, sum_n, sum});
    for_each_channel_typed<GroupNormBackward>(context, view(), io.x[0], io.dy[0], io.dx[0], mean, factor, sum_n, sum);
  }

  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 8 * x[0].count(); }

 private:
  static float* saved(const Operands& io, size_t i) { return static_cast<float*>(io.saved[i]); }
  int64_t rows() const { return samples_ * channels_; }
  int64_t all_groups() const { return samples_ * groups_; }
  int64_t width() const { return groups_ == 0 ? 1 : channels_ / groups_; }
  ChannelView view() const { return {1, rows(), size_, Layout::kPlain}; }

  Groups groups(const Operands& io) const {
    const bool affine = options_.affine;
    return {channels_,
            width(),
            saved(io, 0),
            saved(io, 1),
            affine ? io.w[0].f32() : nullptr,
            affine ? io.w[1].f32() : nullptr};
  }

  void add_up(Context& context, const float* sums, const Tensor& dw, bool add) const {
    reduce_rows(context, channels_, samples_, SampleTerm{sums, channels_}, dw.f32(), add);
  }

  NormOptions options_;
  int64_t groups_option_;
  int64_t samples_ = 0, channels_ = 0, size_ = 0, groups_ = 0;
};

std::unique_ptr<Layer> make_group_norm_layer(const LayerOptions& options) {
  const caffe::GroupNormParameter& param = options.config.group_norm_param();
  const std::string field = std::string("group_norm_param.") + (param.has_group_num() ? "group_num" : "group");
  if (param.has_group() && param.has_group_num())
    throw FieldError(field, "group is set, too, and means the same", "remove one of the two");
  const int64_t groups = param.has_group_num() ? param.group_num() : param.group();
  if (groups == 0) throw FieldError(field, "it is 0, but must be 1 or more", "set 1 to normalize whole samples");
  return make_group_norm(norm_options(param, "group_norm_param"), groups);
}

const RegisterLayer register_group_norm({
    .name = "GroupNorm",
    .help = "normalizes groups of channels of each sample to mean 0 and variance 1",
    .options = "group_norm_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_group_norm_layer,
    .family = LayerFamily::kNorm,
});

}  // namespace

std::unique_ptr<Layer> make_group_norm(const NormOptions& options, int64_t groups) {
  return std::make_unique<GroupNormLayer>(options, groups);
}

}  // namespace cortado
