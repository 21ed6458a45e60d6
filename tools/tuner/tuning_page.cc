#include "tools/tuner/tuning_page.h"

#include <cmath>

#include "tools/report/page.h"

extern const char cortado_tuning_script[];
extern const unsigned long cortado_tuning_script_size;

namespace cortado::tools {

namespace {

using Json = nlohmann::ordered_json;

/// The finite losses as [[rate, loss], ..].
Json curve_json(const std::vector<double>& rates, const std::vector<double>& losses) {
  Json points = Json::array();
  for (size_t i = 0; i < rates.size() && i < losses.size(); ++i)
    if (std::isfinite(losses[i])) points.push_back({rates[i], losses[i]});
  return points;
}

}  // namespace

std::string tuning_page(const std::string& solver, const std::string& result, const RateSweep& sweep,
                        const std::vector<RateMark>& marks, const std::vector<std::vector<std::string>>& measured) {
  Json numbers = {{"result", result},
                  {"losses", curve_json(sweep.rates, sweep.losses)},
                  {"smoothed", curve_json(sweep.rates, smoothed(sweep.losses))},
                  {"marks", Json::array()},
                  {"table", measured}};
  for (const RateMark& mark : marks) numbers["marks"].push_back({{"x", mark.rate}, {"label", mark.label}});
  return self_contained_page("Tuning of " + solver, {cortado_tuning_script, cortado_tuning_script_size}, numbers);
}

}  // namespace cortado::tools
