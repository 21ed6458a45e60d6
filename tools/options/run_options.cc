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
#include "tools/output/terminal.h"

namespace cortado::tools {

namespace {

/// The device `index`, or the CPU with a notice that begins with `source`.
Device preferred_gpu(const std::string& source, int index) {
  std::string why;
  const std::vector<kernels::CudaDevice> devices = kernels::cuda_devices(why);
  if (index >= 0 && size_t(index) < devices.size()) return {DeviceKind::kCuda, index};
  why = devices.empty() ? "no GPU was found (" + why + ")" : "this machine has no device " + std::to_string(index);
  LogStream(source.empty() ? Severity::kInfo : Severity::kWarning)
      << (source.empty() ? "solver_mode is GPU by default" : source) << ", but " << why << ": running on the CPU";
  return {};
}

Device required_gpu(const std::string& flag, int index) {
  std::string why;
  const std::vector<kernels::CudaDevice> devices = kernels::cuda_devices(why);
  if (devices.empty()) throw Error(ExitCode::kDevice, flag + ": no GPU was found: " + why, "use --cpu");
  if (size_t(index) >= devices.size())
    throw Error(ExitCode::kDevice, flag + ": this machine has only " + std::to_string(devices.size()) + " devices",
                "'cortado devices' lists them; --cpu runs on the CPU");
  return {DeviceKind::kCuda, index};
}

/// The flag that names devices: --gpu, or Caffe's -gpu, which is only a preference.
struct DeviceFlag {
  std::string text;
  bool preferred = false;

  std::string str() const { return (preferred ? "-gpu " : "--gpu=") + text; }
};

/// None where neither flag names a device.
std::optional<DeviceFlag> device_flag(const Arguments& arguments) {
  if (arguments.has("gpu") && !arguments.text("gpu").empty()) return DeviceFlag{arguments.text("gpu")};
  const std::string preferred = arguments.text(kPreferredGpu);
  if (arguments.on("cpu") || preferred.empty() || preferred == "-1") return std::nullopt;  // -1 is Caffe's for none
  return DeviceFlag{preferred, true};
}

int index_in(const std::string& text, const std::string& flag) {
  if (text.empty() || text.size() > 4 || text.find_first_not_of("0123456789") != std::string::npos)
    throw usage_error(flag + ": not the number of a device", "'cortado devices' lists them");
  return std::stoi(text);
}

std::vector<int> all_gpus(const DeviceFlag& flag) {
  std::string why;
  std::vector<int> indices(kernels::cuda_devices(why).size());
  std::iota(indices.begin(), indices.end(), 0);
  if (indices.empty() && !flag.preferred) required_gpu(flag.str(), 0);
  if (indices.empty()) indices.push_back(0);  // preferred_gpu() reports that it is missing
  return indices;
}

/// By their numbers. A device may be listed more than once.
std::vector<int> listed_gpus(const DeviceFlag& flag) {
  if (flag.text == "all") return all_gpus(flag);
  std::vector<int> indices;
  for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = flag.text.find(',', begin);
    indices.push_back(index_in(flag.text.substr(begin, end - begin), flag.str()));
  }
  return indices;
}

/// The one of several devices that this process uses.
int own_gpu(const DeviceFlag& flag, int local_rank) {
  const std::vector<int> indices = listed_gpus(flag);
  if (indices.size() == 1) return indices[0];
  if (local_rank < 0)
    throw usage_error(flag.str() + ": only train runs on several devices", "give one number, as in --gpu=0");
  if (size_t(local_rank) >= indices.size())
    throw usage_error(flag.str() + ": " + std::to_string(indices.size()) + " devices, but this machine has more ranks",
                      "list a device for each rank, or one that all share");
  return indices[size_t(local_rank)];
}

Device named_gpu(const DeviceFlag& flag, int local_rank) {
  if (flag.text == "simulated") return {DeviceKind::kSimulated, 0};
  const int index = own_gpu(flag, local_rank);
  return flag.preferred ? preferred_gpu(flag.str(), index) : required_gpu(flag.str(), index);
}

/// Why the CPU cannot run nets in `precision`, and what to do; nothing where it can.
struct Refusal {
  std::string why, hint;
};
std::optional<Refusal> refusal_by_cpu(Precision precision, bool emulates) {
  if (precision == Precision::kFp32) return {};
  if (precision != Precision::kBf16) return Refusal{"only fp32 and bf16 run on the CPU", "add --gpu=0"};
  if (emulates || kernels::multiplies_bfloat16()) return {};
  return Refusal{"this CPU has no instructions for bfloat16 (AVX512_BF16 or AMX)",
                 "fp32 is the fastest here; --emulate runs bf16, slower"};
}

Precision choose_precision(const Arguments& arguments, Precision preferred, const Device& device) {
  const bool required = arguments.has("precision");
  const Precision precision = required ? precision_named(arguments.text("precision")) : preferred;
  if (!device.is_cpu()) return precision;
  const std::optional<Refusal> refusal = refusal_by_cpu(precision, arguments.on("emulate"));
  if (!refusal) return precision;
  const std::string name = name_of(precision);
  if (required) throw usage_error("--precision=" + name + ": " + refusal->why, refusal->hint);
  log_warning() << "precision " << name << ": " << refusal->why << ": running in fp32";
  return Precision::kFp32;
}

}  // namespace

