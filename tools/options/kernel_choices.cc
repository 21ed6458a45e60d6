#include "tools/options/kernel_choices.h"

#include <cstdlib>
#include <filesystem>

#include "core/log.h"
#include "kernels/cuda_options.h"
#include "kernels/kernel_cache.h"

namespace cortado::tools {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

std::vector<Flag> kernel_flags() {
  return {{.name = "deterministic",
           .help = "choose kernels by estimated cost alone: measure nothing, read no cache of choices"},
          {.name = "no-winograd", .help = "leave out Winograd's algorithm, whose rounding differs from direct sums'"},
          {.name = "fast", .help = "on a GPU, allow kernels whose sums vary in order; resumes are then not exact"}};
}

Flag tune_flag() {
  return {.name = "tune",
          .help = "measure every kernel that could run, however long it takes, and cache the choices",
          .rank = FlagRank::kAdvanced};
}

std::string choice_cache_path() {
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) return cache + "/cortado/choices.json";
  if (const std::string home = variable("HOME"); !home.empty()) return home + "/.cache/cortado/choices.json";
  return {};
}

void remember_choices(const Arguments& arguments, Context& context) {
  context.handle<kernels::CudaOptions>().fast = arguments.on("fast");
  auto& choices = context.handle<kernels::KernelCache>();
  if (arguments.on("no-winograd")) choices.exclude(kernels::ConvAlgorithm::kWinograd);
  const std::string path = choice_cache_path();
  if (arguments.on("deterministic") || path.empty()) return;
  choices.load(kernels::read_kernel_cache(path, kernels::machine_name()));
}

Measuring::Measuring(const Arguments& arguments, Context& context) : cache_(context.handle<kernels::KernelCache>()) {
  if (arguments.on("deterministic")) return;
  const double budget = kernels::KernelCache::default_budget(context);
  cache_.set_budget(budget);
  if (budget <= kernels::KernelCache::kCpuBudget) return;
  const std::string path = choice_cache_path();
  log_info() << "Measuring kernels without a cached choice, for at most " << budget << " s in total"
             << (path.empty() ? "" : "; caching the choices in " + path);
  progress_.emplace("Choosing kernels");
  cache_.set_watch(progress_->callback());
}

Measuring::~Measuring() { cache_.set_watch({}); }

void measure_everything(Context& context) {
  auto& choices = context.handle<kernels::KernelCache>();
  choices.forget();
  choices.set_budget(kernels::KernelCache::kNoBound);
}

void save_choices(const Arguments& arguments, Context& context) {
  const std::string path = choice_cache_path();
  if (arguments.on("deterministic") || arguments.on("no-winograd") || path.empty()) return;
  std::map<std::string, kernels::KernelCache::Entry> made;
  for (const auto& [problem, choice] : context.handle<kernels::KernelCache>().recorded())
    if (choice.origin == "measured" || choice.origin == "model") made[problem] = choice;
  if (made.empty()) return;
  std::error_code ignored;  // a failed write reports it
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  const std::string why = kernels::write_kernel_cache(path, kernels::machine_name(), made);
  if (!why.empty()) log_info() << "The choices of kernels are not cached: " << why;
}

}  // namespace cortado::tools
