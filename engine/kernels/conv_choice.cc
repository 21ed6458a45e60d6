// Chooses a candidate for each direction of a convolution: the recorded one, else the fastest measured one, else the
// one with the lowest estimated cost. Measurements use operands of the real size and include reorders. On a CPU level
// without measured costs (kernels/cpu_level.h) all candidates are timed. Candidates that may fail at run time
// (ConvCandidate::on_trial) run once before they are chosen; if they fail, a warning is logged and the next one is
// tried.

#include <algorithm>
#include <chrono>
#include <list>
#include <optional>

#include "core/error.h"
#include "core/log.h"
#include "kernels/candidates.h"
#include "kernels/conv.h"
#include "kernels/conv_benchmark.h"
#include "kernels/cuda_options.h"
#include "kernels/devices.h"
#include "kernels/kernel_cache.h"

namespace cortado::kernels {

namespace {

void append(std::vector<ConvCandidate>& list, const std::vector<ConvCandidate>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

/// Own direct kernels for 32-bit floats; the last one accepts everything.
std::vector<ConvCandidate> by_the_definition() {
  std::vector<ConvCandidate> list = {direct_conv_candidate(), depthwise_conv_candidate(), first_conv_candidate()};
  append(list, gemm_conv_candidates());
  return list;
}

}  // namespace

const std::vector<ConvCandidate>& conv_candidates() {
  static const std::vector<ConvCandidate> all = [] {
    std::vector<ConvCandidate> list = onednn_conv_candidates();
    append(list, winograd_conv_candidates());
    append(list, amx_conv_candidates());
    append(list, by_the_definition());
    return list;
  }();
  return all;
}

const std::vector<ConvCandidate>& half_conv_candidates() {
  static const std::vector<ConvCandidate> all = [] {
    std::vector<ConvCandidate> list = onednn_conv_candidates();
    append(list, half_winograd_conv_candidates());
    append(list, conv_candidates_as_floats(winograd_conv_candidates()));
    append(list, conv_candidates_as_floats(by_the_definition()));
    return list;
  }();
  return all;
}

const std::vector<ConvCandidate>& device_conv_candidates() {
  static const std::vector<ConvCandidate> all = [] {
    std::vector<ConvCandidate> list = cudnn_conv_candidates();
    list.push_back(plain_conv_candidate());
    return list;
  }();
  return all;
}

std::unique_ptr<Conv> make_conv(const ConvCandidate& candidate, const ConvRequest& given, Context& context,
                                std::string& why) {
  ConvRequest request = given;
  auto forward = candidate.make(request, ConvDirection::kForward, context, why);
  if (!forward) return nullptr;
  request.w_format = forward->weight_format();
  std::unique_ptr<ConvKernel> data, weights;
  if (request.backward_data && !(data = candidate.make(request, ConvDirection::kBackwardData, context, why)))
    return why += " for dx", nullptr;
  if (request.backward_weights && !(weights = candidate.make(request, ConvDirection::kBackwardWeights, context, why)))
    return why += " for dw", nullptr;
  return std::make_unique<Conv>(given, std::move(forward), std::move(data), std::move(weights));
}

namespace {

constexpr double kHopeless = 1.7;  ///< times the lowest estimate: not worth measuring
constexpr double kSmall = 1e-4;    ///< seconds per run: differences below do not matter
constexpr double kSmallOnDevice = 1e-6;
constexpr double kCompiled = 3;  ///< factor on the estimate of candidates that must be compiled

/// Everything that the speed of a direction depends on.
std::string problem_of(const ConvRequest& request, ConvDirection direction, Context& context) {
  std::string text = describe(request, direction);
  if (context.device.is_cpu()) return text + " pieces " + std::to_string(context.pieces);
  if (context.precision == Precision::kTf32) text += " tf32";
  if (context.handle<CudaOptions>().fast) text += " fast";
  return text + " on " + device_description(context);
}

class Chooser {
 public:
  Chooser(const std::vector<ConvCandidate>& candidates, const ConvRequest& request, ConvDirection direction,
          Context& context, std::string* refused)
      : request_(request),
        direction_(direction),
        context_(context),
        cache_(context.handle<KernelCache>()),
        refused_(refused),
        workers_(context.device.is_cpu() ? context.threads : 1),
        problem_(problem_of(request, direction, context)) {
    for (const ConvCandidate& candidate : candidates) {
      if (!candidate.engines) {
        rank(candidate);
        continue;
      }
      std::string why;
      offered_.push_back(candidate.engines(request, direction, context, why));
      for (const ConvCandidate& engine : offered_.back()) rank(engine);
      if (offered_.back().empty()) refuse(candidate, why);
    }
    std::stable_sort(order_.begin(), order_.end(),
                     [](const Ranked& a, const Ranked& b) { return a.place() < b.place(); });
  }

