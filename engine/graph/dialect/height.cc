// Resizing along the height, as it is written for dialects that have Permute: height and width exchanged, an
// InnerProduct along the last axis, and the exchange reversed. Without Permute it is a matrix along the height.
#include "graph/dialect/rewriter.h"
#include "graph/dialect/table.h"

namespace cortado::dialect {

bool Rewriter::is_read_once(const std::string& blob) const {
  const auto readers = readers_.find(blob);
  return readers != readers_.end() && readers->second == 1;
}

/// Whether the layers from `index` on resize the height: with height and width exchanged, a matrix along the last axis.
bool Rewriter::resizes_height(int index) const {
  if (index + 2 >= subject_.net.layer_size() || has_type(target_, "Permute")) return false;
  const caffe::LayerParameter* layers[] = {&subject_.net.layer(index), &subject_.net.layer(index + 1),
                                           &subject_.net.layer(index + 2)};
  for (const int i : {0, 1, 2}) {
    if (layers[i]->bottom_size() != 1 || layers[i]->top_size() != 1) return false;
    if (i > 0 && layers[i]->bottom(0) != layers[i - 1]->top(0)) return false;
    if (i < 2 && !is_read_once(layers[i]->top(0))) return false;
  }
  for (const int i : {0, 2}) {
    const auto& order = layers[i]->permute_param().order();
    if (layers[i]->type() != "Permute" ||
        std::vector<uint32_t>(order.begin(), order.end()) != std::vector<uint32_t>{0, 1, 3, 2})
      return false;
  }
  const caffe::InnerProductParameter& matrix = layers[1]->inner_product_param();
  return layers[1]->type() == "InnerProduct" && matrix.axis() == 3 && !matrix.bias_term() && !matrix.transpose() &&
         !matrix.relu();
}

void Rewriter::compose_height(int index) {
  const caffe::LayerParameter source = with_new_names(subject_.net.layer(index + 2));
  const Blob x = bottoms_of(with_new_names(subject_.net.layer(index))).at(0);
  const int first = result_.net.layer_size();
  const std::string& name = subject_.net.layer(index + 1).name();
  try {
    Job job(*this, source, {x}, {x.shape}, weights_of(name));
    BlobFile matrix = job.weight(0);
    const int64_t out = subject_.net.layer(index + 1).inner_product_param().num_output();
    matrix.shape = {out, x.shape[2]};
    finish(source, along_axis(job, x, 2, matrix), first);
    result_.rewritten += 3;
  } catch (const FieldError& error) {
    refuse(index, "type", error);
  }
}

}  // namespace cortado::dialect
