// DetectionLoss: two layers of this name, which the fields of detection_loss_param tell apart. With cls_num it is
// MS-CNN's (branch_loss.cu). YOLO's first loss, which has side and num_class, is not available.

#include "core/error.h"
#include "layers/registry.h"
#include "layers/types/branch_loss.h"

namespace cortado {

namespace {

std::unique_ptr<Layer> make(const LayerOptions& options) {
  const caffe::DetectionLossParameter& param = options.config.detection_loss_param();
  if (param.has_side() || param.has_num_class() || param.has_num_object())
    throw FieldError("detection_loss_param",
                     "side, num_class and num_object are fields of YOLO's first loss, which is not available",
                     "MS-CNN's loss has cls_num, field_w, field_h and downsample_rate");
  return make_branch_loss(options);
}

const RegisterLayer registered({
    .name = "DetectionLoss",
    .help = "the loss of a branch's classes and boxes",
    .options = "detection_loss_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make,
});

}  // namespace

}  // namespace cortado
