// AssistedExcitation (Derakhshani et al. 2019), of MobileNet-YOLO: raises the activations of all channels at the
// objects of the batch, in training:
//     y = x + a mean,  with a = cos(pi/2 n / max_iter) in pass n,
// where the position is in the box of an object, else y = x. Bottoms are x, N x C x H x W; the objects, in one of the
// formats of common/detection/grid_loss.h; and mean, a number for each image and position: that of x over channels. As
// in the fork only x gets a gradient, dx = dy.
//
// The fork takes max_iter from the solver, which layers do not see here. It raises only the first image of a batch,
// unlike the paper. Rows that are not objects are skipped; losses that read them report errors.

#include <cmath>

#include "core/error.h"
#include "core/log.h"
#include "core/loops/for_each.h"
#include "layers/common/detection/grid_loss.h"
#include "layers/common/loops/copies.h"
#include "layers/registry.h"

namespace cortado {

namespace {

constexpr int64_t kEveryClass = int64_t(1) << 40;

/// Whether an interval has cell `cell` of `size`: from the cell of its begin to the last of which it has more than
/// 0.05.
CORTADO_HD inline bool covers(float centre, float extent, int64_t size, int64_t cell) {
  const float cells = float(size), begin = (centre - extent / 2) * cells, end = (centre + extent / 2) * cells;
  const float first = floorf(fminf(fmaxf(begin, 0), cells - 1));
  const float last = floorf(fminf(fmaxf(end + 0.95f, first + 1), cells));
  return float(cell) >= first && float(cell) < last;
}

/// What is added to each channel of a position.
struct FindExcitation {
  ObjectRows objects;
  const float* mean;
  int64_t height, width;
  const uint64_t* pass;
  float max_iter;
  float* added;
  CORTADO_HD float factor() const {
    constexpr float kQuarter = 1.57079633f;
    return max_iter > 0 ? cosf(fminf(float(*pass) / max_iter, 1) * kQuarter) : 1;
  }
  CORTADO_HD bool excited(int64_t image, int64_t row, int64_t column) const {
    for (int64_t k = 0; k < objects.rows; ++k) {
      const int64_t at = objects.first(image) + k;
      const ObjectRows::Kind kind = objects.kind(at, image);
      if (kind == ObjectRows::Kind::kEnd) return false;
      if (kind != ObjectRows::Kind::kObject) continue;
      const CentreBox box = objects.box_of(at);
      if (covers(box.x, box.w, width, column) && covers(box.y, box.h, height, row)) return true;
    }
    return false;
  }
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t image = i / (height * width), place = i % (height * width);
    added[i] = excited(image, place / width, place % width) ? factor() * mean[i] : 0;
  }
};

struct AddExcitation {
  const float *x, *added;
  float* y;
  int64_t channels, pixels;
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t image = i / (channels * pixels);
    y[i] = x[i] + added[image * pixels + i % pixels];
  }
};

class AssistedExcitationLayer : public Layer {
 public:
  explicit AssistedExcitationLayer(const LayerOptions& options)
      : max_iter_(options.config.assisted_excitation_param().max_iter()), training_(options.phase == caffe::TRAIN) {
    if (training_ && max_iter_ == 0)
      log_warning() << "layer '" << options.config.name()
                    << "' (AssistedExcitation) raises activations in all passes alike; set "
                       "assisted_excitation_param { max_iter } to the solver's max_iter";
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    if (x[0].axes() != 4)
      throw FieldError("bottom[0]", "its shape is " + x[0].str() + ", but activations must be N x C x H x W");
    channels_ = x[0][1], height_ = x[0][2], width_ = x[0][3];
    objects_ = object_rows(x[1], x[0][0], kEveryClass);
    if (x[2].count() != x[0][0] * pixels())
      throw FieldError("bottom[2]",
                       "its shape is " + x[2].str() + ", but must be " + Shape{x[0][0], height_, width_}.str(),
                       "it is the mean over channels, one number for each position");
    return {.y = {x[0]}, .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    LayerNeeds needs;
    needs.aliasing.y_may_overwrite_x = true;
    needs.aliasing.dx_may_overwrite_dy = true;
    needs.forward_scratch = training_ ? request.x[2].shape.count() * kFloatBytes : 0;
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    if (!training_) return copy_values(context, io.x[0], io.y[0]);
    float* added = static_cast<float*>(io.scratch);
    ObjectRows objects = objects_;
    objects.values = io.x[1].f32();
    for_each(context, io.x[2].count(),
             FindExcitation{objects, io.x[2].f32(), height_, width_, context.pass_word(), float(max_iter_), added});
    for_each(context, io.y[0].count(), AddExcitation{io.x[0].f32(), added, io.y[0].f32(), channels_, pixels()});
  }

  void backward(Context& context, const Operands& io) override {
    if (io.dx[0]) copy_values(context, io.dy[0], io.dx[0]);
  }

  bool differentiable(int i) const override { return i == 0; }

 private:
  int64_t pixels() const { return height_ * width_; }

  uint32_t max_iter_;
  bool training_;
  int64_t channels_ = 0, height_ = 0, width_ = 0;
  ObjectRows objects_{};
};

const RegisterLayer register_assisted_excitation({
    .name = "AssistedExcitation",
    .help = "raises activations at objects, less and less during training (MobileNet-YOLO)",
    .options = "assisted_excitation_param",
    .min_bottoms = 3,
    .max_bottoms = 3,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<AssistedExcitationLayer>,
});

}  // namespace

}  // namespace cortado
