// In a frozen net, layers whose quantization_param has scales compute on 8-bit integers
// (layers/common/weights/quantization.h). Values between two of them are stored as integers with the reader's scale_in.
// Max pooling, Concat and Dropout pass integers on. Values that cannot be negative are unsigned. Other readers and kept
// blobs get floats; choose_layouts inserts the conversions.

#include <algorithm>

#include "graph/passes/followers.h"
#include "graph/passes/passes.h"
#include "layers/common/fusion_kinds.h"
#include "layers/common/weights/quantization.h"

namespace cortado::graph {

namespace {

class Use8BitsChooser {
 public:
  explicit Use8BitsChooser(Graph& graph) : graph_(graph), rules_(graph.nodes.size(), EightBitRule::kNone) {}

  void run() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) rules_[n] = rule_of(graph_.nodes[n]);
    for (size_t n = graph_.nodes.size(); n-- > 0;) decide_result(n);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) decide_operand(n);
  }

 private:
  const caffe::QuantizationParameter& scales_of(const Node& node) const {
    return graph_.source(node.sources[0]).config->quantization_param();
  }

  /// The rule of the node; kFollow only where producers of all operands run on integers.
  EightBitRule rule_of(const Node& node) {
    const auto suits = [&](ValueId id) { return graph_.value(id).shape_known && !graph_.value(id).dynamic_rows; };
    if (node.sources.empty() || node.y.size() != 1 || !suits(node.y[0])) return EightBitRule::kNone;
    if (!std::ranges::all_of(node.x, suits)) return EightBitRule::kNone;
    const EightBitRule rule = storage_of(node).eight_bits;
    const auto is_integers = [&](ValueId id) {
      return rules_[size_t(graph_.value(id).producer)] != EightBitRule::kNone;
    };
    return rule == EightBitRule::kFollow && !std::ranges::all_of(node.x, is_integers) ? EightBitRule::kNone : rule;
  }

  /// Chooses the encoding of the node's result by its readers, which were decided before. A follower without integer
  /// readers keeps floats.
  void decide_result(size_t n) {
    Node& node = graph_.nodes[n];
    if (rules_[n] == EightBitRule::kNone) return;
    const Value& y = graph_.value(node.y[0]);
    Encoding wanted;
    bool summed = false;
    for (const Reader& reader : y.readers) {
      const Node& next = graph_.node(reader.node);
      if (y.kept || !next.eight_bits) continue;
      const bool adds = rules_[size_t(reader.node)] == EightBitRule::kComputes && reader.input > 0;
      summed = summed || (adds && is_8_bit(next.eight_bits->y.dtype));
      if (adds || wanted != Encoding()) continue;
      wanted = next.eight_bits->x;
      if (rules_[size_t(reader.node)] == EightBitRule::kComputes) wanted.dtype = type_of(node.y[0]);
    }
    if (rules_[n] == EightBitRule::kFollow) {
      if (wanted != Encoding()) node.eight_bits = {wanted, wanted};
      return;
    }
    const float own = scale_of_y(scales_of(node));
    if (wanted == Encoding() && summed && own > 0) wanted = {type_of(node.y[0]), own};
    node.eight_bits = {{type_of_operand(node), scale_of_x(scales_of(node))}, wanted};
  }

  /// An operand written as integers is read in the encoding it was written in.
  void decide_operand(size_t n) {
    Node& node = graph_.nodes[n];
    if (!node.eight_bits || rules_[n] != EightBitRule::kComputes) return;
    const NodeId maker = graph_.value(node.x[0]).producer;
    if (const auto& made = graph_.node(maker).eight_bits; made && is_8_bit(made->y.dtype)) node.eight_bits->x = made->y;
  }

  DType type_of(ValueId id) const {
    return is_never_negative(graph_, graph_.node(graph_.value(id).producer)) ? DType::kU8 : DType::kS8;
  }

  /// For operands produced as floats, the file says whether they can be negative.
  DType type_of_operand(const Node& node) const {
    const caffe::QuantizationParameter& scales = scales_of(node);
    if (scales.force_u8_input()) return DType::kU8;
    const bool made_so = rules_[size_t(graph_.value(node.x[0]).producer)] != EightBitRule::kNone;
    if (made_so || scales.is_negative_input()) return type_of(node.x[0]);
    return DType::kU8;
  }

  Graph& graph_;
  std::vector<EightBitRule> rules_;  ///< per node
};

}  // namespace

bool is_never_negative(const Graph& graph, const Node& node) {
  const auto ends_at_0 = [](const kernels::Activation& activation) {
    return activation.kind == kernels::Activation::kRelu || activation.kind == kernels::Activation::kClippedRelu ||
           activation.kind == kernels::Activation::kSigmoid;
  };
  if (node.post.activation) return ends_at_0(node.post.activation);
  if (fusion_offered(graph, node, kReluMask, Fusion::kMaker)) return true;
  const auto as_post = node.layer->as_post_op();
  if (const auto* activation = as_post ? std::get_if<kernels::Activation>(&*as_post) : nullptr)
    return ends_at_0(*activation);
  return storage_of(node).eight_bits == EightBitRule::kFollow && std::ranges::all_of(node.x, [&](ValueId id) {
           return is_never_negative(graph, graph.node(graph.value(id).producer));
         });
}

/// The scales of weights assume folded BatchNorms, so this pass needs fold_batch_norm.
void use_8_bits(Graph& graph) {
  const BuildOptions& options = graph.options;
  if (!options.frozen || !options.eight_bits || !may_merge(graph)) return;
  if (std::ranges::count(options.switch_off, "fold_batch_norm") == 0) Use8BitsChooser(graph).run();
}

}  // namespace cortado::graph
