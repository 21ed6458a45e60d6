#pragma once

// Weight formats of device kernels: plain 32-bit floats, which updates need, or the type and layout of x for a `frozen`
// request. Such a request belongs to a net with frozen weights, or to one whose updates also write this copy. The
// weights are then converted once and not on each call.

#include <optional>
#include <string>

#include "kernels/conv.h"
#include "kernels/inner_product.h"

namespace cortado::kernels {

/// The weight format of a request: its w_format, or the default for `frozen`. nullopt, with the reason in `why`, if
/// w_format is neither plain nor `as_x`.
template <typename Request>
std::optional<WeightFormat> device_format(const Request& request, const WeightFormat& as_x, std::string& why) {
  if (!request.w_format) return request.frozen ? as_x : WeightFormat(as_x.shape());
  if (request.w_format->is_plain() || (request.frozen && *request.w_format == as_x)) return request.w_format;
  why = "unsupported weight format";
  return std::nullopt;
}

inline bool reads_filters_last(const ConvShape& s) { return s.x_layout == Layout::kChannelsLast; }

inline std::optional<WeightFormat> device_format(const ConvRequest& request, std::string& why) {
  const ConvShape& s = request.shape;
  return device_format(request, WeightFormat::of_type(s.weight(), s.dtype, reads_filters_last(s)), why);
}

inline std::optional<WeightFormat> device_format(const InnerProductRequest& request, std::string& why) {
  return device_format(request, WeightFormat::of_type(request.weight(), request.dtype), why);
}

}  // namespace cortado::kernels
