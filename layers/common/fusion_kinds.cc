#include "layers/common/fusion_kinds.h"

namespace cortado {

const FusionKind kReluMask{.name = "move_relu_masks",
                           .help = "max pooling does the mask of a ReLU before it",
                           .before_storage = true,
                           .in_backward = true,
                           .one_reader = true};
const FusionKind kChannelMap{.name = "leave_maps",
                             .help =
                                 "on devices in 16 bits a normalisation leaves its result to the sum that alone "
                                 "reads it",
                             .one_reader = true,
                             .operand = two_per_channel};
const FusionKind kChannelSums{.name = "sum_channels",
                              .help =
                                  "on devices in 16 bits a convolution finds the sums for the normalisation "
                                  "behind it",
                              .operand = two_per_channel};
const FusionKind kGradientParts{.name = "leave_gradient_sums",
                                .help = "on devices a normalisation adds up what a Split behind it would",
                                .in_backward = true,
                                .sums_gradients = true};

namespace {

const RegisterFusion relu_mask(kReluMask), channel_map(kChannelMap), channel_sums(kChannelSums),
    gradient_parts(kGradientParts);

}  // namespace

}  // namespace cortado
