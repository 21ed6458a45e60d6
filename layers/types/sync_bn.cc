// SyncBN: a BN whose batch lies on several machines. Nets run on one machine here, so it is BN.

#include "layers/registry.h"
#include "layers/types/bn.h"

namespace cortado {

namespace {

const RegisterLayer register_sync_bn({
    .name = "SyncBN",
    .help = "BN by another name: all of a batch is on one machine",
    .options = "bn_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_bn,
});

}  // namespace

}  // namespace cortado
