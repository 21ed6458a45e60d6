#pragma once

// How kernels of devices store weights: as plain 32-bit floats, which updates need; or as they are read beside x, in
// its type and with channels last where x has them so, which a `frozen` request asks for: of a net whose weights never
// change, or whose updates write such a copy. Then they are made once and not at each call.

#include <optional>
#include <string>

#include "kernels/conv.h"
#include "kernels/inner_product.h"

namespace cortado::kernels {

/// What a request that has w_format and `frozen` gives, or leaves to choose; nothing, with the reason in `why`, where
/// that is neither plain nor `as_x`.
template <typename Request>
std::optional<WeightFormat> device_format(const Request& request, const WeightFormat& as_x, std::string& why) {
  if (!request.w_format) return request.frozen ? as_x : WeightFormat(as_x.shape());
  if (request.w_format->is_plain() || (request.frozen && *request.w_format == as_x)) return request.w_format;
  why = "the weights lie otherwise";
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
