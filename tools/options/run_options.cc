#include "tools/options/run_options.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string_view>

#include "core/log.h"
#include "core/threads/threads.h"
#include "kernels/cpu_level.h"
#include "kernels/devices.h"
#include "tools/options/kernel_choices.h"

namespace cortado::tools {

namespace {

/// The device `index`, or with a notice that begins with `wish` the CPU.
Device preferred_gpu(const std::string& wish, int index) {
  std::string why;
  const std::vector<kernels::CudaDevice> devices = kernels::cuda_devices(why);
  if (index >= 0 && size_t(index) < devices.size()) return {DeviceKind::kCuda, index};
  why = devices.empty() ? "there is no GPU (" + why + ")" : "there is no device " + std::to_string(index);
  LogStream(wish.empty() ? Severity::kInfo : Severity::kWarning)
      << (wish.empty() ? "solver_mode is GPU where nothing else is said" : wish) << ", but " << why
      << ": running on the CPU";
  return {};
}

Device ordered_gpu(const std::string& order, int index) {
  std::string why;
  const std::vector<kernels::CudaDevice> devices = kernels::cuda_devices(why);
  if (devices.empty()) throw Error(ExitCode::kDevice, order + ": there is no GPU: " + why, "--cpu runs on the CPU");
  if (size_t(index) >= devices.size())
    throw Error(ExitCode::kDevice, order + ": there are only " + std::to_string(devices.size()) + " devices",
                "'cortado devices' lists them; --cpu runs on the CPU");
  return {DeviceKind::kCuda, index};
}

/// What names devices, and how: as an order, or as Caffe's wish.
struct DeviceFlag {
  std::string text;
  bool wish = false;

  std::string said() const { return (wish ? "-gpu " : "--gpu=") + text; }
};

/// None where neither flag names a device.
std::optional<DeviceFlag> device_flag(const Arguments& arguments) {
  if (arguments.has("gpu") && !arguments.text("gpu").empty()) return DeviceFlag{arguments.text("gpu")};
  const std::string wished = arguments.text(kWishedGpu);
  if (arguments.on("cpu") || wished.empty() || wished == "-1") return std::nullopt;  // -1 is what Caffe takes for none
  return DeviceFlag{wished, true};
}

int index_in(const std::string& text, const std::string& said) {
  if (text.empty() || text.size() > 4 || text.find_first_not_of("0123456789") != std::string::npos)
    throw usage_error(said + ": the number of a device is wanted", "'cortado devices' lists them");
  return std::stoi(text);
}

std::vector<int> all_gpus(const DeviceFlag& flag) {
  std::string why;
  std::vector<int> indices(kernels::cuda_devices(why).size());
  std::iota(indices.begin(), indices.end(), 0);
  if (indices.empty() && !flag.wish) ordered_gpu(flag.said(), 0);
  if (indices.empty()) indices.push_back(0);  // which will be missed
  return indices;
}

/// By their numbers. A device may be listed more than once.
std::vector<int> listed_gpus(const DeviceFlag& flag) {
  if (flag.text == "all") return all_gpus(flag);
  std::vector<int> indices;
  for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = flag.text.find(',', begin);
    indices.push_back(index_in(flag.text.substr(begin, end - begin), flag.said()));
  }
  return indices;
}

/// The one of several devices that this process takes.
int own_gpu(const DeviceFlag& flag, int local_rank) {
  const std::vector<int> indices = listed_gpus(flag);
  if (indices.size() == 1) return indices[0];
  if (local_rank < 0)
    throw usage_error(flag.said() + ": one device at a time",
                      "give one number, as in --gpu=0; only train takes several");
  if (size_t(local_rank) >= indices.size())
    throw usage_error(flag.said() + ": " + std::to_string(indices.size()) + " devices, but this machine has more ranks",
                      "a device for each rank, or one that all share");
  return indices[size_t(local_rank)];
}

Device named_gpu(const DeviceFlag& flag, int local_rank) {
  if (flag.text == "simulated") return {DeviceKind::kSimulated, 0};
  const int index = own_gpu(flag, local_rank);
  return flag.wish ? preferred_gpu(flag.said(), index) : ordered_gpu(flag.said(), index);
}

/// Why the CPU does not run nets in `precision`, and what does instead; nothing where it does.
struct Refusal {
  std::string why, hint;
};
std::optional<Refusal> refusal_by_cpu(Precision precision, bool emulates) {
  if (precision == Precision::kFp32) return {};
  if (precision != Precision::kBf16) return Refusal{"only fp32 and bf16 run on the CPU", "--gpu=0 runs on a GPU"};
  if (emulates || kernels::multiplies_bfloat16()) return {};
  return Refusal{"this CPU has no instructions for bfloat16 (AVX512_BF16 or AMX)",
                 "fp32 is the fastest here; --emulate runs bf16 all the same, slower"};
}

Precision choose_precision(const Arguments& arguments, Precision wish, const Device& device) {
  const bool ordered = arguments.has("precision");
  const Precision precision = ordered ? precision_named(arguments.text("precision")) : wish;
  if (!device.is_cpu()) return precision;
  const std::optional<Refusal> refusal = refusal_by_cpu(precision, arguments.on("emulate"));
  if (!refusal) return precision;
  const std::string name = name_of(precision);
  if (ordered) throw usage_error("--precision=" + name + ": " + refusal->why, refusal->hint);
  log_warning() << "precision " << name << ": " << refusal->why << ": running in fp32";
  return Precision::kFp32;
}

/// CORTADO_POOL: for looking for mistakes, and for slowness.
LoopThreads loops_asked_for() {
  const char* pool = std::getenv("CORTADO_POOL");
  if (!pool) return LoopThreads::kAsSuits;
  return std::string_view(pool) == "openmp" ? LoopThreads::kOpenMp : LoopThreads::kOwn;
}

}  // namespace

