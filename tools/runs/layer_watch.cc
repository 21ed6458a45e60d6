#include "tools/runs/layer_watch.h"

#include <fcntl.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/process/unix_seconds.h"
#include "tools/runs/run_file.h"

namespace cortado::runs {

namespace {

/// Bins are counted of at most this many values. Of more values, every n-th is counted.
constexpr size_t kMaxBinned = 1 << 14;

/// Adds up in lanes, so that memory bandwidth is the limit.
Spread sums_of(const float* values, size_t count) {
  constexpr size_t kLanes = 16;
  float least[kLanes], most[kLanes];
  double sum[kLanes] = {}, squares[kLanes] = {};
  std::fill_n(least, kLanes, std::numeric_limits<float>::infinity());
  std::fill_n(most, kLanes, -std::numeric_limits<float>::infinity());
  const auto add = [&](size_t k, float value) {
    least[k] = value < least[k] ? value : least[k];
    most[k] = value > most[k] ? value : most[k];
    sum[k] += value;
    squares[k] += double(value) * value;
  };
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (size_t k = 0; k < kLanes; ++k) add(k, values[i + k]);
  for (size_t k = 0; i + k < count; ++k) add(k, values[i + k]);
  Spread spread;
  spread.count = int64_t(count);
  if (count == 0) return spread;
  spread.least = *std::min_element(least, least + kLanes);
  spread.most = *std::max_element(most, most + kLanes);
  spread.sum = std::accumulate(sum, sum + kLanes, 0.0);
  spread.squares = std::accumulate(squares, squares + kLanes, 0.0);
  return spread;
}

nlohmann::ordered_json spread_json(const Spread& spread) {
  const double n = double(std::max<int64_t>(1, spread.count));
  return {{"norm", spread.norm()},
          {"mean", spread.sum / n},
          {"min", spread.least},
          {"max", spread.most},
          {"bins", spread.bins}};
}

}  // namespace

double Spread::norm() const { return std::sqrt(squares); }

Spread spread_of(const std::vector<float>& values) {
  Spread spread = sums_of(values.data(), values.size());
  if (!std::isfinite(spread.squares)) {
    std::vector<float> finite;
    std::copy_if(values.begin(), values.end(), std::back_inserter(finite), [](float v) { return std::isfinite(v); });
    spread = sums_of(finite.data(), finite.size());
  }
  spread.bins.assign(Spread::kBins, 0);
  if (spread.count == 0) return spread;
  const size_t step = (values.size() + kMaxBinned - 1) / kMaxBinned;
  const double width = spread.most - spread.least;
  const float scale = width > 0 ? float(Spread::kBins / width) : 0, least = float(spread.least);
  for (size_t i = 0; i < values.size(); i += step)
    if (std::isfinite(values[i]))
      spread.bins[size_t(std::clamp(int((values[i] - least) * scale), 0, Spread::kBins - 1))] += int64_t(step);
  return spread;
}

LayerWatch::LayerWatch(Net& net, int64_t every) : net_(net), every_(every) {}

void LayerWatch::on_gradient(const Progress& progress, size_t param) {
  const Param& of = net_.params()[param];
  values_.resize(size_t(of.shape.count()));
  seen_ = progress.iter;
  WeightSpread& spread = spreads_.emplace_back();
  spread.name = of.layer + "/" + std::to_string(of.index);
  net_.read_weight(of.id, values_.data());
  spread.values = spread_of(values_);
  net_.read_weight_gradient(of.id, values_.data());
  spread.gradients = spread_of(values_);
}

void LayerWatch::on_iteration(const Progress& progress) {
  if (spreads_.empty()) return;
  Progress then = progress;
  then.iter = seen_;
  for (const SpreadReader& reader : readers_) reader(then, spreads_);
  spreads_.clear();
}

SpreadReader layer_lines(const std::string& path) {
  auto file = std::make_shared<Descriptor>(open_run_file(path, O_RDWR | O_CREAT | O_APPEND));
  return [file](const Progress& progress, const std::vector<WeightSpread>& spreads) {
    nlohmann::ordered_json layers = nlohmann::ordered_json::array();
    for (const WeightSpread& spread : spreads)
      layers.push_back({{"name", spread.name},
                        {"weights", spread_json(spread.values)},
                        {"gradients", spread_json(spread.gradients)}});
    const nlohmann::ordered_json line = {{"t", unix_seconds()}, {"iter", progress.iter}, {"layers", layers}};
    append_line(file->fd(), line.dump() + "\n");
  };
}

}  // namespace cortado::runs
