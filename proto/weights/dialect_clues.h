#pragma once

#include "formats/wire.h"
#include "proto/weights/weights_origin.h"

namespace cortado {

/// Determines the dialect of a binary net by what only one of them writes: field numbers that the others lack or have
/// with another wire type.
class DialectClues {
 public:
  void net_field(const WireField& field);
  /// Examines a layer of the current format. Throws as WireReader does.
  void layer(const WireFile& file, std::string_view message);

  Dialect dialect() const;

 private:
  void layer_field(const WireField& field);
  void batch_norm_field(const WireField& field);
  void take(Dialect dialect) { (dialect == Dialect::kNvidia ? nvidia_ : intel_) = true; }

  bool raw_ = false, ours_ = false, nvidia_ = false, intel_ = false;
};

}  // namespace cortado
