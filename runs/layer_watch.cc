#include "runs/layer_watch.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "runs/clock.h"

namespace cortado::runs {

namespace {

nlohmann::ordered_json json_of(const Spread& spread) {
  const double n = double(std::max<int64_t>(1, spread.count));
  return {{"norm", spread.norm()},
          {"mean", spread.sum / n},
          {"min", spread.least},
          {"max", spread.most},
          {"bins", spread.bins}};
}

}  // namespace

double Spread::norm() const { return std::sqrt(squares); }

/// Of so many values at most the bins are counted; of more, of every so-manieth.
constexpr size_t kMostBinned = 1 << 16;

Spread spread_of(const std::vector<float>& values) {
  Spread spread;
  spread.bins.assign(Spread::kBins, 0);
  float least = std::numeric_limits<float>::infinity(), most = -least;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    ++spread.count;
    least = std::min(least, value);
    most = std::max(most, value);
    spread.sum += value;
    spread.squares += double(value) * value;
  }
  if (spread.count == 0) return spread;
  spread.least = least;
  spread.most = most;
  const size_t step = (values.size() + kMostBinned - 1) / kMostBinned;
  const float scale = most > least ? Spread::kBins / (most - least) : 0;
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
  return [path](const Progress& progress, const std::vector<WeightSpread>& spreads) {
    nlohmann::ordered_json layers = nlohmann::ordered_json::array();
    for (const WeightSpread& spread : spreads)
      layers.push_back(
          {{"name", spread.name}, {"weights", json_of(spread.values)}, {"gradients", json_of(spread.gradients)}});
    const nlohmann::ordered_json line = {{"t", unix_seconds()}, {"iter", progress.iter}, {"layers", layers}};
    std::ofstream(path, std::ios::app) << line.dump() + "\n" << std::flush;
  };
}

}  // namespace cortado::runs