std::vector<Flag> device_flags() {
  std::vector<Flag> flags = {
      {.name = "cpu", .help = "run on the CPU, even where the solver says GPU"},
      {.name = "gpu",
       .kind = FlagKind::kText,
       .value = "N",
       .help = "run on this GPU, or fail; 'simulated' emulates one on the CPU, slowly; train accepts 0,1,2 or all, one "
               "process for each"},
      {.name = kPreferredGpu, .kind = FlagKind::kText, .value = "N", .help = "Caffe's -gpu", .rank = FlagRank::kHidden},
      {.name = "precision",
       .kind = FlagKind::kText,
       .value = "P",
       .help = "precision of activations; weights stay fp32; tf32 and fp16 need a GPU",
       .choices = precision_names()},
      {.name = "emulate", .help = "compute bf16 on a CPU without bf16 instructions, slower than fp32"},
      {.name = "eager", .help = "on a GPU, launch each kernel by itself, without CUDA graphs"},
      {.name = "threads",
       .kind = FlagKind::kInteger,
       .value = "N",
       .help = "compute threads, by default one for each CPU available to the process; more than four can change the "
               "last bits of results",
       .least = 1,
       .most = 1024}};
  return in_group("Device", advanced(joined({flags, kernel_flags()})));
}

std::vector<Flag> state_flags() {
  return advanced({{.name = "level",
                    .kind = FlagKind::kInteger,
                    .value = "N",
                    .help = "level of the net's state",
                    .fallback = "0",
                    .least = std::numeric_limits<int32_t>::min(),
                    .most = std::numeric_limits<int32_t>::max()},
                   {.name = "stage", .kind = FlagKind::kText, .value = "A,B", .help = "stages of the net's state"}});
}

Flag phase_flag(const std::string& fallback) {
  return {.name = "phase",
          .kind = FlagKind::kText,
          .value = "PHASE",
          .help = "the net's phase",
          .fallback = fallback,
          .choices = {"TRAIN", "TEST"}};
}

Flag model_flag() {
  return {.name = "model",
          .kind = FlagKind::kText,
          .value = "NET",
          .help = "the net's prototxt",
          .required = true,
          .operand = true};
}

Flag solver_flag() {
  return {.name = "solver",
          .kind = FlagKind::kText,
          .value = "SOLVER",
          .help = "the solver's prototxt",
          .required = true,
          .operand = true};
}

Flag weights_flag() {
  return {.name = "weights",
          .kind = FlagKind::kText,
          .value = "WEIGHTS,...",
          .help = "files of weights, matched to layers by name; later files replace earlier ones",
          .operand = true,
          .accepts = [](const std::string& word) {
            for (const char* ending : {".caffemodel", ".h5", ".hdf5", ".safetensors", ".npz"})
              if (word.ends_with(ending)) return true;
            return false;
          }};
}

Flag output_flag(const std::string& value, const std::string& note) {
  return {
      .name = "output", .kind = FlagKind::kText, .value = value, .help = "what to write", .note = note, .letter = 'o'};
}

Flag blobs_flag(const std::string& note) {
  return {.name = "blobs", .kind = FlagKind::kText, .value = "BLOB,...", .help = "which blobs", .note = note};
}

Flag labels_flag() {
  return {.name = "labels",
          .kind = FlagKind::kText,
          .value = "FILE",
          .help = "class names, one a line, or a label map; by default those next to the dataset or the model"};
}

