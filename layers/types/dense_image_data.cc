// DenseImageData: images and images of labels that a list names, a line each, as SegNet's and ENet's Caffe have it.
// Both have one size, or are brought to new_height x new_width, labels by their nearest pixel. With label_divide_factor
// (ENet) the labels' top has so many times fewer rows and columns: the pixel at floor(row * factor), and so on.
// layers/common/data/pair_data_layer.h says the rest.

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
                     "it is " + to_text(divisor) + ", but must be at least 1", "1 leaves labels as large as images");
  return divisor;
}

std::unique_ptr<Layer> make_dense_image_data(const LayerOptions& options) {
  const caffe::DenseImageDataParameter& param = options.config.dense_image_data_param();
  return std::make_unique<PairDataLayer>(options, int(param.new_height()), int(param.new_width()), divisor_of(param));
}

const RegisterLayer register_dense_image_data({
    .name = "DenseImageData",
    .help = "image files that a list names, and images of their labels",
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
