// Layers that select values or rows: the largest, those of a list, the labels of a best path.
#include <limits>

#include "onnx/export/operators.h"
#include "onnx/export/table.h"

namespace cortado::exporting {

namespace {

/// One list of values per place along `axis`.
struct Lists {
  std::string x;
  int64_t axis, length;
};

/// As in Caffe, indices are floats, and ties return the higher index.
Operation highest_index(LayerWriter& layer, const Lists& lists) {
  const std::string place = layer.add(
      {"ArgMax", {lists.x}, {{"axis", lists.axis}, {"keepdims", int64_t(1)}, {"select_last_index", int64_t(1)}}});
  return {"Cast", {place}, {{"to", int64_t(onnx::TensorProto::FLOAT)}}};
}

/// TopK returns the lower index of equal values first, so the lists are reversed.
std::vector<std::string> values_and_indices(LayerWriter& layer, const Lists& lists, int64_t count) {
  const std::string reversed = layer.add(
      {"Slice",
       {lists.x, layer.integers("starts", {-1}), layer.integers("ends", {std::numeric_limits<int64_t>::min()}),
        layer.integers("axes", {lists.axis}), layer.integers("steps", {-1})}});
  const std::vector<std::string> best =
      layer.add({"TopK", {reversed, layer.integers("k", {count})}, {{"axis", lists.axis}}}, 2);
  return {best[0], as_float(layer, binary(layer, "Sub", layer.integer(lists.length - 1), best[1]))};
}

void write_arg_max(LayerWriter& layer) {
  const auto& param = layer.config.argmax_param();
  const Shape& x = layer.x[0].shape;
  const bool flat = !param.has_axis();
  const Lists lists = flat ? Lists{layer.add({"Flatten", {layer.x[0].name}, {{"axis", int64_t(1)}}}), 1, x.count(1)}
                           : Lists{layer.x[0].name, x.canonical_axis(param.axis()), x[param.axis()]};
  const auto finish = [&](const Operation& last) {
    if (!flat) return layer.finish(last);
    layer.finish({"Reshape", {layer.add(last), layer.integers("shape", layer.reshape_target(layer.x[0], layer.y[0]))}});
  };
  if (param.top_k() == 1 && !param.out_max_val()) return finish(highest_index(layer, lists));
  const std::vector<std::string> best = values_and_indices(layer, lists, param.top_k());
  if (flat && param.out_max_val()) return finish({"Concat", {best[1], best[0]}, {{"axis", int64_t(1)}}});
  finish({"Identity", {best[param.out_max_val() ? 0 : 1]}});
}

void write_batch_reindex(LayerWriter& layer) {
  layer.finish({"Gather", {layer.x[0].name, as_integer(layer, layer.x[1].name)}, {{"axis", int64_t(0)}}});
}

/// The rows whose selector, the last bottom, is not 0.
void write_filter(LayerWriter& layer) {
  const std::string selector = reshape(layer, layer.x.back().name, {-1});
  const std::string chosen = cast(layer, selector, onnx::TensorProto::BOOL);
  for (size_t i = 0; i < layer.y.size(); ++i)
    layer.finish({"Compress", {layer.x[i].name, chosen}, {{"axis", int64_t(0)}}}, i);
}

/// The best class of each step, N x T, and the best of the step before, with -1 before the first.
void write_ctc_greedy_decoder(LayerWriter& layer) {
  if (layer.x.size() > 1) layer.refuse("an accuracy is for training", "remove the second bottom", "bottom[1]");
  const auto& param = layer.config.ctc_decoder_param();
  const Shape& x = layer.x[0].shape;
  const int64_t steps = x[0], classes = x.count(2), blank = param.has_blank_index() ? param.blank_index() : 0;
  const std::string scores = reshape(layer, layer.x[0].name, {steps, -1, classes});
  const std::string best = layer.add({"ArgMax", {scores}, {{"axis", int64_t(2)}, {"keepdims", int64_t(0)}}});
  const std::string labels = as_float(layer, transpose(layer, best, {1, 0}));
  const auto differs = [&](const std::string& from) {
    return unary(layer, "Not", binary(layer, "Equal", labels, from));
  };
  std::string kept = differs(layer.number(float(blank < 0 ? classes - 1 : blank)));
  const std::string longer = layer.add({"Pad", {labels, layer.integers("pads", {0, 1, 0, 0}), layer.number(-1)}});
  if (param.ctc_merge_repeated()) kept = binary(layer, "And", kept, differs(range_of(layer, longer, 1, 0, steps)));
  // A kept label moves to the number of those before it, any other to an additional place that is cut off.
  const std::string counts =
      layer.add({"CumSum", {as_integer(layer, kept), layer.integer(1)}, {{"exclusive", int64_t(1)}}});
  const std::string places = layer.add({"Where", {kept, counts, layer.integer(steps)}});
  const std::string empty = binary(layer, "Expand", layer.number(-1), unary(layer, "Shape", longer));
  const std::string moved = layer.add({"ScatterElements", {empty, places, labels}, {{"axis", int64_t(1)}}});
  layer.finish(
      {"Slice", {moved, layer.integers("starts", {0}), layer.integers("ends", {steps}), layer.integers("axes", {1})}});
}

}  // namespace

void add_selections(Table& table) {
  table.insert({{"ArgMax", write_arg_max},
                {"BatchReindex", write_batch_reindex},
                {"Filter", write_filter},
                {"CTCGreedyDecoder", write_ctc_greedy_decoder}});
}

}  // namespace cortado::exporting