Flag shape_flag() {
  return {.name = "shape",
          .kind = FlagKind::kText,
          .value = "1,C,H,W",
          .help = "shape of an input that the files do not say; BLOB=1,C,H,W, once for each, where there are several"};
}

Flag input_flag() {
  return {.name = "input",
          .kind = FlagKind::kText,
          .value = "BLOB=FILE.npy",
          .help = "data of an input blob; once for each",
          .letter = 'i'};
}

Flag half_flag() {
  return {.name = "half",
          .kind = FlagKind::kText,
          .value = "WHAT",
          .help = "write weights as 16-bit floats",
          .implied = "all",
          .choices = {"weights", "all"}};
}

Flag seed_flag() {
  return {.name = "seed", .kind = FlagKind::kInteger, .value = "N", .help = "seed of random numbers", .least = 0};
}

Flag split_flag() {
  return {.name = "split",
          .kind = FlagKind::kNumber,
          .value = "SHARE",
          .help = "share of each class that goes to a test set: OUT/train_lmdb, OUT/test_lmdb, OUT/labels.txt"};
}

Flag json_flag() { return {.name = "json", .help = "JSON on stdout"}; }

Flag progress_flag() { return {.name = "progress", .help = "log the progress twice a second, for programs"}; }

Flag verbose_flag() {
  return {.name = "verbose", .help = "show log lines on a terminal, too, besides the progress line", .letter = 'v'};
}

Flag no_data_flag() {
  return {.name = "no-data", .help = "do not open datasets; shapes that they define stay unknown"};
}

Flag budget_flag() {
  return {.name = "budget", .kind = FlagKind::kText, .value = "BYTES", .help = "memory limit, as 8GB or 512MiB"};
}

Flag backend_flag() {
  return {.name = "backend",
          .kind = FlagKind::kText,
          .value = "DB",
          .help = "lmdb",
          .fallback = "lmdb",
          .rank = FlagRank::kHidden};
}

Flag data_threads_flag() {
  return {.name = "data-threads",
          .kind = FlagKind::kInteger,
          .value = "N",
          .help = "threads that decode and augment, where the net does not say; batches do not depend on it",
          .rank = FlagRank::kAdvanced,
          .least = 1,
          .most = 256};
}

Flag recompute_flag() {
  return {.name = "recompute",
          .help = "save memory: recompute normalised values in the backward pass; results stay the same",
          .rank = FlagRank::kAdvanced};
}

Flag freeze_flag() {
  return {.name = "freeze",
          .kind = FlagKind::kText,
          .value = "LAYER,...",
          .help = "layers not to train, by name or pattern, as in 'conv*,bn*'; BatchNorm then uses running averages"};
}

Flag batch_flag() {
  return {.name = "batch",
          .kind = FlagKind::kInteger,
          .value = "N",
          .help = "images in a batch; 0 keeps or chooses the number",
          .fallback = "0",
          .least = 0,
          .most = 1 << 24};
}

Flag batches_flag(const std::string& fallback) {
  return {.name = "batches",
          .kind = FlagKind::kInteger,
          .value = "N",
          .help = "batches to read",
          .fallback = fallback,
          .least = 1};
}

Flag iterations_flag(const std::string& fallback, int64_t least, const std::string& note) {
  return {.name = "iterations",
          .kind = FlagKind::kInteger,
          .value = "N",
          .help = "how many iterations to run",
          .note = note,
          .fallback = fallback,
          .least = least};
}

Flag port_flag(const std::string& fallback) {
  return {.name = "port",
          .kind = FlagKind::kInteger,
          .value = "N",
          .help = "TCP port for HTTP; 0 chooses a free one",
          .fallback = fallback,
          .least = 0,
          .most = 65535};
}

Flag max_body_flag(const std::string& fallback) {
  return {.name = "max-body",
          .kind = FlagKind::kInteger,
          .value = "MIB",
          .help = "largest request, in MiB",
          .fallback = fallback,
          .least = 1,
          .most = 1024};
}

Flag threshold_flag() {
  return {.name = "threshold",
          .kind = FlagKind::kNumber,
          .value = "SCORE",
          .help = "leave out objects with a lower score",
          .fallback = "0.5"};
}

Flag top_flag(int64_t most) {
  return {.name = "top",
          .kind = FlagKind::kInteger,
          .value = "N",
          .help = "classes to report for an image",
          .fallback = "5",
          .least = 1,
          .most = most};
}

