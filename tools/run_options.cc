#include "tools/run_options.h"

#include <algorithm>

#include "core/log.h"
#include "core/threads.h"
#include "kernels/devices.h"
#include "tools/kernel_choices.h"

namespace cortado::tools {

namespace {

/// The one device that --gpu names. Several are refused, never cut down to the first.
void refuse_gpu(const std::string& text) {
  if (text == "all" || text.find(',') != std::string::npos)
    throw usage_error("--gpu=" + text + ": one device at a time", "give one number, as in --gpu=0");
  if (text.empty() || text.size() > 4 || text.find_first_not_of("0123456789") != std::string::npos)
    throw usage_error("--gpu=" + text + ": the number of a device is wanted", "'cortado devices' lists them");
  std::string why;
  const std::vector<kernels::CudaDevice> devices = kernels::cuda_devices(why);
  if (devices.empty())
    throw Error(ExitCode::kDevice, "--gpu=" + text + ": there is no GPU: " + why, "--cpu runs on the CPU");
  if (std::stoul(text) >= devices.size())
    throw Error(ExitCode::kDevice, "--gpu=" + text + ": there are only " + std::to_string(devices.size()) + " devices",
                "'cortado devices' lists them");
  throw Error(ExitCode::kDevice, "--gpu=" + text + ": this build runs nets on the CPU only", "--cpu runs on the CPU");
}

}  // namespace

std::vector<Flag> device_flags() {
  std::vector<Flag> flags = {
      {.name = "cpu", .help = "run on the CPU, whatever the solver says"},
      {.name = "gpu", .kind = FlagKind::kText, .value = "N", .help = "run on this GPU or fail"},
      {.name = "threads",
       .kind = FlagKind::kInteger,
       .value = "N",
       .help = "compute threads, all cores unless given; the only thread count that can change a result's last bits",
       .least = 1,
       .most = 1024}};
  for (const Flag& flag : kernel_flags()) flags.push_back(flag);
  return flags;
}

std::vector<Flag> state_flags() {
  return {{.name = "level",
           .kind = FlagKind::kInteger,
           .value = "N",
           .help = "level of the net's state",
           .fallback = "0",
           .least = std::numeric_limits<int32_t>::min(),
           .most = std::numeric_limits<int32_t>::max()},
          {.name = "stage", .kind = FlagKind::kText, .value = "A,B", .help = "stages of the net's state"}};
}

Flag phase_flag(const std::string& fallback) {
  return {.name = "phase",
          .kind = FlagKind::kText,
          .value = "PHASE",
          .help = "TRAIN or TEST",
          .fallback = fallback,
          .choices = {"TRAIN", "TEST", "train", "test"}};
}

Flag model_flag() {
  return {.name = "model",
          .kind = FlagKind::kText,
          .value = "FILE",
          .help = "the net's prototxt",
          .required = true,
          .operand = true};
}

Flag weights_flag(const std::string& help) {
  return {.name = "weights", .kind = FlagKind::kText, .value = "FILE,...", .help = help};
}

Flag json_flag() { return {.name = "json", .help = "the report as JSON on stdout"}; }

Flag data_threads_flag() {
  return {.name = "data-threads",
          .kind = FlagKind::kInteger,
          .value = "N",
          .help = "threads that decode and augment, where the net does not say; any number gives the same batches",
          .least = 1,
          .most = 256};
}

Flag recompute_flag() {
  return {.name = "recompute",
          .help = "less memory for more time: normalised values are made again in backward, the same bits, not kept"};
}

std::vector<Flag> joined(std::vector<std::vector<Flag>> lists) {
  std::vector<Flag> out;
  for (std::vector<Flag>& list : lists) out.insert(out.end(), list.begin(), list.end());
  return out;
}

Device choose_device(const Arguments& arguments, bool gpu_wanted) {
  if (arguments.has("gpu")) {
    if (arguments.on("cpu")) throw usage_error("--cpu and --gpu exclude each other");
    if (!arguments.text("gpu").empty()) refuse_gpu(arguments.text("gpu"));
  }
  if (gpu_wanted && !arguments.on("cpu")) {
    std::string why;
    if (!kernels::cuda_devices(why).empty()) why = "this build runs nets on the CPU only";
    log_info() << "solver_mode is GPU, but " << why << ": running on the CPU";
  }
  return {};
}

Context make_context(const Arguments& arguments, bool gpu_wanted, uint64_t seed) {
  const Device device = choose_device(arguments, gpu_wanted);
  const int threads = arguments.has("threads") ? int(arguments.integer("threads")) : default_threads();
  use_threads(threads);
  Context context(threads, seed);
  context.device = device;
  remember_choices(arguments, context);
  return context;
}

caffe::Phase phase_of(const Arguments& arguments) {
  const std::string phase = arguments.text("phase");
  return phase == "TEST" || phase == "test" ? caffe::TEST : caffe::TRAIN;
}

caffe::NetState state_of(const Arguments& arguments, caffe::Phase phase) {
  caffe::NetState state;
  state.set_phase(phase);
  if (arguments.has("level")) state.set_level(int(arguments.integer("level")));
  for (const std::string& stage : arguments.texts("stage")) state.add_stage(stage);
  return state;
}

}  // namespace cortado::tools
