// DenseBlock: each of its steps becomes one or two BatchNormalizations, Relus and Convs, and a Concat.
#include "layers/common/weights/dense_block_form.h"
#include "onnx/export/operators.h"
#include "onnx/export/table.h"

namespace cortado::exporting {

namespace {

/// conv(relu(bn(x))), with the averages of phase TEST.
std::string write_part(LayerWriter& layer, const DenseBlockForm& block, const DenseBlockForm::Part& part,
                       const std::string& x) {
  const NormConv::Form& form = part.form;
  const Shape channels = {form.channels};
  const auto index = [&](int behind_gamma) { return int(block.weight(part.gamma + behind_gamma, part.step)); };
  const int factor = int(block.factor());
  const std::string norm =
      layer.add({"BatchNormalization",
                 {x, layer.weight(index(0), channels), layer.weight(index(1), channels),
                  running_average(layer, "mean", index(2), factor), running_average(layer, "var", index(3), factor)},
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
  std::string grown = all;
  const std::vector<DenseBlockForm::Part>& parts = block.parts();
  for (size_t i = 0; i < parts.size(); ++i) {
    grown = write_part(layer, block, parts[i], grown);
    const bool is_last = i + 1 == parts.size();
    if (!is_last && parts[i + 1].step == parts[i].step) continue;
    const Operation joined = {"Concat", {all, grown}, {{"axis", int64_t(1)}}};
    if (is_last) return layer.finish(joined);
    grown = all = layer.add(joined);
  }
}

}  // namespace

void add_dense_blocks(Table& table) { table.insert({{"DenseBlock", write_dense_block}}); }

}  // namespace cortado::exporting
