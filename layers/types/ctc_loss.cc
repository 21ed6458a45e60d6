// CtcLoss: connectionist temporal classification (layers/common/losses/ctc_loss.h), as crnn.caffe has it. There
// alphabet_size and time_step must be given; here what is given must be what bottom[0] has. Forks that call Baidu's
// warp-ctc name the layer WarpCTCLoss: the blank is class 0 unless ctc_loss_param says otherwise, and the sequence
// indicators that some take as further bottoms are not available.

#include "layers/common/losses/ctc_loss.h"

#include "layers/registry.h"

namespace cortado {

namespace {

const RegisterLayer register_ctc_loss(
    {
        .name = "CtcLoss",
        .help = "how improbable sequences of labels are, wherever in time each label is",
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
