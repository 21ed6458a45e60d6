#include "kernels/cpu/onednn/faults.h"

#include "kernels/cpu/onednn/versions.h"

namespace cortado::kernels::onednn {

namespace {

/// Whether a position of the result reads nothing but padding of this axis.
bool has_empty_window(const ConvAxis& a) {
  for (int64_t place = 0; place < a.out(); ++place) {
    bool empty = true;
    for (int64_t tap = 0; tap < a.kernel; ++tap) {
      const int64_t at = place * a.stride - a.pad + tap * a.dilation;
      empty = empty && (at < 0 || at >= a.in);
    }
    if (empty) return true;
  }
  return false;
}

}  // namespace

bool is_faulty(const ConvShape& s, ConvDirection direction, const std::string& impl, bool channels_last) {
  const int64_t channels = s.c / s.groups;
  // oneDNN 3.7: wrong results, or a crash (github.com/oneapi-src/oneDNN, issues 5080 and 5942).
  if (kBatchReduceIsFaulty && direction == ConvDirection::kForward && impl.rfind("br", 0) == 0)
    return channels == 1 || has_empty_window(s.h) || has_empty_window(s.w);
  // Wrong for some groups of volumes in oneDNN 3.7. It reorders plain operands, as other candidates do.
  if (impl.find("ncsp_convolution") != std::string::npos) return true;
  // A strided 1x1 kernel copies x to a workspace that is too small for few channels (issue 6035).
  const bool pointwise = s.h.kernel == 1 && s.w.kernel == 1 && (s.h.stride > 1 || s.w.stride > 1);
  return direction == ConvDirection::kBackwardWeights && pointwise && channels < 16 && channels_last;
}

void skip_faulty(dnnl::convolution_forward::primitive_desc& pd, const ConvShape& s, bool channels_last) {
  while (is_faulty(s, ConvDirection::kForward, pd.impl_info_str(), channels_last))
    if (!pd.next_impl()) throw dnnl::error(dnnl_unimplemented, "every implementation is faulty");
}

bool reads_unwritten_scratch(const ConvShape& s, ConvDirection direction) {
  return direction == ConvDirection::kBackwardWeights && s.dtype == DType::kBF16;
}

}  // namespace cortado::kernels::onednn
