#pragma once

#include "proto/weights_origin.h"
#include "proto/wire.h"

namespace cortado {

/// Tells the dialect of a binary net from what only one of them writes: field numbers that the others lack, or have with
/// another kind of value.
class DialectClues {
 public:
  void net_field(const WireField& field);
  void layer_field(const WireField& field);
  void batch_norm_field(const WireField& field);
  void batch_norm_blobs(size_t blobs) { intel_ |= blobs == 4; }  ///< a scale without a bias is Intel's alone
  void raw_values() { raw_ = true; }                             ///< NVIDIA's alone

  Dialect dialect() const { return raw_ ? Dialect::kNvidia : intel_ ? Dialect::kIntel : nvidia_ ? Dialect::kNvidia : Dialect::kBvlc; }

 private:
  void take(Dialect dialect) { (dialect == Dialect::kNvidia ? nvidia_ : intel_) = true; }

  bool raw_ = false, nvidia_ = false, intel_ = false;
};

}  // namespace cortado
