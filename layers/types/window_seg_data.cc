// WindowSegData (DeconvNet): windows of images and of their label images. A line of the list has an image, its labels
// and the window's corners in pixels, x1 y1 x2 y2, which belong to the window; with label_type: NONE it has no labels,
// and all are ignore_label. A window may exceed its image: there pixels are 0 and labels ignore_label. Windows are
// resized to new_height x new_width, then cropped and mirrored; if they are smaller than the crop, they are padded as
// in ImageSegData. label_type: IMAGE, a class for each image, and a third top are not supported. See
// layers/common/data/pair_data_layer.h.

#include "data/pipeline/pipeline_options.h"
#include "layers/common/data/pair_data_layer.h"
#include "layers/registry.h"

namespace cortado {

namespace {

std::unique_ptr<Layer> make_window_seg_data(const LayerOptions& options) {
  const caffe::ImageDataParameter& param = options.config.image_data_param();
  return std::make_unique<PairDataLayer>(options, int(param.new_height()), int(param.new_width()));
}

const RegisterLayer register_window_seg_data({
    .name = "WindowSegData",
    .help = "windows of image files and of their label images (DeconvNet)",
    .options = "image_data_param",
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 1,
    .max_tops = 2,
    .make = make_window_seg_data,
    .kind = LayerKind::kData,
    .pipeline = data::make_window_pair_options,
});

}  // namespace

}  // namespace cortado
