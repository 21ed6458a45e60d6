// ImageLabelmapData: HED's images and binary maps (of edges or an object), one pair on each line of a list. Map values
// of 128 or more become 1, all others 0. See layers/common/data/pair_data_layer.h.

#include "data/pipeline/pipeline_options.h"
#include "layers/common/data/pair_data_layer.h"
#include "layers/registry.h"

namespace cortado {

namespace {

std::unique_ptr<Layer> make_image_labelmap_data(const LayerOptions& options) {
  const caffe::ImageDataParameter& param = options.config.image_data_param();
  return std::make_unique<PairDataLayer>(options, int(param.new_height()), int(param.new_width()));
}

const RegisterLayer register_image_labelmap_data({
    .name = "ImageLabelmapData",
    .help = "image files from a list, and their binary label maps",
    .options = "image_data_param",
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 1,
    .max_tops = 2,
    .make = make_image_labelmap_data,
    .kind = LayerKind::kData,
    .pipeline = data::make_map_pair_options,
});

}  // namespace

}  // namespace cortado
