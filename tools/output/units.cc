#include "tools/output/units.h"

#include <charconv>
#include <cmath>
#include <vector>

#include "core/text/text.h"
#include "tools/output/terminal.h"

namespace cortado::tools {

namespace {

struct Unit {
  const char* name;
  double size;
};

using Units = std::vector<Unit>;

const Units kBandwidths = {{"kbit", 1e3 / 8}, {"Mbit", 1e6 / 8}, {"Gbit", 1e9 / 8}, {"Tbit", 1e12 / 8}};  // bytes/s
const Units kUnitsTimes = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};

/// The unit with this name, in any case, or null.
const Unit* unit_named(const Units& units, const std::string& text) {
  for (const Unit& unit : units)
    if (lower_case(unit.name) == lower_case(text)) return &unit;
  return nullptr;
}

/// A number followed by a unit; negative if `text` is anything else.
double parsed(const std::string& text, const Units& units) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || !std::isfinite(number)) return -1;
  const Unit* unit = unit_named(units, std::string(rest + (rest != end && *rest == ' '), end));
  return unit ? number * unit->size : -1;
}

/// In the largest unit that is at most `value`.
std::string text_of(double value, const Units& units) {
  const Unit* best = &units.front();
  for (const Unit& unit : units)
    if (value >= unit.size) best = &unit;
  return number_text("%.3g", value / best->size) + " " + best->name;
}

}  // namespace

double bandwidth_of(const Arguments& arguments, const std::string& flag) {
  std::string text = arguments.text(flag);
  if (text.ends_with("/s")) text.resize(text.size() - 2);
  const double value = parsed(text, kBandwidths);
  if (value > 0) return value;
  throw usage_error("--" + flag + "=" + arguments.text(flag) + ": expected a number of kbit, Mbit, Gbit or Tbit",
                    "give the bandwidth of one machine's link in each direction, a second: --" + flag + "=10Gbit");
}

double seconds_of(const Arguments& arguments, const std::string& flag) {
  const double value = parsed(arguments.text(flag), kUnitsTimes);
  if (value >= 0) return value;
  throw usage_error("--" + flag + "=" + arguments.text(flag) + ": expected a number of ns, us, ms or s",
                    "give the time that an empty message takes: --" + flag + "=50us");
}

std::string bandwidth_text(double bytes_per_second) { return text_of(bytes_per_second, kBandwidths) + "/s"; }

std::string seconds_text(double seconds) { return text_of(seconds, kUnitsTimes); }

std::string xml_escaped(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '"' ? "&quot;" : std::string(1, c);
  return out;
}

}  // namespace cortado::tools
