// DenseBlock: each of its steps becomes one or two BatchNormalizations, Relus and Convs, and a Concat.
#include "layers/common/weights/dense_block_form.h"
#include "onnx/export/operators.h"
#include "onnx/export/table.h"

namespace cortado::exporting {

namespace {

std::vector<float> scaled(std::span<const float> values, float factor) {
  std::vector<float> out(values.begin(), values.end());
  for (float& value : out) value *= factor;
  return out;
}

/// conv(relu(bn(x))), with the averages of phase TEST.
std::string write_part(LayerWriter& layer, const DenseBlockForm& block, const DenseBlockForm::Part& part,
                       const std::string& x) {
  const NormConv::Form& form = part.form;
  const Shape channels = {form.channels};
  const auto index = [&](int behind_gamma) { return int(block.weight(part.gamma + behind_gamma, part.step)); };
  const float factor = layer.values(int(block.factor()))[0], scale = factor == 0 ? 0 : 1 / factor;
  const std::string norm = layer.add({"BatchNormalization",
                                      {x, layer.weight(index(0), channels), layer.weight(index(1), channels),
                                       layer.floats("mean", channels, scaled(layer.values(index(2)), scale)),
                                       layer.floats("var", channels, scaled(layer.values(index(3)), scale))},
                                      {{"epsilon", form.eps}}});
  const int64_t h = form.kernel_h, w = form.kernel_w;
  return layer.add(
      {"Conv",
       {unary(layer, "Relu", norm), layer.weight(int(block.weight(part.filter, part.step)))},
       {{"kernel_shape", std::vector<int64_t>{h, w}}, {"pads", std::vector<int64_t>{h / 2, w / 2, h / 2, w / 2}}}});
}

void write_dense_block(LayerWriter& layer) {
  DenseBlockForm block(layer.config.denseblock_param(), caffe::TEST);
  const Shape& x = layer.x[0].shape;
  block.infer(x);
  std::string all = layer.x[0].name;
  if (x[1] > block.initial()) all = range_of(layer, all, 1, 0, block.initial());
  for (const DenseBlockForm::Part* part = block.parts().data(); part != block.parts().data() + block.parts().size();) {
    const int64_t step = part->step;
    std::string grown = all;
    for (; part != block.parts().data() + block.parts().size() && part->step == step; ++part)
      grown = write_part(layer, block, *part, grown);
    const Operation joined = {"Concat", {all, grown}, {{"axis", int64_t(1)}}};
    if (step + 1 == block.steps()) return layer.finish(joined);
    all = layer.add(joined);
  }
}

}  // namespace

void add_dense_blocks(Table& table) { table.insert({{"DenseBlock", write_dense_block}}); }

}  // namespace cortado::exporting
