#pragma once

#include "formats/wire.h"
#include "proto/weights/weights_origin.h"

namespace cortado {

/// Tells the dialect of a binary net from what only one of them writes: field numbers that the others lack, or have
/// with another kind of value.
class DialectClues {
 public:
  void net_field(const WireField& field);
  /// Looks through a layer of today's form. Throws as WireReader does.
  void layer(const WireFile& file, std::string_view message);

  Dialect dialect() const;

 private:
  void layer_field(const WireField& field);
  void batch_norm_field(const WireField& field);
  void take(Dialect dialect) { (dialect == Dialect::kNvidia ? nvidia_ : intel_) = true; }

  bool raw_ = false, ours_ = false, nvidia_ = false, intel_ = false;
};

}  // namespace cortado
