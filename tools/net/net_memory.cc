#include "tools/net/net_memory.h"

#include <algorithm>
#include <charconv>

#include "core/text/text.h"
#include "graph/passes/passes.h"
#include "graph/plan.h"
#include "tools/options/flags.h"

namespace cortado::tools {

NetMemory plan_memory(std::shared_ptr<const NetFile> file, const graph::BuildOptions& options, Context& context) {
  graph::Graph graph = graph::build(std::move(file), graph::options_for(options, context));
  graph::run_passes(graph);
  const graph::Plan plan = graph::make_plan(std::move(graph), context);
  return {plan.arena_bytes, plan.weight_bytes(), plan.gradient_bytes(), plan.learned_bytes(), true};
}

FittingBatch largest_batch(int64_t budget, int64_t most, const std::function<int64_t(int64_t batch)>& bytes) {
  FittingBatch fits{0, 0};
  int64_t too_much = most + 1;
  const auto try_batch = [&](int64_t batch) {
    const int64_t needed = bytes(batch);
    if (needed <= budget)
      fits = {batch, needed};
    else
      too_much = batch;
    return needed;
  };
  int64_t low = try_batch(1);
  if (fits.batch == 0) return fits;
  int64_t batch = std::min<int64_t>(16, most);
  for (int round = 0; round < 16 && too_much - fits.batch > 1; ++round) {
    const int64_t needed = try_batch(batch);
    // The batch where a line through one sample and this batch meets the budget, within the range that is still
    // unknown.
    const double slope = batch > 1 ? double(needed - low) / double(batch - 1) : 0;
    const int64_t guess = slope > 0 ? 1 + int64_t(double(budget - low) / slope) : batch * 2;
    const bool narrow = too_much <= most && round > 3;
    batch = std::max(fits.batch + 1, std::min(narrow ? (fits.batch + too_much) / 2 : guess, too_much - 1));
  }
  return fits;
}

int64_t read_bytes(const std::string& text) {
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string unit = lower_case({end, text.data() + text.size()});
  std::erase(unit, ' ');
  static const std::string kLetters = "kmgt";
  const size_t letter = unit.empty() ? std::string::npos : kLetters.find(unit[0]);
  const bool known =
      unit.empty() || unit == "b" ||
      (letter != std::string::npos && (unit.size() == 1 || unit.substr(1) == "b" || unit.substr(1) == "ib"));
  if (failure != std::errc() || !known || !(value > 0) || value > 1e15)
    throw usage_error("'" + text + "' is not an amount of memory", "use a form like 8GB, 512MiB, or a number of bytes");
  for (size_t i = 0; letter != std::string::npos && i <= letter; ++i) value *= 1024;
  if (value > 1e18) throw usage_error("'" + text + "' is too large");
  return int64_t(value);
}

}  // namespace cortado::tools