  std::unique_ptr<ConvKernel> choose() {
    if (auto kernel = as_before()) return kernel;
    std::unique_ptr<ConvKernel> kernel;
    const Ranked& best = first_that_accepts(kernel);
    KernelCache::Entry choice{best.candidate->name, "model", 0};
    if (worth_measuring(best)) measure(best, kernel, choice);
    cache_.record(problem_, choice);
    return kernel;
  }

 private:
  struct Ranked {
    const ConvCandidate* candidate;
    double cost;
    bool guessed;

    /// Candidates that must be compiled rank after similar ones. Those are therefore measured first, and used without
    /// measurements.
    double place() const { return cost * (candidate->compiles ? kCompiled : 1); }
  };

  void rank(const ConvCandidate& candidate) {
    const CpuLevels& levels = context_.handle<CpuLevels>();
    const CpuLevel level = candidate.level ? levels.*candidate.level : CpuLevel::kUnknown;
    order_.push_back(
        {&candidate, candidate.cost(request_, direction_, level), candidate.level && level == CpuLevel::kUnknown});
  }

  void refuse(const ConvCandidate& candidate, const std::string& why) {
    if (refused_) *refused_ += candidate.name + ": " + why + "; ";
  }

  std::unique_ptr<ConvKernel> make(const ConvCandidate& candidate) {
    std::string why;
    if (cache_.excludes(candidate.algorithm) || (!request_.winograd && candidate.algorithm == ConvAlgorithm::kWinograd))
      why = "excluded";
    else if (auto kernel = candidate.make(request_, direction_, context_, why); kernel && runs(candidate, *kernel, why))
      return kernel;
    refuse(candidate, why);
    return nullptr;
  }

  /// Runs a candidate on trial once. If it fails, sets `why` and logs a warning, because the library had accepted the
  /// request.
  bool runs(const ConvCandidate& candidate, ConvKernel& kernel, std::string& why) {
    if (!candidate.on_trial) return true;
    const ConvBenchmark& stage = rehearsal();
    try {
      stage.run(kernel, context_);
      return true;
    } catch (const Error& error) {
      if (error.code() != ExitCode::kDevice) throw;
      why = error.mistakes().front().message;
    }
    log_warning() << candidate.name << " is skipped for " << describe(request_, direction_) << ": " << why;
    return false;
  }

  /// Created on demand, because allocation takes time.
  const ConvBenchmark& rehearsal() {
    if (!rehearsal_) rehearsal_.emplace(request_, direction_, context_);
    return *rehearsal_;
  }

  std::unique_ptr<ConvKernel> as_before() {
    const KernelCache::Entry* before = cache_.find(problem_);
    if (!before) return nullptr;
    for (const Ranked& ranked : order_) {
      if (ranked.candidate->name != before->candidate) continue;
      auto kernel = make(*ranked.candidate);
      if (kernel) cache_.record(problem_, KernelCache::Entry(*before));
      return kernel;
    }
    return nullptr;
  }

  const Ranked& first_that_accepts(std::unique_ptr<ConvKernel>& kernel) {
    for (const Ranked& ranked : order_)
      if ((kernel = make(*ranked.candidate))) return ranked;
    throw_internal("no candidate accepts, not even the last");
  }

