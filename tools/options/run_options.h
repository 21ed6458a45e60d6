#pragma once

// Flags that several commands share: which device, how many threads, which of a net's layers.

#include "core/context.h"
#include "proto/cortado.pb.h"
#include "proto/files/override.h"
#include "tools/options/flags.h"

namespace cortado::tools {

/// What -gpu becomes where the program was called by a name of Caffe's: a preference, not a requirement.
constexpr char kPreferredGpu[] = "preferred-gpu";
constexpr char kLogOnly[] = "log-only";

std::vector<Flag> device_flags();  ///< --cpu, --gpu, --precision, --eager, --threads and kernel_flags()
std::vector<Flag> state_flags();   ///< --level, --stage
Flag phase_flag(const std::string& fallback);
Flag model_flag();   ///< required; an operand
Flag solver_flag();  ///< required; an operand
/// Not required; an operand whose name ends as weights' do.
Flag weights_flag();
Flag output_flag(const std::string& value, const std::string& note);
Flag blobs_flag(const std::string& note);
Flag labels_flag();
Flag shape_flag();
Flag input_flag();  ///< --input, arrays for input blobs
Flag half_flag();   ///< --half, 16-bit floats
Flag seed_flag();
Flag split_flag();
Flag json_flag();
Flag progress_flag();
Flag verbose_flag();
Flag no_data_flag();
Flag budget_flag();
Flag backend_flag();  ///< Caffe's --backend: hidden
Flag data_threads_flag();
Flag recompute_flag();
Flag freeze_flag();
Flag set_flag();
Flag layer_flag();  ///< --layer, read by overrides_of()
Flag batch_flag();  ///< --batch, for with_batch()
Flag batches_flag(const std::string& fallback);
Flag iterations_flag(const std::string& fallback, int64_t least, const std::string& note);
Flag port_flag(const std::string& fallback);
Flag max_body_flag(const std::string& fallback);
Flag threshold_flag();
Flag top_flag(int64_t most);
Flag keep_last_flag(const std::string& fallback, int64_t least);
Flag format_flag(std::vector<std::string> formats);
Flag wide_flag();
size_t columns_for(const Arguments& arguments);  ///< table_columns(), or 0 with --wide

/// Throws Error(kUsage) unless --backend is lmdb. `verb` is "read" or "written".
void check_backend(const Arguments& arguments, const std::string& verb);

/// --split, between 0 and 1. Throws Error(kUsage).
double split_of(const Arguments& arguments);

/// Where and how to run by default, as a solver's file says; flags override it.
struct DeviceDefaults {
  bool gpu = false;  ///< solver_mode
  int gpu_index = 0;
  std::string source = "solver_mode is GPU";  ///< why a GPU is preferred; empty: by default
  Precision precision = Precision::kFp32;
  int processes = 1;    ///< that share this machine's CPUs
  int local_rank = -1;  ///< this process's number among them, if they share a training: selects one of several devices
};

/// The solver's GPU: the first that device_id lists.
inline int gpu_index_of(const caffe::SolverParameter& solver) {
  return solver.device_id_size() > 0 ? solver.device_id(0) : 0;
}

/// How many devices --gpu, or -gpu under a name of Caffe's, lists; 0 where neither is given. Throws Error(kUsage) for
/// an invalid list, and Error(kDevice) where --gpu lists several and one does not exist.
int devices_listed(const Arguments& arguments);

/// Where to run. A preferred GPU (`defaults`, or -gpu under a name of Caffe's) that is not available is replaced by the
/// CPU, with a notice. Throws Error(kDevice) where --gpu is not available, Error(kUsage) for several devices where only
/// one process runs.
Device choose_device(const Arguments& arguments, const DeviceDefaults& defaults);

/// The chosen device, precision and threads. A CPU without bf16 refuses --precision=bf16; a solver's precision becomes
/// fp32 with a warning.
ContextOptions context_options(const Arguments& arguments, const DeviceDefaults& defaults = {});

/// A context with these options and the cached choices of kernels. Also sets the vendor libraries' number of threads.
class CommandContext : public Context {
 public:
  explicit CommandContext(const Arguments& arguments, const DeviceDefaults& defaults = {});
  CommandContext(const Arguments& arguments, const ContextOptions& options);
};

/// --data-threads; 0 where it is not given.
int data_threads_of(const Arguments& arguments);

/// The fields of --set. Throws Error(kUsage) where one is not PATH=VALUE.
Overrides overrides_of(const Arguments& arguments);

caffe::Phase phase_of(const Arguments& arguments);

/// --level and --stage, and `phase`.
caffe::NetState state_of(const Arguments& arguments, caffe::Phase phase);

}  // namespace cortado::tools
