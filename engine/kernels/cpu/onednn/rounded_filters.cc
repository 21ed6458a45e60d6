#include "kernels/cpu/onednn/rounded_filters.h"

#include <cstring>

#include "core/threads/threads.h"
#include "kernels/cpu/bfloat16.h"
#include "kernels/cpu/blocked_product.h"

namespace cortado::kernels::onednn {

namespace {

constexpr int64_t kBlock = 256;  ///< 16 inputs of 16 outputs each

/// to[k][pair]: for each of 16 outputs k, 8 consecutive pairs of inputs.
void round_pairs_of_inputs(const float* from, BFloat16* to) {
  for (int pair = 0; pair < 8; ++pair) {
    BFloat16 rows[2][kLanes];
    for (int i = 0; i < 2; ++i) store(rows[i], load(from + (2 * pair + i) * kLanes));
    for (int k = 0; k < kLanes; ++k)
      for (int i = 0; i < 2; ++i) to[pair * 2 * kLanes + 2 * k + i] = rows[i][k];
  }
}

/// to[c][pair]: for each of 16 inputs c, 8 consecutive pairs of outputs.
void round_pairs_of_outputs(const float* from, BFloat16* to) {
  BFloat16 rows[kLanes][kLanes];
  for (int c = 0; c < kLanes; ++c) store(rows[c], load(from + c * kLanes));
  for (int pair = 0; pair < 8; ++pair)
    for (int c = 0; c < kLanes; ++c)
      std::memcpy(to + (pair * kLanes + c) * 2, &rows[c][2 * pair], 2 * sizeof(BFloat16));
}

}  // namespace

std::optional<RoundedFilters> RoundedFilters::between(const Desc& plain, const Desc& stored, const Desc& needed) {
  using Tag = dnnl::memory::format_tag;
  const dnnl::memory::dims dims = extents(plain);
  const bool grouped = dims.size() == 5;
  if (!(stored == blocked16_desc(plain)) || (grouped && (dims[1] % kLanes || dims[2] % kLanes))) return {};
  const auto is = [&](Tag tag, Tag of_groups) {
    return needed == Desc(dims, dnnl::memory::data_type::bf16, grouped ? of_groups : tag);
  };
  RoundedFilters made;
  made.groups_ = grouped ? dims[0] : 1;
  made.k_blocks_ = blocks_of(dims[grouped]);
  made.c_blocks_ = blocks_of(dims[1 + grouped]);
  made.taps_ = dims[2 + grouped] * dims[3 + grouped];
  made.pairs_of_inputs_ = is(Tag::OIhw8i16o2i, Tag::gOIhw8i16o2i);
  made.c_first_ = is(Tag::IOhw8o16i2o, Tag::gIOhw8o16i2o);
  if (made.pairs_of_inputs_ || made.c_first_ || is(Tag::OIhw8o16i2o, Tag::gOIhw8o16i2o)) return made;
  return {};
}

void RoundedFilters::run(Context& context, const void* from, void* to) const {
  const int64_t of_block = taps_ * kBlock;
  parallel_ranges(context, groups_ * k_blocks_ * c_blocks_, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t c = i % c_blocks_, row = i / c_blocks_, group = row / k_blocks_, k = row % k_blocks_;
      const int64_t place = c_first_ ? (group * c_blocks_ + c) * k_blocks_ + k : i;
      const float* block = static_cast<const float*>(from) + i * of_block;
      BFloat16* rounded = static_cast<BFloat16*>(to) + place * of_block;
      for (int64_t tap = 0; tap < taps_; ++tap)
        (pairs_of_inputs_ ? round_pairs_of_inputs : round_pairs_of_outputs)(block + tap * kBlock,
                                                                            rounded + tap * kBlock);
    }
  });
}

}  // namespace cortado::kernels::onednn
