// DenseImageData: images and label images from a list, as in SegNet's and ENet's Caffe. Both have the same size, or are
// resized to new_height x new_width, labels by nearest neighbour. With label_divide_factor (ENet) the labels' top has
// that many times fewer rows and columns: the pixel at floor(row * factor), and so on. For the rest see
// layers/common/data/pair_data_layer.h.

#include "core/error.h"
#include "core/text/text.h"
#include "data/pipeline/pipeline_options.h"
#include "layers/common/data/pair_data_layer.h"
#include "layers/registry.h"

namespace cortado {

namespace {

float divisor_of(const caffe::DenseImageDataParameter& param) {
  const float divisor = param.label_divide_factor();
  if (!(divisor >= 1 && divisor <= 65536))
    throw FieldError("dense_image_data_param.label_divide_factor",
                     "it is " + to_text(divisor) + ", but must be at least 1", "set 1 for labels of the images' size");
  return divisor;
}

std::unique_ptr<Layer> make_dense_image_data(const LayerOptions& options) {
  const caffe::DenseImageDataParameter& param = options.config.dense_image_data_param();
  return std::make_unique<PairDataLayer>(options, int(param.new_height()), int(param.new_width()), divisor_of(param));
}

const RegisterLayer register_dense_image_data({
    .name = "DenseImageData",
    .help = "image files from a list, and their label images",
    .options = "dense_image_data_param",
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 1,
    .max_tops = 2,
    .make = make_dense_image_data,
    .kind = LayerKind::kData,
    .pipeline = data::make_dense_pair_options,
});

}  // namespace

}  // namespace cortado
