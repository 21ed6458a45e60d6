#include "kernels/cpu/onednn/versions.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace cortado::kernels::onednn {

void append_eltwise(dnnl::post_ops& post, dnnl::algorithm algorithm, float alpha, float beta) {
#if DNNL_VERSION_MAJOR >= 3
  post.append_eltwise(algorithm, alpha, beta);
#else
  post.append_eltwise(1.0f, algorithm, alpha, beta);
#endif
}

#if DNNL_VERSION_MAJOR >= 3

Factors Factors::of_reorder(std::vector<float> values, int mask) { return {std::move(values), DNNL_ARG_SRC, mask}; }

Factors Factors::of_convolution(std::vector<float> values, bool grouped) {
  return {std::move(values), DNNL_ARG_WEIGHTS, grouped ? 3 : 1};  // the axes of groups and outputs
}

void Factors::add_to(dnnl::primitive_attr& attributes) const {
  if (!values_.empty()) attributes.set_scales_mask(argument_, mask_);
}

std::vector<std::pair<int, dnnl::memory>> Factors::operands(const dnnl::engine& engine) const {
  if (values_.empty()) return {};
  const Desc desc({int64_t(values_.size())}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::x);
  dnnl::memory memory(desc, engine);
  std::memcpy(memory.get_data_handle(), values_.data(), desc.get_size());
  return {{DNNL_ARG_ATTR_SCALES | argument_, memory}};
}

dnnl::memory::dims extents(const Desc& desc) { return desc.get_dims(); }

dnnl::memory::data_type value_type(const Desc& desc) { return desc.get_data_type(); }

std::vector<Block> inner_blocks(const Desc& desc) {
  std::vector<Block> blocks;
  const auto extents = desc.get_inner_blks(), axes = desc.get_inner_idxs();
  for (size_t i = 0; i < extents.size(); ++i) blocks.push_back({extents[i], axes[i]});
  return blocks;
}

std::optional<WithPadding> with_padding(const Desc&, const Desc&) { return {}; }

#else

Factors Factors::of_reorder(std::vector<float> values, int mask) { return {std::move(values), 0, mask}; }

Factors Factors::of_convolution(std::vector<float> values, bool) {
  return {std::move(values), 0, 2};  // the result's axis of channels
}

void Factors::add_to(dnnl::primitive_attr& attributes) const {
  if (!values_.empty()) attributes.set_output_scales(mask_, values_);
}

std::vector<std::pair<int, dnnl::memory>> Factors::operands(const dnnl::engine&) const { return {}; }

dnnl::memory::dims extents(const Desc& desc) { return desc.dims(); }

dnnl::memory::data_type value_type(const Desc& desc) { return desc.data_type(); }

std::vector<Block> inner_blocks(const Desc& desc) {
  std::vector<Block> blocks;
  const auto& blocking = desc.data.format_desc.blocking;
  for (int i = 0; i < blocking.inner_nblks; ++i) blocks.push_back({blocking.inner_blks[i], blocking.inner_idxs[i]});
  return blocks;
}

std::optional<WithPadding> with_padding(const Desc& stored, const Desc& plain) {
  const size_t axes = plain.dims().size();
  dnnl_memory_desc_t whole = stored.data;
  if (std::equal(whole.dims, whole.dims + axes, whole.padded_dims)) return {};
  std::copy_n(whole.padded_dims, axes, whole.dims);
  // Dense, with the axes in the order of the plain format.
  const auto& strides = plain.data.format_desc.blocking.strides;
  std::vector<size_t> order(axes);
  std::iota(order.begin(), order.end(), size_t(0));
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return strides[a] < strides[b]; });
  dnnl::memory::dims dense(axes);
  int64_t step = 1;
  for (const size_t axis : order) {
    dense[axis] = step;
    step *= whole.dims[axis];
  }
  return WithPadding{Desc(whole), Desc(dnnl::memory::dims(whole.dims, whole.dims + axes), plain.data_type(), dense)};
}

#endif

bool includes(dnnl::cpu_isa isa, dnnl::cpu_isa part) { return (unsigned(isa) & unsigned(part)) == unsigned(part); }

}  // namespace cortado::kernels::onednn
