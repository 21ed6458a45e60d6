#pragma once

// Flags that several commands share: which device, how many threads, which of a net's layers.

#include "core/context.h"
#include "proto/cortado.pb.h"
#include "tools/flags.h"

namespace cortado::tools {

std::vector<Flag> device_flags();  ///< --cpu, --gpu, --threads, --deterministic, --no-winograd
std::vector<Flag> state_flags();   ///< --level, --stage
Flag phase_flag(const std::string& fallback);
Flag model_flag();
Flag weights_flag(const std::string& help);
Flag json_flag();
Flag data_threads_flag();
Flag recompute_flag();

std::vector<Flag> joined(std::vector<std::vector<Flag>> lists);

/// Where to run. `gpu_wanted`: the solver asks for a GPU, which is a wish (one notice where it cannot be had), while
/// --gpu is an order (Error(kDevice)). Throws Error(kUsage) for several devices.
Device choose_device(const Arguments& arguments, bool gpu_wanted);

/// A context on the chosen device with the threads asked for and the choices of kernels that the cache file holds; also
/// sets the vendor libraries' pool.
Context make_context(const Arguments& arguments, bool gpu_wanted = false, uint64_t seed = 1);

caffe::Phase phase_of(const Arguments& arguments);

/// --level and --stage, and `phase`.
caffe::NetState state_of(const Arguments& arguments, caffe::Phase phase);

}  // namespace cortado::tools
