#pragma once

namespace cortado {

/// The layouts that a layer supports for its four-axis operands.
enum class LayoutRule {
  kPlain,      ///< x and y are plain
  kFollow,     ///< the layout of x[0], for all x and y. Runs blocked only if padding lanes stay zero
  kPreferred,  ///< the layout that the device's libraries prefer
};

/// The floating-point types (32 or 16 bits) that a layer supports for its operands. dx has the type of x, dy that of y.
/// Weights, their gradients and statistics are always 32-bit floats.
enum class TypeRule {
  kFloat,   ///< 32-bit floats only
  kFollow,  ///< the type of x[0], for all x and y
  kHalf,    ///< the plan's 16-bit type, if any, for all x and y
  kReads,   ///< x[0] may have any type; everything else is 32-bit floats
  kMakes,   ///< y[0] may have any type; everything else is 32-bit floats
};

/// How a layer of a frozen net supports 8-bit integers, which are channels last.
enum class EightBitRule {
  kNone,      ///< not supported
  kFollow,    ///< x and y may be integers, all with the same scale
  kComputes,  ///< x[0] is integers, y[0] integers or 32-bit floats; the operand of a sum has the size of y[0]. Plain if
              ///< the layout rule is kPlain
};

/// How a layer's operands may be stored.
struct StorageRule {
  LayoutRule layout = LayoutRule::kPlain;
  TypeRule type = TypeRule::kFloat;
  EightBitRule eight_bits = EightBitRule::kNone;  ///< if integers are chosen, `layout` and `type` do not apply
  bool suits_blocks = true;                       ///< for kPreferred: it may run in blocks of 16 channels
  bool accepts_plain_x = false;                   ///< x[0] may then be plain
};

}  // namespace cortado