  /// Whether two runs of at least two candidates fit into the budget; small problems are not worth it. If costs are
  /// guesses, a wrong choice may cost more than any measurement.
  bool worth_measuring(const Ranked& best) const {
    if (cache_.budget() == KernelCache::kNoBound) return true;
    const double seconds = best.cost / workers_;
    const double small = context_.device.is_cpu() ? kSmall : kSmallOnDevice;
    return cache_.measures() && (guesses() || (seconds > small && cache_.budget() > 4 * seconds));
  }
  bool guesses() const {
    return std::any_of(order_.begin(), order_.end(), [](const Ranked& ranked) { return ranked.guessed; });
  }

  /// Whether a candidate after `first` may be faster and fits into the rest of `granted` seconds.
  bool worth_a_run(const Ranked& first, const Ranked& rival, double granted, double spent) const {
    if (granted == KernelCache::kNoBound || first.guessed || rival.guessed) return true;
    return rival.cost <= kHopeless * first.cost && spent + 2 * rival.cost / workers_ <= granted;
  }

  void measure(const Ranked& first, std::unique_ptr<ConvKernel>& kernel, KernelCache::Entry& choice) {
    const auto start = std::chrono::steady_clock::now();
    const double granted = cache_.budget();
    const auto spent = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
    bool measured = false;  // whether the first candidate was timed; that is needed only if there is a second
    double best = 0;
    for (const Ranked* rival = &first + 1; rival != order_.data() + order_.size(); ++rival) {
      if (!worth_a_run(first, *rival, granted, spent())) continue;
      auto other = make(*rival->candidate);
      if (!other) continue;
      if (!measured) {
        best = rehearsal().time(*kernel, context_, granted / 8);
        choice = {choice.candidate, "measured", best};
        measured = true;
      }
      const double seconds = rehearsal().time(*other, context_, granted / 8, best);
      ++choice.rivals;
      if (seconds >= best) continue;
      best = seconds;
      choice = {rival->candidate->name, "measured", seconds, choice.rivals};
      kernel = std::move(other);
    }
    cache_.spend(spent());
  }

  const ConvRequest& request_;
  ConvDirection direction_;
  Context& context_;
  KernelCache& cache_;
  std::string* refused_;
  int workers_;  ///< threads that share a candidate's cost
  std::string problem_;
  std::list<std::vector<ConvCandidate>> offered_;  ///< library engines for this request
  std::vector<Ranked> order_;                      ///< ordered by place()
  std::optional<ConvBenchmark> rehearsal_;
};

}  // namespace

std::unique_ptr<ConvKernel> choose_conv_kernel(const std::vector<ConvCandidate>& candidates, const ConvRequest& request,
                                               ConvDirection direction, Context& context, std::string* refused) {
  return Chooser(candidates, request, direction, context, refused).choose();
}

namespace {

const std::vector<ConvCandidate>& candidates_for(DType dtype, const Context& context) {
  if (!wants_cpu_candidates(context, dtype)) return device_conv_candidates();
  return dtype == DType::kF32 ? conv_candidates() : half_conv_candidates();
}

}  // namespace

std::unique_ptr<Conv> plan_conv(const ConvRequest& given, Context& context, std::string* refused) {
  const std::vector<ConvCandidate>& candidates = candidates_for(given.shape.dtype, context);
  if (given.sums && (context.device.is_cpu() || given.bias || !given.post.empty()))
    throw_internal("sums of a convolution with bias or post-ops, or on the CPU");
  ConvRequest request = given;
  const auto chosen = [&](ConvDirection direction) {
    return choose_conv_kernel(candidates, request, direction, context, refused);
  };
  std::unique_ptr<ConvKernel> forward, data, weights;
  if (request.forward) forward = chosen(ConvDirection::kForward);
  if (forward) request.w_format = forward->weight_format();
  if (request.backward_data) data = chosen(ConvDirection::kBackwardData);
  if (data) request.w_format = data->weight_format();
  if (request.backward_weights) weights = chosen(ConvDirection::kBackwardWeights);
  return std::make_unique<Conv>(given, std::move(forward), std::move(data), std::move(weights));
}

}  // namespace cortado::kernels