Flag format_flag(std::vector<std::string> formats) {
  return {.name = "format",
          .kind = FlagKind::kText,
          .value = "FORMAT",
          .help = "format to write, where the output's name does not say it",
          .choices = std::move(formats)};
}

Flag wide_flag() { return {.name = "wide", .help = "do not cut tables to the terminal's width"}; }

size_t columns_for(const Arguments& arguments) { return arguments.on("wide") ? 0 : table_columns(); }

Flag keep_last_flag(const std::string& fallback, int64_t least) {
  return {.name = "keep-last",
          .kind = FlagKind::kInteger,
          .value = "N",
          .help = "keep this many of the newest snapshots, besides the best",
          .fallback = fallback,
          .least = least};
}

Flag set_flag() {
  return {.name = "set",
          .kind = FlagKind::kText,
          .value = "FIELD=VALUE",
          .help =
              "set a field of the file, as net.layer[conv1].convolution_param.num_output=64 or solver.base_lr=0.1; "
              "+= appends to a list; may be repeated"};
}

Flag layer_flag() {
  return {.name = "layer",
          .kind = FlagKind::kText,
          .value = "TYPE=MODULE.CLASS",
          .help = "compute the layers of a type by a class in Python, with Caffe's interface; may be repeated",
          .rank = FlagRank::kAdvanced};
}

void check_backend(const Arguments& arguments, const std::string& verb) {
  if (arguments.text("backend") != "lmdb")
    throw usage_error("--backend=" + arguments.text("backend") + ": only lmdb is " + verb,
                      verb == "read" ? "`cortado convert leveldb` converts a LevelDB" : "leave out --backend");
}

double split_of(const Arguments& arguments) {
  const double share = arguments.number("split");
  if (share > 0 && share < 1) return share;
  throw usage_error("--split=" + number_text("%g", share) + ": must be between 0 and 1",
                    "--split=0.2 puts a fifth of each class into the test set");
}

int devices_listed(const Arguments& arguments) {
  const std::optional<DeviceFlag> flag = device_flag(arguments);
  if (!flag) return 0;
  if (flag->text == "simulated") return 1;
  const std::vector<int> indices = listed_gpus(*flag);
  if (indices.size() > 1 && !flag->preferred)
    for (const int index : indices) required_gpu(flag->str(), index);
  return int(indices.size());
}

Device choose_device(const Arguments& arguments, const DeviceDefaults& defaults) {
  if (arguments.has("gpu") && arguments.on("cpu")) throw usage_error("--cpu and --gpu exclude each other");
  if (const std::optional<DeviceFlag> flag = device_flag(arguments)) return named_gpu(*flag, defaults.local_rank);
  if (arguments.on("cpu")) return {};
  return defaults.gpu ? preferred_gpu(defaults.source, defaults.gpu_index) : Device{};
}

ContextOptions context_options(const Arguments& arguments, const DeviceDefaults& defaults) {
  ContextOptions options;
  options.device = choose_device(arguments, defaults);
  options.threads = arguments.has("threads") ? int(arguments.integer("threads"))
                                             : std::max(1, default_threads() / defaults.processes);
  options.captures = !arguments.on("eager");
  options.precision = choose_precision(arguments, defaults.precision, options.device);
  return options;
}

CommandContext::CommandContext(const Arguments& arguments, const DeviceDefaults& defaults)
    : CommandContext(arguments, context_options(arguments, defaults)) {}

CommandContext::CommandContext(const Arguments& arguments, const ContextOptions& options) : Context(options) {
  remember_choices(arguments, *this);
}

int data_threads_of(const Arguments& arguments) {
  return arguments.has("data-threads") ? int(arguments.integer("data-threads")) : 0;
}

Overrides overrides_of(const Arguments& arguments) {
  std::vector<std::string> types;
  if (arguments.knows("layer")) types = arguments.each("layer");
  return Overrides(arguments.each("set"), PythonTypes(types, "--layer"));
}

caffe::Phase phase_of(const Arguments& arguments) {
  return arguments.text("phase") == "TEST" ? caffe::TEST : caffe::TRAIN;
}

caffe::NetState state_of(const Arguments& arguments, caffe::Phase phase) {
  caffe::NetState state;
  state.set_phase(phase);
  if (arguments.has("level")) state.set_level(int(arguments.integer("level")));
  for (const std::string& stage : arguments.texts("stage")) state.add_stage(stage);
  return state;
}

}  // namespace cortado::tools
