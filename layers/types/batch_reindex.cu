// BatchReindex: y[i] = x[0][index[i]]: selects, drops or repeats samples by the indices in x[1]. Backward sums the
// gradients of a sample that was selected several times. An invalid index is an error. On devices forward does not
// check values; there an invalid index makes its sample NaN.

#include <cmath>

#include "layers/common/loops/typed.h"
#include "layers/common/shape_rules.h"
#include "layers/picked_rows.h"
#include "layers/registry.h"

namespace cortado {

namespace {

template <typename T>
struct BatchReindexForward {
  const T* x;
  float* y;
  Picked picked;
  int64_t width;
  CORTADO_HD void operator()(int64_t i, int64_t place) const {
    const int64_t row = picked.row(place);
    y[i] = row < 0 ? NAN : float(x[(row - place) * width + i]);
  }
};

template <typename T>
struct BatchReindexBackward {
  T* dx;
  const float* dy;
  PickedLists lists;
  int64_t width;
  CORTADO_HD void operator()(int64_t i, int64_t row) const {
    float sum = 0;
    for (int64_t place = lists.first[row]; place >= 0; place = lists.next[place]) sum += dy[(place - row) * width + i];
    dx[i] = sum;
  }
};

class BatchReindexLayer : public Layer {
 public:
  explicit BatchReindexLayer(const LayerOptions&) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    require_axes(x[0], 1);
    if (x[1].axes() != 1)
      throw FieldError("bottom[1]", "its shape is " + x[1].str() + ", but indices must have one axis");
    Shape y = x[0];
    y[0] = x[1][0];
    return {.y = {y}, .w = {}};
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kReads}; }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x = {false, true};
    if (request.backward && request.wants_dx[0])
      needs.backward_scratch = picked_lists_bytes(request.x[1].shape[0], request.x[0].shape[0]);
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    const Picked picked = picked_of(io);
    const int64_t width = io.y[0].shape().count(1);
    const ChannelView view{1, picked.picks, width, Layout::kPlain};
    for_each_channel_typed<BatchReindexForward>(context, view, io.x[0], io.y[0].f32(), picked, width);
  }

  void backward(Context& context, const Operands& io) override {
    if (!io.dx[0]) return;
    const Picked picked = picked_of(io);
    const PickedLists lists = picked_lists_in(io.scratch, picked.rows);
    link_picked(context, picked, lists);
    const int64_t width = io.x[0].shape().count(1);
    const ChannelView view{1, picked.rows, width, Layout::kPlain};
    for_each_channel_typed<BatchReindexBackward>(context, view, io.dx[0], io.dy[0].f32(), lists, width);
  }

  void validate(Context& context, const Operands& io) override { validate_picked(context, picked_of(io), "bottom[0]"); }

  bool differentiable(int i) const override { return i == 0; }

 private:
  static Picked picked_of(const Operands& io) { return {io.x[1].f32(), io.x[1].count(), io.x[0].shape()[0]}; }
};

const RegisterLayer register_batch_reindex({
    .name = "BatchReindex",
    .help = "samples selected by indices",
    .options = "",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<BatchReindexLayer>,
});

}  // namespace

}  // namespace cortado
