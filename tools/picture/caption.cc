#include "tools/picture/caption.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>

#include "layers/registry.h"
#include "tools/output/terminal.h"

namespace cortado::tools {

namespace {

using google::protobuf::FieldDescriptor;

/// Joins non-empty texts by commas.
class Parts {
 public:
  Parts& add(const std::string& part) {
    if (!part.empty()) text_ += (text_.empty() ? "" : ", ") + part;
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string times(uint32_t h, uint32_t w) { return std::to_string(h) + "×" + std::to_string(w); }

/// "3×3" for a field of all axes, given once or for each, or for a field of each side; "" if all values are `plain`.
template <typename Repeated>
std::string extents(const Repeated& all, bool sides, uint32_t h, uint32_t w, uint32_t plain) {
  if (sides) return h == plain && w == plain ? "" : times(h, w);
  if (all.empty()) return "";
  if (all.size() == 1) return all[0] == plain ? "" : times(all[0], all[0]);
  std::string text;
  for (const uint32_t extent : all) text += (text.empty() ? "" : "×") + std::to_string(extent);
  return text;
}

std::string step(const std::string& extents) {
  if (extents.empty()) return "";
  const size_t first = extents.find("×");
  const std::string side = extents.substr(0, first);
  return "/" + (extents == side + "×" + side ? side : extents);
}

std::string convolution(const caffe::ConvolutionParameter& o) {
  const bool kernel_sides = o.has_kernel_h() || o.has_kernel_w(), stride_sides = o.has_stride_h() || o.has_stride_w();
  const bool holes = o.hole_size() > 0, hole_sides = o.has_hole_h() || o.has_hole_w();
  const std::string dilation =
      step(extents(holes ? o.hole() : o.dilation(), hole_sides, std::max(o.hole_h(), 1u), std::max(o.hole_w(), 1u), 1));
  return Parts()
      .add(extents(o.kernel_size(), kernel_sides, o.kernel_h(), o.kernel_w(), 0))
      .add(std::to_string(o.num_output()))
      .add(step(extents(o.stride(), stride_sides, o.stride_h(), o.stride_w(), 1)))
      .add(dilation.empty() ? "" : "dilation " + dilation.substr(1))
      .add(o.group() > 1 ? "group " + std::to_string(o.group()) : "")
      .text();
}

std::string pooling(const caffe::PoolingParameter& o) {
  const std::string kinds[] = {"max", "average", "stochastic"};
  std::string kind = (o.global_pooling() ? "global " : "") + kinds[o.pool()];
  const uint32_t h = o.has_kernel_size() ? o.kernel_size() : o.kernel_h();
  const uint32_t w = o.has_kernel_size() ? o.kernel_size() : o.kernel_w();
  const uint32_t down = o.has_stride_h() ? o.stride_h() : o.stride(),
                 right = o.has_stride_w() ? o.stride_w() : o.stride();
  if (h > 0) kind += " " + times(h, w);
  return Parts().add(kind).add(down > 1 || right > 1 ? step(times(down, right)) : "").text();
}

std::string eltwise(const caffe::EltwiseParameter& o) {
  const std::string names[] = {"product", "sum", "maximum"};
  return names[o.operation()];
}

}  // namespace

std::string caption_of(const caffe::LayerParameter& layer) {
  std::string options;
  if (layer.has_convolution_param()) options = convolution(layer.convolution_param());
  if (layer.has_pooling_param()) options = pooling(layer.pooling_param());
  if (layer.has_inner_product_param()) options = std::to_string(layer.inner_product_param().num_output());
  if (layer.has_recurrent_param()) options = std::to_string(layer.recurrent_param().num_output());
  if (layer.has_embed_param())
    options =
        std::to_string(layer.embed_param().input_dim()) + " to " + std::to_string(layer.embed_param().num_output());
  if (reads_options(layer.type(), "eltwise_param")) options = eltwise(layer.eltwise_param());
  if (reads_options(layer.type(), "lrn_param")) options = "over " + std::to_string(layer.lrn_param().local_size());
  if (reads_options(layer.type(), "dropout_param"))
    options = number_text("%g", double(layer.dropout_param().dropout_ratio()));
  if (layer.has_accuracy_param() && layer.accuracy_param().top_k() > 1)
    options = "top " + std::to_string(layer.accuracy_param().top_k());
  return layer.type() + (options.empty() ? "" : " " + options);
}

std::string options_text(const caffe::LayerParameter& layer) {
  std::string text;
  const auto& reflection = *layer.GetReflection();
  std::vector<const FieldDescriptor*> set;
  reflection.ListFields(layer, &set);
  for (const FieldDescriptor* field : set)
    if (!field->is_repeated() && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
      text += field->name() + " { " + reflection.GetMessage(layer, field).ShortDebugString() + " }\n";
  return text;
}

}  // namespace cortado::tools
