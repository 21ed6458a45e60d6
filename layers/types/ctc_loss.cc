// CtcLoss: connectionist temporal classification (layers/common/losses/ctc_loss.h), as in crnn.caffe. There
// alphabet_size and time_step are required; here they are optional, but must match bottom[0]. Forks that call Baidu's
// warp-ctc name the layer WarpCTCLoss: the blank is class 0 unless ctc_loss_param sets it. The sequence indicators, an
// additional bottom in some forks, are not available.

#include "layers/common/losses/ctc_loss.h"

#include "layers/registry.h"

namespace cortado {

namespace {

const RegisterLayer register_ctc_loss(
    {
        .name = "CtcLoss",
        .help = "connectionist temporal classification: the loss of label sequences without alignment",
        .options = "ctc_loss_param",
        .min_bottoms = 2,
        .max_bottoms = 2,
        .min_tops = 1,
        .max_tops = 1,
        .make = make_layer<CtcLossLayer>,
        .loss = LossRole{},
    },
    "WarpCTCLoss", "CtcLoss by another name");

}  // namespace

}  // namespace cortado
