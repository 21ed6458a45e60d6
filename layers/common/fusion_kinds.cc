#include "layers/common/fusion_kinds.h"

namespace cortado {

const FusionKind kReluMask{.name = "move_relu_masks",
                           .help = "max pooling applies the mask of the preceding ReLU",
                           .before_storage = true,
                           .in_backward = true,
                           .one_reader = true};
const FusionKind kChannelMap{.name = "leave_maps",
                             .help =
                                 "on devices in 16 bits a normalization leaves its scale and shift to the sum that is "
                                 "its only reader",
                             .one_reader = true,
                             .operand = two_per_channel};
const FusionKind kChannelSums{.name = "sum_channels",
                              .help =
                                  "on devices in 16 bits a convolution computes the sums of the following "
                                  "normalization",
                              .operand = two_per_channel};
const FusionKind kGradientParts{
    .name = "leave_gradient_sums",
    .help = "on devices a normalization adds the gradients that the following Split would add",
    .in_backward = true,
    .sums_gradients = true};

namespace {

const RegisterFusion relu_mask(kReluMask), channel_map(kChannelMap), channel_sums(kChannelSums),
    gradient_parts(kGradientParts);

}  // namespace

}  // namespace cortado
