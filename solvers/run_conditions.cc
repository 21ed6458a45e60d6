#include "solvers/run_conditions.h"

#include <algorithm>
#include <map>
#include <vector>

#include "core/text/text.h"
#include "graph/freeze.h"
#include "kernels/devices.h"
#include "kernels/kernel_cache.h"

namespace cortado {

namespace {

/// One line for each node of the plan, with the choices that affect the exact bits.
std::vector<std::string> choices_of(const Net& net) {
  std::vector<std::string> lines;
  const graph::Plan& plan = net.plan();
  for (size_t n = 0; n < plan.graph.nodes.size(); ++n) {
    const graph::Node& node = plan.graph.nodes[n];
    std::string line = node.name + " (" + node.type + ")";
    for (const graph::ValueId y : node.y) line += " " + name_of(plan.graph.value(y).layout);
    if (!plan.needs[n].algorithm.empty()) line += " " + plan.needs[n].algorithm;
    lines.push_back(line);
  }
  return lines;
}

/// Prefix of the line after the choices that lists the frozen layers.
constexpr const char* kFrozen = "frozen: ";

std::string frozen_line(const Net& net) {
  const std::string names = frozen_layers(net);
  return kFrozen + (names.empty() ? "none" : names);
}

/// The first step with a different choice.
std::string difference_of_steps(const std::vector<std::string>& then, const std::vector<std::string>& now) {
  for (size_t i = 0; i < std::max(now.size(), then.size()); ++i) {
    const std::string before = i < then.size() ? then[i] : "nothing";
    const std::string here = i < now.size() ? now[i] : "nothing";
    if (before != here) return "a step was '" + before + "' and is now '" + here + "'";
  }
  return "";
}

}  // namespace

std::string difference_of_libraries(const caffe::TrainingState& training, Context& context) {
  const std::vector<std::string> now = kernels::arithmetic_of(context);
  for (size_t i = 0; i < std::min(size_t(training.libraries_size()), now.size()); ++i)
    if (const std::string& then = training.libraries(int(i)); then != now[i])
      return "it was computed with " + then + ", now there is " + now[i];
  return "";
}

std::string frozen_layers(const Net& net) { return list_text(graph::layers_that_keep(net.plan().graph)); }

void save_conditions(Net& net, caffe::TrainingState& training) {
  training.set_pieces(net.context().pieces);
  training.set_device(net.context().device.str());
  for (const std::string& library : kernels::arithmetic_of(net.context())) training.add_libraries(library);
  for (const std::string& line : choices_of(net)) training.add_choices(line);
  training.add_choices(frozen_line(net));
  for (const auto& [problem, choice] : net.context().handle<kernels::KernelCache>().recorded()) {
    caffe::KernelChoice& kernel = *training.add_kernel();
    kernel.set_problem(problem);
    kernel.set_candidate(choice.candidate);
  }
}

void take_kernels(const caffe::TrainingState& training, Context& context) {
  if (!difference_of_libraries(training, context).empty()) return;
  std::map<std::string, kernels::KernelCache::Entry> choices;
  for (const caffe::KernelChoice& kernel : training.kernel())
    choices[kernel.problem()] = {kernel.candidate(), "snapshot", 0};
  context.handle<kernels::KernelCache>().load(choices);
}

std::string warning_of_conditions(const caffe::TrainingState& training, Net& net) {
  Context& context = net.context();
  std::vector<std::string> then(training.choices().begin(), training.choices().end());
  if (!then.empty() && then.back().starts_with(kFrozen)) {
    const std::string frozen = frozen_line(net);
    if (frozen != then.back())
      return "the frozen layers differ from the snapshot's: were " + then.back() + ", are " + frozen +
             "; weights that learn again start without history";
    then.pop_back();
  }
  std::string difference = difference_of_steps(then, choices_of(net));
  if (const std::string other = difference_of_libraries(training, context); !other.empty()) difference = other;
  if (training.pieces() != context.pieces)
    difference = training.has_pieces() ? "it divided work into " + std::to_string(training.pieces()) + " pieces, now " +
                                             std::to_string(context.pieces)
                                       : "it was written by a version that divided work by threads";
  if (training.device() != context.device.str())
    difference = "it was written on " + training.device() + ", this is " + context.device.str();
  return difference.empty() ? "" : "resuming, but not bit for bit: " + difference;
}

void save_positions(Net& net, const std::string& name, caffe::TrainingState& training) {
  for (const auto& [layer, position] : net.positions()) {
    caffe::DataPosition& data = *training.add_data();
    data.set_net(name);
    data.set_layer(layer);
    data.set_position(position);
    data.set_seed(net.context().seed);
  }
}

void load_positions(const caffe::TrainingState& training, const std::string& name, Net& net) {
  for (const auto& [layer, ignored] : net.positions())
    for (const caffe::DataPosition& data : training.data())
      if (data.net() == name && data.layer() == layer) net.seek(layer, data.position());
}

}  // namespace cortado
