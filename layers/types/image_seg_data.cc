// ImageSegData: DeepLab's images and label images, one pair on each line of a list. Images smaller than the crop are
// padded below and on the right: the images with the mean, the labels with 255, which losses should ignore
// (ignore_label). With has_label: false or label_type: NONE a line has only an image, and all labels are 255. A third
// top holds the height and width of each image within the crop. See layers/common/data/pair_data_layer.h.

#include "data/pipeline/pipeline_options.h"
#include "layers/common/data/pair_data_layer.h"
#include "layers/registry.h"

namespace cortado {

namespace {

std::unique_ptr<Layer> make_image_seg_data(const LayerOptions& options) {
  const caffe::ImageDataParameter& param = options.config.image_data_param();
  return std::make_unique<PairDataLayer>(options, int(param.new_height()), int(param.new_width()));
}

const RegisterLayer register_image_seg_data({
    .name = "ImageSegData",
    .help = "image files from a list, their label images, and the image sizes",
    .options = "image_data_param",
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 1,
    .max_tops = 3,
    .make = make_image_seg_data,
    .kind = LayerKind::kData,
    .pipeline = data::make_segment_pair_options,
});

}  // namespace

}  // namespace cortado
