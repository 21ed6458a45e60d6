#pragma once

namespace cortado {

/// Which layouts a layer's four-axis operands may have.
enum class LayoutRule {
  kPlain,      ///< x and y are plain
  kFollow,     ///< whatever x[0] has; all other x and all y the same. Runs blocked only where padding lanes stay zero
  kPreferred,  ///< what the device's libraries like best
};

/// Which types of floating-point values (32-bit floats or 16-bit ones) a layer's operands may have. dx has the type of
/// x, dy that of y. Weights, their gradients and statistics are 32-bit floats whatever this says.
enum class TypeRule {
  kFloat,   ///< 32-bit floats alone
  kFollow,  ///< whatever x[0] has; all other x and all y the same
  kHalf,    ///< the plan's 16-bit type for all x and y, where it has one
  kReads,   ///< x[0] may have any type; all else is 32-bit floats
  kMakes,   ///< y[0] may have any type; all else is 32-bit floats
};

/// How a layer of a frozen net takes part in arithmetic on 8-bit integers, which lie channels last.
enum class EightBitRule {
  kNone,      ///< not at all
  kFollow,    ///< x and y may be integers, all with the same scale
  kComputes,  ///< x[0] is integers, and y[0] too or 32-bit floats; a sum's operand is of y[0]'s size. Plain where the
              ///< layout rule is kPlain
};

/// How a layer's operands may be stored.
struct StorageRule {
  LayoutRule layout = LayoutRule::kPlain;
  TypeRule type = TypeRule::kFloat;
  EightBitRule eight_bits = EightBitRule::kNone;  ///< where integers are chosen, `layout` and `type` do not count
  bool suits_blocks = true;                       ///< of kPreferred: it may run in blocks of 16 channels
  bool accepts_plain_x = false;                   ///< and x[0] may stay plain then
};

}  // namespace cortado
