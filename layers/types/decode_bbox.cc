// DecodeBBox (Cascade R-CNN): the regions of the next stage. Bottoms are the offsets that a stage predicts, R x 8,
// first those of the background, then those of objects, and its regions R x 5 (common/regions.h). y is the regions
// after applying the offsets of objects (common/box_offsets.h, normalized as in bbox_reg_param). The layer has no
// gradient.
//
// In training, regions with swapped corners are dropped. With a third bottom, ProposalTarget's matches R x 6, those
// that overlap their object by decode_bbox_param.gt_iou_thr or more are dropped, too: ProposalTarget added these
// objects. The number of regions depends on the values (layers/roles.h). Tests keep all regions and do not accept a
// third bottom.
//
// bbox_mean and bbox_std may be in decode_bbox_param instead.

#include <algorithm>

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/detection/box_offsets.h"
#include "layers/registry.h"
#include "layers/roles.h"

namespace cortado {

namespace {

void require_rows(const std::vector<Shape>& x, size_t i, int64_t width, const std::string& what) {
  if (x[i].axes() < 2 || x[i].count(1) != width || x[i][0] != x[0][0])
    throw FieldError(entry("bottom", int64_t(i)),
                     "its shape is " + x[i].str() + ", but must be " + std::to_string(x[0].axes() > 0 ? x[0][0] : 0) +
                         " x " + std::to_string(width),
                     what);
}

OffsetScale scale_of(const caffe::LayerParameter& config) {
  const caffe::DecodeBBoxParameter& own = config.decode_bbox_param();
  const bool uses_own = own.bbox_mean_size() > 0 || own.bbox_std_size() > 0;
  if (uses_own && config.has_bbox_reg_param())
    throw FieldError("decode_bbox_param", "bbox_reg_param is set as well", "set bbox_mean and bbox_std in one of them");
  if (uses_own) return offset_scale(own.bbox_mean(), own.bbox_std(), "decode_bbox_param");
  const caffe::BboxRegParameter& shared = config.bbox_reg_param();
  return offset_scale(shared.bbox_mean(), shared.bbox_std(), "bbox_reg_param");
}

class DecodeBBoxLayer : public Layer {
 public:
  explicit DecodeBBoxLayer(const LayerOptions& options)
      : scale_(scale_of(options.config)),
        training_(options.phase == caffe::TRAIN),
        object_overlap_(options.config.decode_bbox_param().gt_iou_thr()) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    require_rows(x, 0, 8, "each region needs four offsets of the background and four of objects");
    require_rows(x, 1, 5,
                 "each row is the index of an image in the batch and the left, top, right and bottom of a region");
    if (x.size() > 2 && !training_)
      throw FieldError("bottom[2]", "the third bottom is not available in phase TEST",
                       "set the third bottom only in a layer of phase TRAIN");
    if (x.size() > 2) require_rows(x, 2, 6, "each row is a match of ProposalTarget");
    most_ = x[1];
    live_ = count_ = most_[0];
    return {.y = {most_}, .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }

  void forward(Context& context, const Operands& io) override {
    const HostView offsets(context, io.x[0].f32(), 8 * count_), regions(context, io.x[1].f32(), 5 * count_);
    const bool matched = io.x.size() > 2;
    const HostView matches(context, io.x[matched ? 2 : 0].f32(), io.x[matched ? 2 : 0].count());
    float* to = stage_.begin(context, io.y[0].f32(), 5 * count_);
    live_ = 0;
    for (int64_t r = 0; r < count_; ++r) {
      const float *row = regions.data() + 5 * r, *o = offsets.data() + 8 * r + 4;
      const Box box = moved({row[1], row[2], row[3], row[4]}, scale_.undone({o[0], o[1], o[2], o[3]}), 1, 1);
      if (training_ && !(box.x0 <= box.x1 && box.y0 <= box.y1)) continue;
      if (matched && matches.data()[6 * r + 5] >= object_overlap_) continue;
      const float found[5] = {row[0], box.x0, box.y0, box.x1, box.y1};
      std::copy_n(found, 5, to + 5 * live_++);
    }
    std::fill(to + 5 * live_, to + 5 * count_, 0.0f);
    stage_.commit(context);
  }

  bool differentiable(int) const override { return false; }
  LayerRoles roles() override { return {.needs_host = true}; }

 protected:
  Shape live_shape() const {
    Shape shape = most_;
    shape[0] = live_;
    return shape;
  }

 private:
  OffsetScale scale_;
  bool training_;
  float object_overlap_;  ///< regions that overlap their object by this or more are objects
  Shape most_;
  int64_t count_ = 0, live_ = 0;
  HostStage stage_;
};

class TrainingDecodeBBoxLayer : public DecodeBBoxLayer, public DynamicRows {
 public:
  using DecodeBBoxLayer::DecodeBBoxLayer;
  std::vector<Shape> current_shapes() const override { return {live_shape()}; }
  LayerRoles roles() override { return {.needs_host = true, .rows = this}; }
};

std::unique_ptr<Layer> make_decode_bbox(const LayerOptions& options) {
  if (options.phase == caffe::TRAIN) return std::make_unique<TrainingDecodeBBoxLayer>(options);
  return std::make_unique<DecodeBBoxLayer>(options);
}

const RegisterLayer register_decode_bbox({
    .name = "DecodeBBox",
    .help = "regions after applying their predicted offsets",
    .options = "bbox_reg_param",
    .min_bottoms = 2,
    .max_bottoms = 3,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_decode_bbox,
});

}  // namespace

}  // namespace cortado
