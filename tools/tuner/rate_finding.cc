#include "tools/tuner/rate_finding.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tools/output/terminal.h"

namespace cortado::tools {

namespace {

constexpr double kWeight = 0.9, kRateFindingFarAbove = 3, kLeastPartOfFall = 0.1;

/// Slope of a regression line through the points around `at`: losses over logarithms of rates.
double slope(const RateSweep& sweep, const std::vector<double>& losses, size_t at, size_t reach) {
  const size_t from = at - reach, to = at + reach;
  double x = 0, y = 0, xx = 0, xy = 0;
  const double n = double(to - from + 1);
  for (size_t i = from; i <= to; ++i) {
    const double log_rate = std::log(sweep.rates[i]);
    x += log_rate;
    y += losses[i];
    xx += log_rate * log_rate;
    xy += log_rate * losses[i];
  }
  return (n * xy - x * y) / (n * xx - x * x);
}

/// The mean loss of the lowest rates, which hardly change the weights: the first tenth of the sweep.
double loss_before_fall(const RateSweep& sweep, size_t usable) {
  const size_t count = std::min(usable, std::max<size_t>(3, sweep.losses.size() / 10));
  return std::accumulate(sweep.losses.begin(), sweep.losses.begin() + int64_t(count), 0.0) / double(count);
}

}  // namespace

std::vector<double> smoothed(const std::vector<double>& losses) {
  std::vector<double> out;
  double mean = 0, weight = 0;
  for (const double loss : losses) {
    mean = kWeight * mean + (1 - kWeight) * loss;
    weight = kWeight * weight + (1 - kWeight);
    out.push_back(mean / weight);
  }
  return out;
}

RateFinding find_rate(const RateSweep& sweep) {
  RateFinding found;
  const std::vector<double> losses = smoothed(sweep.losses);
  size_t end = 0, least = 0;  // end: the number of usable losses
  for (; end < losses.size() && std::isfinite(losses[end]); ++end) {
    if (losses[end] < losses[least]) least = end;
    if (end >= 10 && losses[end] > kRateFindingFarAbove * std::max(losses[least], 1e-6)) break;
  }
  if (end < losses.size()) found.diverged = sweep.rates[end];
  if (end == 0) return found;
  if (sweep.left && found.diverged == 0) found.diverged = sweep.rates.back();
  found.first_loss = loss_before_fall(sweep, end);
  found.least_loss = losses[least];
  found.least = sweep.rates[least];
  const size_t reach = std::max<size_t>(2, losses.size() / 25);
  double fastest = 0;
  // The first smoothed losses are means of few, so their slopes are noise.
  const double fallen = found.first_loss - kLeastPartOfFall * (found.first_loss - found.least_loss);
  for (size_t i = reach; i + reach < end && i <= least; ++i) {
    const double here = slope(sweep, losses, i, reach);
    if (here >= fastest || losses[i] > fallen) continue;
    fastest = here;
    found.steepest = sweep.rates[i];
  }
  if (found.steepest > 0 && found.least_loss < (1 - kNoiseOfLoss) * found.first_loss)
    found.suggested = std::min(found.steepest, found.least / 4);
  return found;
}

std::string with_base_lr(std::string_view text, const Positions& positions, double rate, const std::string& comments) {
  const std::string value = number_text("%.3g", rate);
  std::string out(text);
  if (!positions.known("base_lr")) {
    if (!out.empty() && out.back() != '\n') out += '\n';
    return comments + out + "base_lr: " + value + "\n";
  }
  const Place place = positions.place("base_lr");
  size_t at = 0;
  for (int line = 1; line < place.line && at != std::string::npos; ++line) {
    at = out.find('\n', at);
    if (at != std::string::npos) ++at;
  }
  if (at == std::string::npos) return comments + out;
  at += size_t(place.column - 1);
  const size_t end = std::min(out.find_first_of(" \t\r\n#,;", at), out.size());
  return comments + out.replace(at, end - at, value);
}

}  // namespace cortado::tools