std::vector<Flag> device_flags() {
  std::vector<Flag> flags = {
      {.name = "cpu", .help = "run on the CPU, whatever the solver says"},
      {.name = "gpu",
       .kind = FlagKind::kText,
       .value = "N",
       .help = "run on this GPU or fail; 'simulated': the CPU in its place, slowly, to try a net without one; train "
               "takes 0,1,2 or all, a process for each"},
      {.name = kWishedGpu, .kind = FlagKind::kText, .value = "N", .help = "Caffe's -gpu", .hidden = true},
      {.name = "precision",
       .kind = FlagKind::kText,
       .value = "P",
       .help = "of values: fp32 or bf16, on a GPU also tf32 or fp16; weights stay fp32",
       .choices = precision_names()},
      {.name = "emulate", .help = "bf16 on a CPU that has no instructions for it, slower than fp32"},
      {.name = "eager", .help = "on a GPU: no CUDA graphs, each kernel is launched by itself"},
      {.name = "threads",
       .kind = FlagKind::kInteger,
       .value = "N",
       .help = "compute threads; unless given as many as CPUs that this process has the time of; the only thread count "
               "that can change a result's last bits",
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

Flag freeze_flag() {
  return {.name = "freeze",
          .kind = FlagKind::kText,
          .value = "LAYER,...",
          .help =
              "layers that learn nothing, by name or pattern, as in 'conv*,bn*': lr_mult and decay_mult are 0, and a "
              "BatchNorm uses its running averages"};
}

Flag batch_flag() {
  return {.name = "batch",
          .kind = FlagKind::kInteger,
          .value = "N",
          .help = "as if the net's data came in batches of N; 0 leaves them",
          .fallback = "0",
          .least = 0,
          .most = 1 << 24};
}

Flag set_flag() {
  return {.name = "set",
          .kind = FlagKind::kText,
          .value = "FIELD=VALUE",
          .help =
              "sets a field over what the file says, as in net.layer[conv1].convolution_param.num_output=64 or "
              "solver.base_lr=0.1; += appends to a list; may be given again"};
}

std::vector<Flag> joined(std::vector<std::vector<Flag>> lists) {
  std::vector<Flag> out;
  for (std::vector<Flag>& list : lists) out.insert(out.end(), list.begin(), list.end());
  return out;
}

int devices_listed(const Arguments& arguments) {
  const std::optional<DeviceFlag> flag = device_flag(arguments);
  if (!flag) return 0;
  if (flag->text == "simulated") return 1;
  const std::vector<int> indices = listed_gpus(*flag);
  if (indices.size() > 1 && !flag->wish)
    for (const int index : indices) ordered_gpu(flag->said(), index);
  return int(indices.size());
}

Device choose_device(const Arguments& arguments, const DeviceDefaults& defaults) {
  if (arguments.has("gpu") && arguments.on("cpu")) throw usage_error("--cpu and --gpu exclude each other");
  if (const std::optional<DeviceFlag> flag = device_flag(arguments)) return named_gpu(*flag, defaults.local_rank);
  if (arguments.on("cpu")) return {};
  return defaults.gpu ? preferred_gpu(defaults.said, defaults.gpu_index) : Device{};
}

ContextOptions context_options(const Arguments& arguments, const DeviceDefaults& defaults) {
  ContextOptions options;
  options.device = choose_device(arguments, defaults);
  options.threads = arguments.has("threads") ? int(arguments.integer("threads"))
                                             : std::max(1, default_threads() / defaults.processes);
  options.captures = !arguments.on("eager");
  options.precision = choose_precision(arguments, defaults.precision, options.device);
  options.loops = loops_asked_for();
  return options;
}

CommandContext::CommandContext(const Arguments& arguments, const DeviceDefaults& defaults)
    : CommandContext(arguments, context_options(arguments, defaults)) {}

CommandContext::CommandContext(const Arguments& arguments, const ContextOptions& options) : Context(options) {
  use_threads(threads);
  remember_choices(arguments, *this);
}

int data_threads_of(const Arguments& arguments) {
  return arguments.has("data-threads") ? int(arguments.integer("data-threads")) : 0;
}

Overrides overrides_of(const Arguments& arguments) { return Overrides(arguments.each("set")); }

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
