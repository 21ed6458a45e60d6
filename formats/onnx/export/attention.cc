// Attention as the nodes that other frameworks export, which runtimes fuse: MatMul, Mul, Add, Softmax, MatMul. Unlike
// here, a row whose mask excludes every key becomes NaN.

#include <cmath>
#include <limits>

#include "onnx/export/operators.h"
#include "onnx/export/table.h"

namespace cortado::exporting {

namespace {

/// samples x positions x (heads x values) to samples x heads x positions x values, in that order or another.
std::string heads_first(LayerWriter& layer, const std::string& x, int64_t positions, int64_t heads, int64_t values,
                        const std::vector<int64_t>& order = {0, 2, 1, 3}) {
  return transpose(layer, reshape(layer, x, {-1, positions, heads, values}), order);
}

/// -infinity for keys after a query, else 0.
std::string later_keys(LayerWriter& layer, int64_t positions) {
  std::vector<float> mask(size_t(positions * positions), 0.0f);
  for (int64_t i = 0; i < positions; ++i)
    for (int64_t j = i + 1; j < positions; ++j)
      mask[size_t(i * positions + j)] = -std::numeric_limits<float>::infinity();
  return layer.floats("causal", {positions, positions}, mask);
}

void write_attention(LayerWriter& layer) {
  const auto& param = layer.config.attention_param();
  const int64_t heads = param.heads(), queries = layer.x[0].shape[1], wide = layer.y[0].shape[2] / heads;
  const bool packed = layer.x.size() < 3;
  std::vector<std::string> parts;
  if (packed)
    parts = split(layer, layer.x[0].name, 2, 3);
  else
    for (int i = 0; i < 3; ++i) parts.push_back(layer.x[size_t(i)].name);
  const int64_t width = packed ? wide : layer.x[0].shape[2] / heads, keys = packed ? queries : layer.x[1].shape[1];
  const float scale = param.has_scale() ? param.scale() : float(1 / std::sqrt(double(width)));
  const std::string q = heads_first(layer, parts[0], queries, heads, width);
  const std::string k = heads_first(layer, parts[1], keys, heads, width, {0, 2, 3, 1});
  const std::string v = heads_first(layer, parts[2], keys, heads, wide);
  std::string scores = binary(layer, "Mul", binary(layer, "MatMul", q, k), layer.number(scale));
  if (layer.x.size() % 2 == 0) scores = binary(layer, "Add", scores, layer.x.back().name);
  if (param.causal()) scores = binary(layer, "Add", scores, later_keys(layer, queries));
  const std::string shares = layer.add({"Softmax", {scores}, {{"axis", int64_t(-1)}}});
  const std::string y = transpose(layer, binary(layer, "MatMul", shares, v), {0, 2, 1, 3});
  layer.finish({"Reshape", {y, layer.integers("shape", {-1, queries, heads * wide})}});
}

}  // namespace

void add_attention(Table& table) { table.insert({{"Attention", write_attention}}); }

}  // namespace cortado::exporting
