// SyncBN: a BN with the statistics of an iteration's whole batch, also where several devices share it. Here one device
// has the batch, and SyncBN is BN; shards of a batch, which would have statistics of their own, are refused.

#include "layers/registry.h"
#include "layers/types/bn.h"

namespace cortado {

namespace {

const RegisterLayer register_sync_bn({
    .name = "SyncBN",
    .help = "BN over the whole batch of an iteration, so not in shards",
    .options = "bn_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_bn,
    .needs_whole_batch = true,
});

}  // namespace

}  // namespace cortado
