// Tile: repeats x `tiles` times along an axis, as a whole: 1 2 becomes 1 2 1 2. Backward sums the gradients of the
// copies.

#include "core/error.h"
#include "layers/common/loops/typed.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"

namespace cortado {

namespace {

/// A row is one block that is repeated.
template <typename T>
struct TileForward {
  const T* x;
  T* y;
  int64_t width, tiles;
  CORTADO_HD void operator()(int64_t i, int64_t row) const { y[i] = x[i + (row / tiles - row) * width]; }
};

template <typename T>
struct TileBackward {
  const T* dy;
  T* dx;
  int64_t width, tiles;
  CORTADO_HD void operator()(int64_t i, int64_t row) const {
    const T* first = dy + i + row * (tiles - 1) * width;
    float sum = 0;
    for (int64_t t = 0; t < tiles; ++t) sum += float(first[t * width]);
    dx[i] = sum;
  }
};

class TileLayer : public Layer {
 public:
  explicit TileLayer(const LayerOptions& options)
      : param_(options.config.tile_param()), tiles_(options.config.tile_param().tiles()) {
    if (tiles_ < 1)
      throw FieldError(param_.has_tiles() ? "tile_param.tiles" : "tile_param",
                       param_.has_tiles() ? "tiles is " + std::to_string(tiles_) : "tiles is missing",
                       "set the number of repetitions, at least 1");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    const int axis = axis_of(x[0], param_.axis(), "tile_param.axis");
    rows_ = x[0].count(0, axis);
    width_ = x[0].count(axis);
    Shape y = x[0];
    y[axis] = count_of_elements({y[axis], tiles_}, "tile_param.tiles");
    count_of_elements(y, "tile_param.tiles");
    return {.y = {y}, .w = {}};
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kFollow}; }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.aliasing.view = needs.aliasing.dx_is_dy = tiles_ == 1;
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    if (tiles_ == 1) return;
    const ChannelView copies{1, rows_ * tiles_, width_, Layout::kPlain};
    for_each_channel_typed<TileForward>(context, copies, io.x[0], io.y[0], width_, tiles_);
  }

  void backward(Context& context, const Operands& io) override {
    if (tiles_ == 1) return;
    const ChannelView blocks{1, rows_, width_, Layout::kPlain};
    for_each_channel_typed<TileBackward>(context, blocks, io.dy[0], io.dx[0], width_, tiles_);
  }

 private:
  const caffe::TileParameter& param_;
  int64_t tiles_, rows_ = 0, width_ = 0;
};

const RegisterLayer register_tile({
    .name = "Tile",
    .help = "repeats x along an axis",
    .options = "tile_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<TileLayer>,
});

}  // namespace

}  // namespace cortado
