// ImageLabelmapData: HED's images and maps of what is in them, edges or an object, which a list names, a line each.
// What is 128 or more in a map is 1, all else 0. layers/common/data/pair_data_layer.h says the rest.

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
    .help = "image files that a list names, and maps of 0 and 1 over them",
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
