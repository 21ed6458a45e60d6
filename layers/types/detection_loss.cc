// DetectionLoss: two layers of this name, distinguished by the fields of detection_loss_param. With side, num_class or
// num_object it is YOLO v1's loss (cell_loss.cc), else MS-CNN's (branch_loss.cc).

#include "core/error.h"
#include "layers/registry.h"
#include "layers/types/branch_loss.h"
#include "layers/types/cell_loss.h"

namespace cortado {

namespace {

std::unique_ptr<Layer> make_detection_loss(const LayerOptions& options) {
  const caffe::DetectionLossParameter& param = options.config.detection_loss_param();
  const bool yolo = param.has_side() || param.has_num_class() || param.has_num_object();
  if (yolo && (param.has_cls_num() || param.has_field_w() || param.has_field_h() || param.has_downsample_rate()))
    throw FieldError("detection_loss_param",
                     "it has fields of two layers: side, num_class and num_object of YOLO's, cls_num, field_w, "
                     "field_h and downsample_rate of MS-CNN's",
                     "set the fields of only one of them");
  return yolo ? make_cell_loss(options) : make_branch_loss(options);
}

const RegisterLayer register_detection_loss({
    .name = "DetectionLoss",
    .help = "the loss of classes and boxes of a branch (MS-CNN) or of a grid of cells (YOLO)",
    .options = "detection_loss_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_detection_loss,
    .loss = LossRole{},
    .loss_fields = "ignore_label",
});

}  // namespace

}  // namespace cortado
