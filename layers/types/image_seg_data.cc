// ImageSegData: DeepLab's images and images of labels, which a list names, a line each. Images smaller than the crop
// are filled below and on the right, with the mean, and their labels with 255, which losses are told to ignore. With
// has_label: false lines have an image alone, and all labels are 255. A third top tells the height and width of each
// image as far as the crop shows them. layers/common/data/pair_data_layer.h says the rest.

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
    .help = "image files that a list names, images of their labels, and the images' sizes",
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
