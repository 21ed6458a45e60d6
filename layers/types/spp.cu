// SPP, spatial pyramid pooling: level l pools x, N x C x H x W, in 2^l x 2^l windows. y, N x C (4^levels - 1) / 3, is
// the concatenation of all levels, so its size does not depend on the image's.
//
// A window of level l is k = ceil(in / 2^l) along each axis, with stride k and pad = (k 2^l - in + 1) / 2 (rounded
// down); an average includes padding. With a single level y stays N x C x 1 x 1. `engine` selects between
// implementations with the same result in Caffe. Stochastic pooling does not support padding, and is not available
// here.

#include <algorithm>

#include "core/error.h"
#include "kernels/pool.h"
#include "kernels/scratch.h"
#include "layers/common/loops/strips.h"
#include "layers/registry.h"

namespace cortado {

namespace {

template <typename T>
struct AddTo {
  const T* more;
  T* sum;
  CORTADO_HD void operator()(int64_t i) const { sum[i] = float(sum[i]) + float(more[i]); }
};

struct SppWindow {
  int64_t size, pad;
};

class SppLayer : public Layer {
 public:
  explicit SppLayer(const LayerOptions& options) : options_(options.config.spp_param()) {
    if (!options_.has_pyramid_height() || options_.pyramid_height() == 0)
      throw FieldError(options_.has_pyramid_height() ? "spp_param.pyramid_height" : "spp_param",
                       options_.has_pyramid_height() ? "pyramid_height is 0" : "pyramid_height is missing",
                       "set the number of levels");
    if (options_.pool() == caffe::SPPParameter::STOCHASTIC)
      throw FieldError("spp_param.pool", "STOCHASTIC pooling does not support padding, which a pyramid needs",
                       "use MAX or AVE");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    if (x[0].axes() != 4) throw FieldError("bottom[0]", "its shape is " + x[0].str() + "; pooling needs N x C x H x W");
    if (x[0][2] == 0 || x[0][3] == 0) throw FieldError("bottom[0]", "its shape is " + x[0].str() + ", which is empty");
    int64_t bins = 0;
    for (int64_t level = 0; level < options_.pyramid_height(); ++level) {
      window(x[0][2], level);
      window(x[0][3], level);
      bins += side_of(level) * side_of(level);
    }
    if (levels() == 1) return {.y = {{x[0][0], x[0][1], 1, 1}}, .w = {}};
    return {.y = {{x[0][0], checked_mul(x[0][1], bins)}}, .w = {}};
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kFollow}; }
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override;
  void backward(Context& context, const Operands& io) override;

  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override {
    return levels() * x[0].count();
  }

 private:
  struct Level {
    std::unique_ptr<kernels::Pool> pool;
    TensorSpec y;       ///< of this level only
    int64_t start = 0;  ///< its offset in a sample of y
    int64_t saved = 0;  ///< its offset in saved memory
  };

  int64_t levels() const { return options_.pyramid_height(); }
  static int64_t side_of(int64_t level) { return int64_t(1) << level; }

  /// Levels are checked in order: at some level windows contain only padding, long before 2^level overflows.
  static SppWindow window(int64_t in, int64_t level) {
    const int64_t side = side_of(level), size = (in + side - 1) / side, pad = (size * side - in + 1) / 2;
    if (pad < size) return {size, pad};
    throw FieldError("spp_param.pyramid_height",
                     "level " + std::to_string(level) + " has " + std::to_string(side) + " windows of " +
                         std::to_string(size) + " along an axis of " + std::to_string(in) + ", with padding " +
                         std::to_string(pad),
                     "use fewer levels or larger images: some windows would contain only padding");
  }

  void* scratch_of(const Operands& io, int part) const { return kernels::scratch_part(io.scratch, parts_[part]); }
  Strips strips(const Level& level) const { return {level.y.shape[0], level.y.shape.count(1)}; }

  const caffe::SPPParameter& options_;
  std::vector<Level> levels_;
  int64_t parts_[3] = {};  ///< offsets in scratch: of the kernels' scratch, of one level's y, and of its dx
};

LayerNeeds SppLayer::prepare(const PrepareRequest& request, Context& context) {
  LayerNeeds needs;
  const TensorSpec& x = request.x[0];
  kernels::ScratchLayout saved;
  int64_t start = 0, own = 0, largest = 0;
  levels_.clear();
  for (int64_t l = 0; l < levels(); ++l) {
    const SppWindow h = window(x.shape[2], l), w = window(x.shape[3], l);
    const TensorSpec y{{x.shape[0], x.shape[1], side_of(l), side_of(l)}, x.dtype, Layout::kPlain};
    kernels::PoolRequest pool{.x = x, .y = y};
    pool.average = options_.pool() == caffe::SPPParameter::AVE;
    pool.kernel_h = pool.stride_h = h.size, pool.kernel_w = pool.stride_w = w.size;
    pool.pad_h = h.pad, pool.pad_w = w.pad;
    pool.backward = request.backward;
    Level& level = levels_.emplace_back(Level{kernels::plan_pool(pool, context), y});
    level.start = start;
    level.saved = saved.add(level.pool->saved_bytes());
    start += y.shape.count(1);
    own = std::max({own, level.pool->forward_scratch(), level.pool->backward_scratch()});
    largest = std::max(largest, y.bytes());
  }
  kernels::ScratchLayout scratch;
  parts_[0] = scratch.add(own);
  parts_[1] = scratch.add(largest);
  needs.forward_scratch = scratch.bytes();
  parts_[2] = scratch.add(x.bytes());
  needs.backward_scratch = request.backward ? scratch.bytes() : 0;
  if (saved.bytes() > 0) needs.saved = {saved.bytes()};
  needs.algorithm = levels_[0].pool->name();
  return needs;
}

void SppLayer::forward(Context& context, const Operands& io) {
  for (const Level& level : levels_) {
    const Tensor part{level.y, io.y[0].device, scratch_of(io, 1)};
    void* saved = io.saved.empty() ? nullptr : kernels::scratch_part(io.saved[0], level.saved);
    level.pool->forward(context, io.x[0].data, part.data, nullptr, saved, scratch_of(io, 0));
    copy_strips(context, strips(level), {part, 0, level.y.shape.count(1)},
                {io.y[0], level.start, io.y[0].shape().count(1)});
  }
}

void SppLayer::backward(Context& context, const Operands& io) {
  if (!io.dx[0]) return;
  for (const Level& level : levels_) {
    const Tensor part{level.y, io.y[0].device, scratch_of(io, 1)};
    const Tensor more{io.dx[0].spec, io.dx[0].device, scratch_of(io, 2)};
    const void* saved = io.saved.empty() ? nullptr : kernels::scratch_part(io.saved[0], level.saved);
    const bool first = &level == &levels_[0];
    copy_strips(context, strips(level), {io.dy[0], level.start, io.dy[0].shape().count(1)},
                {part, 0, level.y.shape.count(1)});
    level.pool->backward(context, part.data, first ? io.dx[0].data : more.data, saved, scratch_of(io, 0));
    if (!first) for_each_typed<AddTo>(context, more, io.dx[0]);
  }
}

const RegisterLayer register_spp({
    .name = "SPP",
    .help = "spatial pyramid pooling: the size does not depend on the image's",
    .options = "spp_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<SppLayer>,
    .family = LayerFamily::kPooling,
});

}  // namespace

}  // namespace cortado
