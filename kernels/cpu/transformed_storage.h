#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "kernels/weight_format.h"

namespace cortado::kernels {

/// Weights that never change, stored as a kernel reads them, once and for all. `Filters` brings blocked weights there:
/// bytes(), and run(context, const float* blocked, void* stored).
template <typename Filters>
struct TransformedStorage final : WeightFormat::Opaque {
  TransformedStorage(WeightFormat from, Filters way, std::string called)
      : blocked(std::move(from)), filters(std::move(way)), called(std::move(called)) {}

  int64_t bytes() const override { return filters.bytes(); }
  bool equals(const Opaque& other) const override {
    const auto* same = dynamic_cast<const TransformedStorage*>(&other);
    return same && same->blocked == blocked;
  }
  std::string name() const override { return called; }
  bool reversible() const override { return false; }
  void to_plain(Context&, const void*, float*) const override { throw_internal("weights that cannot be read back"); }
  void from_plain(Context& context, const float* plain, void* stored) const override {
    std::vector<float> w(size_t(blocked.bytes()) / sizeof(float));
    blocked.from_plain(context, plain, w.data());
    filters.run(context, w.data(), stored);
  }

  WeightFormat blocked;
  Filters filters;
  std::string called;
};

}  // namespace cortado::kernels
