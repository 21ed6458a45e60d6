// `cortado quantize`: finds the scales of a trained net for 8-bit integers, and writes them into the net. Reports the
// error of each layer, the scores before and after, and the time of a batch.
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/files/file.h"
#include "core/log.h"
#include "core/text/text.h"
#include "graph/freeze.h"
#include "kernels/quantized_conv.h"
#include "net/calibration.h"
#include "net/layer_errors.h"
#include "proto/text/write_text.h"
#include "proto/weights/weights_file.h"
#include "solvers/scores.h"
#include "tools/net/frozen_net.h"
#include "tools/options/net_file.h"
#include "tools/options/run_options.h"
#include "tools/output/output_name.h"
#include "tools/output/progress.h"
#include "tools/program/command.h"

namespace cortado::tools {

namespace {

using Scales = std::map<std::string, caffe::QuantizationParameter>;

/// The shortest time of each node in several passes, by name, without data layers.
using Seconds = std::map<std::string, double>;

/// The results of both nets on the same batches.
struct Comparison {
  std::vector<LayerError> errors;
  std::vector<Score> exact, rounded;
  int64_t samples = 0;
};

/// The net whose data layer reads the values: --calibrate as a net, or the model with its database replaced.
std::shared_ptr<const NetFile> calibration_net(const Arguments& arguments,
                                               const std::shared_ptr<const NetFile>& model) {
  if (!arguments.has("calibrate")) return without_scales(*model);
  const std::string path = arguments.text("calibrate");
  if (!std::filesystem::is_directory(path)) return without_scales(*open_net(path));
  auto changed = std::make_shared<NetFile>(*without_scales(*model));
  int replaced = 0;
  for (caffe::LayerParameter& layer : *changed->net.mutable_layer())
    if (layer.has_data_param()) layer.mutable_data_param()->set_source(path), ++replaced;
  if (replaced == 0)
    throw usage_error("--calibrate=" + path + ": the net has no Data layer, which defines how records become its input",
                      "use the net of its training: --calibrate=train_val.prototxt");
  return changed;
}

graph::BuildOptions test_options(const Arguments& arguments) {
  graph::BuildOptions options;
  options.state = state_of(arguments, caffe::TEST);
  options.data_threads = data_threads_of(arguments);
  options.backward = false;
  return options;
}

std::vector<QuantizableLayer> chosen_layers(const Arguments& arguments, const NetFile& file,
                                            const graph::BuildOptions& options) {
  std::vector<QuantizableLayer> layers = quantizable_layers(file, options);
  std::erase_if(layers, [&](const QuantizableLayer& layer) {
    return (layer.last && !arguments.on("last")) || graph::matches_any(arguments.texts("skip"), layer.name);
  });
  if (layers.empty())
    throw Error(ExitCode::kNet, "no layer of the net can compute on 8-bit integers",
                "only convolutions of images can; to include the last layer with weights, add --last");
  return layers;
}

RangeRule rule_of(const Arguments& arguments) {
  const std::string method = arguments.text("method");
  RangeRule rule;
  rule.kind = method == "max" ? RangeRule::kLargest : method == "kl" ? RangeRule::kDivergence : RangeRule::kPercentile;
  rule.percentile = arguments.number("percentile");
  if (!(rule.percentile > 0 && rule.percentile <= 100))
    throw usage_error("--percentile=" + number_text("%g", rule.percentile) +
                      ": expected a number above 0 and at most 100");
  return rule;
}

void calibrate(Calibration& calibration, Context& context, int64_t batches) {
  CountedProgress progress("calibrate");
  const auto show = progress.callback();
  for (int64_t batch = 0; batch < batches; ++batch, ++context.pass) {
    calibration.run_batch();
    if (show) show(batch + 1, batches);
  }
  progress.finish();
}

void time_pass(Net& net, Seconds& least) {
  for (size_t i = 0; i < net.forward_steps(); ++i) {
    const graph::Node& node = net.plan().graph.node(net.plan().forward[i].node);
    const auto start = std::chrono::steady_clock::now();
    net.run_forward_step(i);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (node.x.empty()) continue;
    const auto [entry, is_new] = least.emplace(node.name, seconds);
    if (!is_new) entry->second = std::min(entry->second, seconds);
  }
}

/// The least seconds of each node in each net, over alternating passes, because the load of the machine varies.
std::vector<Seconds> time_nets(const std::vector<Net*>& nets) {
  constexpr int kMinRuns = 7, kMaxRuns = 100;
  constexpr std::chrono::milliseconds kEnough(1000);
  std::vector<Seconds> times(nets.size());
  const auto start = std::chrono::steady_clock::now();
  for (int run = 0; run < kMinRuns || (run < kMaxRuns && std::chrono::steady_clock::now() - start < kEnough); ++run)
    for (size_t i = 0; i < nets.size(); ++i) time_pass(*nets[i], times[i]);
  return times;
}

double sum_of(const Seconds& seconds) {
  double sum = 0;
  for (const auto& [node, of_node] : seconds) sum += of_node;
  return sum;
}

/// The layers that are slower with integers on this machine, alone and without conversions of their operands.
std::vector<std::string> slower_layers(const std::vector<QuantizableLayer>& layers, const Scales& scales,
                                       const Seconds& floats, const Seconds& integers) {
  constexpr double kNoise = 1.05;
  std::vector<std::string> slower;
  for (const QuantizableLayer& layer : layers)
    if (scales.contains(layer.name) && integers.at(layer.node) > kNoise * floats.at(layer.node))
      slower.push_back(layer.name);
  return slower;
}

Comparison compare_nets(Net& exact, Net& rounded, const std::vector<QuantizableLayer>& layers, int64_t batches) {
  for (const auto& [layer, position] : exact.positions()) rounded.seek(layer, position);
  std::vector<std::string> nodes;
  for (const QuantizableLayer& layer : layers) nodes.push_back(layer.node);
  LayerErrors errors(exact, rounded, nodes);
  OutputReader exact_outputs(exact), rounded_outputs(rounded);
  ScoreSums exact_sums(exact_outputs), rounded_sums(rounded_outputs);
  CountedProgress progress("compare");
  const auto show = progress.callback();
  for (int64_t batch = 0; batch < batches; ++batch, ++exact.context().pass) {
    errors.run_batch();
    const double exact_loss = exact.loss(), rounded_loss = rounded.loss();
    exact_outputs.read(), rounded_outputs.read();  // may overwrite blobs
    exact_sums.add(exact_outputs, exact_loss, 1), rounded_sums.add(rounded_outputs, rounded_loss, 1);
    if (show) show(batch + 1, batches);
  }
  progress.finish();
  Comparison result{errors.errors(), exact_sums.exact(), rounded_sums.exact()};
  result.samples = batches * exact.batch_size();
  return result;
}

/// "31.2", in decibels.
std::string decibels_text(const LayerError& error) {
  return error.noise == 0 ? "exact" : number_text("%.1f", error.decibels());
}

/// The results.
struct QuantizeReport {
  std::vector<QuantizableLayer> layers;  ///< layers that can use integers
  Scales scales;                         ///< of the layers that use integers
  Comparison comparison;
  std::pair<Seconds, Seconds> times;
};

void show_tables(const QuantizeReport& report) {
  const auto& [layers, scales, comparison, times] = report;
  Table table({"layer", "scale of x", "scale of y", "signal to noise, dB"});
  for (size_t i = 0; i < layers.size(); ++i) {
    const auto found = scales.find(layers[i].name);
    if (found == scales.end())
      table.add({layers[i].name, "-", "-", "floats"});
    else
      table.add({layers[i].name, number_text("%.4g", found->second.scale_in(0)),
                 number_text("%.4g", found->second.scale_out(0)), decibels_text(comparison.errors[i])});
  }
  std::cout << table.str({1, 2, 3}) << "\n";
  constexpr size_t kMaxScores = 12;  // outputs may be values of each sample instead of scores
  if (!comparison.exact.empty() && comparison.exact.size() <= kMaxScores) {
    Table outputs({"output", "floats", "8 bits"});
    for (size_t i = 0; i < comparison.exact.size(); ++i)
      outputs.add({score_name(comparison.exact, i), score_text(comparison.exact[i].value),
                   score_text(comparison.rounded[i].value)});
    std::cout << outputs.str({1, 2}) << "\n";
  }
  std::cout << "a batch takes " << number_text("%.2f", sum_of(times.first) * 1e3) << " ms with floats, "
            << number_text("%.2f", sum_of(times.second) * 1e3) << " ms with 8 bits\n";
}

nlohmann::ordered_json quantization_json(const QuantizeReport& report) {
  const auto& [layers, scales, comparison, times] = report;
  nlohmann::ordered_json out;
  out["layers"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < layers.size(); ++i) {
    nlohmann::ordered_json layer = {{"name", layers[i].name}, {"quantized", scales.contains(layers[i].name)}};
    if (const auto found = scales.find(layers[i].name); found != scales.end()) {
      layer["scale_in"] = found->second.scale_in(0), layer["scale_out"] = found->second.scale_out(0);
      const double decibels = comparison.errors[i].decibels();
      layer["signal_to_noise_db"] = std::isfinite(decibels) ? nlohmann::ordered_json(decibels) : nullptr;
    }
    out["layers"].push_back(std::move(layer));
  }
  out["scores"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < comparison.exact.size(); ++i)
    out["scores"].push_back({{"name", score_name(comparison.exact, i)},
                             {"floats", comparison.exact[i].value},
                             {"eight_bits", comparison.rounded[i].value}});
  out["samples"] = comparison.samples;
  out["milliseconds"] = {{"floats", sum_of(times.first) * 1e3}, {"eight_bits", sum_of(times.second) * 1e3}};
  return out;
}

/// The files to write. Throws Error if they exist, unless --force is given.
std::pair<std::string, std::string> output_paths(const Arguments& arguments) {
  std::string prefix = arguments.text("output");
  if (prefix.ends_with(".prototxt")) prefix.resize(prefix.size() - 9);
  const std::pair<std::string, std::string> paths = {prefix + ".prototxt", prefix + ".caffemodel"};
  for (const std::string& path : {paths.first, paths.second}) check_may_replace(arguments, path);
  return paths;
}

/// The fp32 net. Throws Error(kUsage) if it has inputs without data.
std::unique_ptr<Net> make_exact(const Arguments& arguments, std::shared_ptr<const NetFile> file, Context& context) {
  auto net = make_frozen_net(std::move(file), test_options(arguments), arguments.texts("weights"), context);
  if (const auto inputs = net->input_names(); !inputs.empty())
    throw usage_error("input '" + inputs[0] + "' has no data",
                      "add --calibrate=train_val.prototxt, a net with a data layer");
  return net;
}

/// Leaves slower layers in fp32 if the net as a whole gains, conversions included, and compares both nets.
void compare_here(const Arguments& arguments, const NetFile& file, Net& exact, QuantizeReport& report) {
  constexpr double kLeastGain = 1.01;
  const auto make_rounded = [&](const Scales& scales) {
    graph::BuildOptions options = test_options(arguments);
    options.frozen = true;
    return make_net(with_scales(file, scales), options, exact.context(), &exact);
  };
  auto rounded = make_rounded(report.scales);
  std::vector<Seconds> times = time_nets({&exact, rounded.get()});
  const auto slower = arguments.on("all") ? std::vector<std::string>()
                                          : slower_layers(report.layers, report.scales, times[0], times[1]);
  if (!slower.empty()) {
    Scales fewer = report.scales;
    for (const std::string& layer : slower) fewer.erase(layer);
    auto mixed = make_rounded(fewer);
    times = time_nets({&exact, rounded.get(), mixed.get()});
    if (sum_of(times[1]) > kLeastGain * sum_of(times[2])) {
      log_info() << "These layers stay in fp32, because they are slower on 8-bit integers: " << list_text(slower);
      report.scales = std::move(fewer);
      rounded = std::move(mixed);
      times.erase(times.begin() + 1);
    }
  }
  report.times = {times[0], times[1]};
  report.comparison = compare_nets(exact, *rounded, report.layers, arguments.integer("compare"));
}

int run_quantize(const Arguments& arguments) {
  const auto [net_path, weights_path] = output_paths(arguments);
  const RangeRule rule = rule_of(arguments);
  CommandContext context(arguments);
  if (!context.device.is_cpu()) throw usage_error("quantize runs on the CPU", "leave out --gpu");
  if (context.precision != Precision::kFp32)
    throw usage_error("quantize measures fp32 values", "leave out --precision");
  const auto model = open_model(arguments);
  const auto file = calibration_net(arguments, model);
  QuantizeReport report{chosen_layers(arguments, *file, test_options(arguments)), {}, {}, {}};
  const auto exact = make_exact(arguments, file, context);
  Calibration calibration(*exact, report.layers);
  calibrate(calibration, context, arguments.integer("batches"));
  report.scales = calibration.scales(rule);
  const bool compares = kernels::has_quantized_convs();
  if (compares) compare_here(arguments, *file, *exact, report);
  write_file_atomically(net_path, "# Scales for 8-bit integers by `cortado quantize`.\n" +
                                      to_text(with_scales(*model, report.scales)->net));
  write_weights(weights_path, exact->to_proto());
  log_info() << net_path << ": " << report.scales.size() << " layers on 8-bit integers; " << weights_path
             << ": the weights, unchanged";
  if (!compares)
    log_warning() << "This CPU has no kernels for 8-bit integers: the net runs in fp32 here, and is not compared";
  else if (arguments.on("json"))
    std::cout << quantization_json(report).dump(2) << "\n";
  else
    show_tables(report);
  return 0;
}

}  // namespace

Command quantize_command() {
  return {
      .name = "quantize",
      .summary = "Quantize a trained net to 8-bit integers",
      .flags = joined(
          {{model_flag(),
            shape_flag(),
            weights_flag(),
            required(output_flag("PREFIX", "PREFIX.prototxt and PREFIX.caffemodel")),
            force_flag(),
            {.name = "calibrate",
             .kind = FlagKind::kText,
             .value = "NET|LMDB",
             .help = "source of typical inputs: a net with a data layer and layers of the same names, or a dataset for "
                     "the model's own data layer; by default what that reads"},
            batches_flag("20"),
            {.name = "compare",
             .kind = FlagKind::kInteger,
             .value = "N",
             .help = "batches after these, on which both nets are compared",
             .fallback = "20",
             .least = 1},
            {.name = "method",
             .kind = FlagKind::kText,
             .value = "METHOD",
             .help = "range of a scale: a percentile of the magnitudes, the least Kullback-Leibler divergence, or the "
                     "maximum",
             .fallback = "percentile",
             .choices = {"percentile", "kl", "max"}},
            {.name = "percentile",
             .kind = FlagKind::kNumber,
             .value = "P",
             .help = "of --method=percentile",
             .fallback = "99.99"},
            {.name = "skip",
             .kind = FlagKind::kText,
             .value = "LAYER,...",
             .help = "layers to keep in fp32, by name or pattern with * and ?"},
            {.name = "all", .help = "quantize layers that are slower on this machine, too"},
            {.name = "last", .help = "quantize the last layer with weights, too"},
            set_flag(),
            layer_flag(),
            json_flag(),
            data_threads_flag()},
           state_flags(),
           device_flags()}),
      .examples = {{"cortado quantize train_val.prototxt net.caffemodel -o net_int8",
                    "calibrate with its test data; then `cortado test net_int8.prototxt net_int8.caffemodel`"},
                   {"cortado quantize deploy.prototxt net.caffemodel --calibrate=train_val.prototxt -o int8",
                    "a deploy net, with the data of the net for training"},
                   {"cortado quantize train_val.prototxt net.caffemodel --method=kl --skip='res2*' -o int8",
                    "other scales; some layers stay in fp32"}},
      .run = run_quantize,
      .about =
          "Convolutions and inner products of the frozen net compute on 8-bit integers: weights with a scale for "
          "each output, operands with one each. The result is a net in Intel Caffe's dialect "
          "(quantization_param). Commands that infer on the CPU run it so; all else runs it in fp32. Weights stay "
          "as they are."};
}

}  // namespace cortado::tools
