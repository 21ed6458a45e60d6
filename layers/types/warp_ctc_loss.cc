// WarpCTCLoss: CtcLoss (layers/common/ctc_loss.h) by the name that forks give what calls Baidu's warp-ctc. The blank is
// class 0 unless ctc_loss_param says otherwise. Steps and labels of sequences are as many as the bottoms have: the
// sequence indicators that some forks take as further bottoms are not available.

#include "layers/common/ctc_loss.h"
#include "layers/registry.h"

namespace cortado {

namespace {

const RegisterLayer register_warp_ctc_loss({
    .name = "WarpCTCLoss",
    .help = "CtcLoss by another name",
    .options = "ctc_loss_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<CtcLossLayer>,
    .loss = LossRole{},
});

}  // namespace

}  // namespace cortado
