#pragma once

// The names of types that other code creates layers of: passes, deploy nets. To inspect what a layer is, use LayerType
// (layers/registry.h) instead.

namespace cortado::type_names {

inline constexpr char kConcat[] = "Concat";
inline constexpr char kDetectionOutput[] = "DetectionOutput";
inline constexpr char kFlatten[] = "Flatten";
inline constexpr char kInput[] = "Input";
inline constexpr char kInterleave[] = "Interleave";
inline constexpr char kReorder[] = "Reorder";
inline constexpr char kReshape[] = "Reshape";
inline constexpr char kShuffleChannel[] = "ShuffleChannel";
inline constexpr char kSigmoid[] = "Sigmoid";
inline constexpr char kSoftmax[] = "Softmax";
inline constexpr char kSplit[] = "Split";

}  // namespace cortado::type_names
