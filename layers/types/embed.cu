// Embed: y = w[x] + bias, a row of the input_dim x num_output table w for each index in x; y has x's shape and an
// additional last axis. Indices have no gradient. An invalid index is an error. On devices forward does not check
// values; there an invalid index makes its row of y NaN.

#include <cmath>

#include "layers/common/loops/typed.h"
#include "layers/common/shape_rules.h"
#include "layers/common/weights/filler.h"
#include "layers/picked_rows.h"
#include "layers/registry.h"

namespace cortado {

namespace {

template <typename T>
struct EmbedForward {
  T* y;
  const float *w, *bias;  ///< bias may be null
  Picked picked;
  int64_t width;
  CORTADO_HD void operator()(int64_t i, int64_t place) const {
    const int64_t row = picked.row(place), column = i - place * width;
    const float added = bias ? bias[column] : 0;
    y[i] = row < 0 ? NAN : w[row * width + column] + added;
  }
};

template <typename T>
struct BackwardOfTable {
  const T* dy;
  float* dw;
  PickedLists lists;
  int64_t width;
  bool add;
  CORTADO_HD void operator()(int64_t i, int64_t row) const {
    float sum = add ? dw[i] : 0;
    for (int64_t place = lists.first[row]; place >= 0; place = lists.next[place])
      sum += float(dy[(place - row) * width + i]);
    dw[i] = sum;
  }
};

template <typename T>
struct BiasTerm {
  const T* dy;
  int64_t width;
  CORTADO_HD float operator()(int64_t column, int64_t place) const { return dy[place * width + column]; }
};

class EmbedLayer : public Layer {
 public:
  explicit EmbedLayer(const LayerOptions& options) : param_(options.config.embed_param()) {
    check_extent("num_output", param_.has_num_output(), param_.num_output(), "set the length of each row");
    check_extent("input_dim", param_.has_input_dim(), param_.input_dim(),
                 "set the number of rows: the highest index + 1");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    if (x[0].axes() == Shape::kMaxAxes)
      throw FieldError("bottom[0]", "it has 32 axes, the maximum, but the result needs one more");
    std::vector<int64_t> y = x[0].dims();
    y.push_back(width());
    const Shape table{rows(), width()};
    LayerShapes shapes{.y = {Shape(y)}, .w = {}};
    shapes.w = {filled_weight(param_.weight_filler(), table, "embed_param.weight_filler")};
    if (param_.bias_term())
      shapes.w.push_back(filled_weight(param_.bias_filler(), Shape{width()}, "embed_param.bias_filler"));
    return shapes;
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kMakes}; }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    LayerNeeds needs;
    if (!request.backward || !request.wants_dw[0]) return needs;
    needs.backward_reads_x = {true};
    needs.backward_scratch = picked_lists_bytes(request.x[0].shape.count(), rows());
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    const Picked picked = picked_of(io);
    const ChannelView view{1, picked.picks, width(), Layout::kPlain};
    const float* bias = param_.bias_term() ? io.w[1].f32() : nullptr;
    for_each_channel_typed<EmbedForward>(context, view, io.y[0], io.w[0].f32(), bias, picked, width());
  }

  void backward(Context& context, const Operands& io) override {
    const Picked picked = picked_of(io);
    if (io.dw[0]) {
      const PickedLists lists = picked_lists_in(io.scratch, rows());
      link_picked(context, picked, lists);
      const ChannelView view{1, rows(), width(), Layout::kPlain};
      for_each_channel_typed<BackwardOfTable>(context, view, io.dy[0], io.dw[0].f32(), lists, width(), io.adds(0));
    }
    if (!param_.bias_term() || !io.dw[1]) return;
    const auto sum = [&](const auto& term) {
      reduce_rows(context, width(), picked.picks, term, io.dw[1].f32(), io.adds(1));
    };
    with_functor<BiasTerm>(sum, io.dy[0], width());
  }

  void validate(Context& context, const Operands& io) override { validate_picked(context, picked_of(io), "the table"); }

  bool differentiable(int) const override { return false; }

 private:
  static void check_extent(const std::string& name, bool given, uint32_t extent, const std::string& hint) {
    if (extent > 0) return;
    throw FieldError(given ? "embed_param." + name : "embed_param", name + (given ? " is 0" : " is missing"), hint);
  }
  int64_t rows() const { return param_.input_dim(); }
  int64_t width() const { return param_.num_output(); }
  Picked picked_of(const Operands& io) const { return {io.x[0].f32(), io.x[0].count(), rows()}; }

  const caffe::EmbedParameter& param_;
};

const RegisterLayer register_embed({
    .name = "Embed",
    .help = "a learned row for each index",
    .options = "embed_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<EmbedLayer>,
    .family = LayerFamily::kDense,
});

}  // namespace

}  // namespace cortado
