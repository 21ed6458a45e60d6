// A library may plan kernels that it cannot run. Candidates on trial run once before they are chosen. Here the device's
// plain candidate is real; the others are fakes.

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/device/device_memory.h"
#include "core/error.h"
#include "kernels/conv.h"
#include "kernels/kernel_cache.h"

namespace cortado::kernels {
namespace {

/// Computes nothing; succeeds `good_runs_` times, then fails.
class Fake : public ConvKernel {
 public:
  Fake(std::string name, int good_runs, ExitCode failure, int* runs)
      : name_(std::move(name)), good_runs_(good_runs), failure_(failure), runs_(runs) {}

  std::string name() const override { return name_; }
  WeightFormat weight_format() const override { return WeightFormat(Shape{8, 8, 3, 3}); }
  int64_t scratch() const override { return 0; }
  void run(Context&, const ConvOperands&, void*) override {
    if (++*runs_ > good_runs_) throw Error(failure_, "the library gave up");
  }

 private:
  std::string name_;
  int good_runs_;
  ExitCode failure_;
  int* runs_;
};

class ConvTrial : public ::testing::Test {
 protected:
  ConvTrial() {
    const ConvAxis axis{6, 3, 1, 1};
    request_.shape = {.n = 1, .c = 8, .k = 8, .h = axis, .w = axis};
  }

  ConvCandidate candidate(const std::string& name, double cost, int good_runs = 1 << 30,
                          ExitCode failure = ExitCode::kDevice) {
    return {.name = name,
            .make = [=, this](const ConvRequest&, ConvDirection, Context&,
                              std::string&) { return std::make_unique<Fake>(name, good_runs, failure, &runs_[name]); },
            .cost = [cost](const ConvRequest&, ConvDirection, CpuLevel) { return cost; },
            .on_trial = true};
  }

  /// Returns the name of the candidate chosen among `fakes` and the plain one. Log lines go to log_.
  std::string taken(std::vector<ConvCandidate> fakes) {
    fakes.push_back(plain_conv_candidate());
    ::testing::internal::CaptureStderr();
    const auto kernel = choose_conv_kernel(fakes, request_, ConvDirection::kForward, *context_);
    log_ = ::testing::internal::GetCapturedStderr();
    return kernel->name();
  }
  bool logs(const std::string& text) const { return log_.find(text) != std::string::npos; }
  const KernelCache::Entry& recorded() { return cache().recorded().begin()->second; }
  KernelCache& cache() { return context_->handle<KernelCache>(); }
  void measure(double seconds) {
    cache().set_budget(seconds);
    cache().begin_plan();
    cache().add_budget(1);
  }

  const ContextOptions place_ = {.device = {DeviceKind::kSimulated, 0}};
  std::optional<Context> context_{place_};
  ConvRequest request_;
  std::map<std::string, int> runs_;
  std::string log_;
};

TEST_F(ConvTrial, AFailedCandidateIsSkippedWithAWarning) {
  EXPECT_EQ(taken({candidate("broken", 1e-12, 0), candidate("good", 2e-12), candidate("late", 3e-12)}), "good");
  EXPECT_TRUE(logs("broken is skipped for conv forward n1 c8")) << log_;
  EXPECT_TRUE(logs("the library gave up")) << log_;
  EXPECT_EQ(recorded().candidate, "good");
  EXPECT_EQ(runs_, (std::map<std::string, int>{{"broken", 1}, {"good", 1}}));
}

TEST_F(ConvTrial, FallsBackToThePlainCandidate) {
  EXPECT_EQ(taken({candidate("broken", 1e-12, 0), candidate("another", 2e-12, 0)}), "plain");
  EXPECT_TRUE(logs("broken is skipped") && logs("another is skipped")) << log_;
}

TEST_F(ConvTrial, AWorkingCandidateLogsNothing) {
  EXPECT_EQ(taken({candidate("good", 1e-12)}), "good");
  EXPECT_EQ(log_, "");
}

TEST_F(ConvTrial, RunsWithoutATimeBudget) {
  const ConvAxis axis{56, 3, 1, 1};  // large enough to be measured
  request_.shape = {.n = 1, .c = 64, .k = 64, .h = axis, .w = axis};
  measure(1);
  cache().spend(1);
  EXPECT_EQ(taken({candidate("broken", 1e-5, 0), candidate("good", 1.1e-5), candidate("late", 1.2e-5)}), "good");
  EXPECT_EQ(recorded().origin, "model");
  EXPECT_EQ(runs_["late"], 0);
  EXPECT_TRUE(logs("broken is skipped")) << log_;
}

TEST_F(ConvTrial, RunsWithMeasurements) {
  measure(KernelCache::kNoBound);
  const std::string name =
      taken({candidate("broken", 1e-12, 0), candidate("good", 2e-12), candidate("worse", 3e-12, 0)});
  EXPECT_EQ(name, "good") << "the plain candidate is slower";
  EXPECT_EQ(recorded().origin, "measured");
  EXPECT_TRUE(logs("broken is skipped") && logs("worse is skipped")) << log_;
}

TEST_F(ConvTrial, RunsForRecordedChoices) {
  taken({candidate("broken", 1e-12)});
  const std::string problem = cache().recorded().begin()->first;
  context_.emplace(place_);
  cache().load({{problem, {"broken", "cache", 0.5}}});
  EXPECT_EQ(taken({candidate("broken", 1e-12, 0), candidate("good", 2e-12)}), "good");
  EXPECT_TRUE(logs("broken is skipped")) << log_;
  EXPECT_EQ(recorded().candidate, "good");
  EXPECT_EQ(recorded().origin, "model");
}

TEST_F(ConvTrial, DoesNotHideOtherErrors) {
  EXPECT_THROW(taken({candidate("wrong", 1e-12, 0, ExitCode::kInternal)}), Error);
  ::testing::internal::GetCapturedStderr();
}

TEST_F(ConvTrial, EnginesReplaceTheirLibrary) {
  ConvCandidate library = plain_conv_candidate();
  library.name = "library";
  library.engines = [](const ConvRequest&, ConvDirection, Context&, std::string&) {
    std::vector<ConvCandidate> engines(2, plain_conv_candidate());
    for (int i = 0; i < 2; ++i) {
      engines[size_t(i)].name = "library-e" + std::to_string(7 + i);
      engines[size_t(i)].cost = [i](const ConvRequest&, ConvDirection, CpuLevel) { return 1e-12 * (1 + i); };
    }
    return engines;
  };
  taken({library});
  const auto [problem, entry] = *cache().recorded().begin();
  EXPECT_EQ(entry.candidate, "library-e7");

  const std::map<std::string, std::string> remembered = {
      {"library-e8", "library-e8"}, {"library", "library-e7"}, {"library-3", "library-e7"}};
  for (const auto& [name, expected] : remembered) {
    cache().record(problem, {name, "cache", 0});
    taken({library});
    EXPECT_EQ(recorded().candidate, expected) << name;
    EXPECT_EQ(recorded().origin, name == expected ? "cache" : "model");
  }
}

}  // namespace
}  // namespace cortado::kernels
