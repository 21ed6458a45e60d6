// `cortado features`: writes blobs of a trained net for each sample of its data, for use by other programs. Takes the
// operands of Caffe's extract_features, in the same order.
#include <algorithm>
#include <charconv>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/log.h"
#include "tools/infer/feature_file.h"
#include "tools/net/frozen_net.h"
#include "tools/options/flags.h"
#include "tools/options/net_file.h"
#include "tools/options/run_options.h"
#include "tools/output/output_name.h"
#include "tools/output/progress.h"
#include "tools/program/command.h"

namespace cortado::tools {

namespace {

/// A blob and its file.
struct Feature {
  std::string blob, path, format;
  Shape row{};            ///< the blob's shape without its first extent
  int64_t per_batch = 1;  ///< rows
  std::unique_ptr<FeatureFile> file{};
};

/// The format by --format or the output's name, which must agree.
std::string feature_format(const Arguments& arguments, const std::string& path) {
  const std::string name = format_chosen(arguments, "format", path, "features",
                                         {{"lmdb", {".lmdb"}}, {"npy", {".npy"}}, {"hdf5", {".h5", ".hdf5"}}});
  return name.empty() ? arguments.text("format") : name;
}

std::vector<Feature> named_features(const Arguments& arguments) {
  const std::vector<std::string> blobs = arguments.texts("blobs"), paths = arguments.texts("output");
  if (blobs.size() != paths.size())
    throw usage_error(std::to_string(blobs.size()) + " blobs, but " + std::to_string(paths.size()) + " outputs",
                      "name an output for each blob: --blobs=fc6,fc7 --output=fc6_lmdb,fc7_lmdb");
  std::vector<Feature> features;
  for (size_t i = 0; i < blobs.size(); ++i) {
    if (std::find(paths.begin(), paths.begin() + int64_t(i), paths[i]) != paths.begin() + int64_t(i))
      throw usage_error("--output: " + paths[i] + " is given twice");
    features.push_back({.blob = blobs[i], .path = paths[i], .format = feature_format(arguments, paths[i])});
  }
  return features;
}

/// The device of Caffe's operands "[CPU|GPU] [ID]".
DeviceDefaults device_of(const std::vector<std::string>& operands) {
  DeviceDefaults defaults;
  if (operands.empty()) return defaults;
  if (operands[0] != "CPU" && operands[0] != "GPU") throw usage_error("'" + operands[0] + "': must be CPU or GPU");
  defaults.gpu = operands[0] == "GPU";
  defaults.source = "the operand is GPU";
  if (operands.size() < 2) return defaults;
  const std::string number = operands[1].substr(operands[1].starts_with("DEVICE_ID=") ? 10 : 0);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), defaults.gpu_index);
  if (error != std::errc() || end != number.data() + number.size() || defaults.gpu_index < 0)
    throw usage_error("'" + operands[1] + "': not the number of a device");
  return defaults;
}

std::unique_ptr<Net> open_feature_net(const Arguments& arguments, const std::vector<Feature>& features,
                                      Context& context) {
  graph::BuildOptions options;
  options.state = state_of(arguments, caffe::TEST);
  options.data_threads = data_threads_of(arguments);
  for (const Feature& feature : features) options.keep.push_back(feature.blob);
  options.only_kept = true;
  auto net = make_frozen_net(open_net(arguments.text("model"), overrides_of(arguments)), options,
                             arguments.texts("weights"), context);
  if (const std::vector<std::string> inputs = net->input_names(); !inputs.empty())
    throw usage_error("input '" + inputs[0] + "' has no data",
                      "use a net with a data layer, or `cortado infer` for arrays");
  return net;
}

void open_files(std::vector<Feature>& features, const Net& net, const Arguments& arguments) {
  for (Feature& feature : features) {
    const Shape shape = net.blob_shape(feature.blob);
    if (shape.axes() > 0) {
      feature.per_batch = shape[0];
      feature.row = Shape(std::vector<int64_t>(shape.dims().begin() + 1, shape.dims().end()));
    }
    if (feature.format != "lmdb") check_may_replace(arguments, feature.path);
    feature.file = open_feature_file(feature.format, feature.path, feature.blob, feature.row,
                                     feature.per_batch * arguments.integer("batches"), arguments.on("force"));
  }
}

void extract(std::vector<Feature>& features, Net& net, int64_t batches) {
  CountedProgress progress("features");
  const auto show = progress.callback();
  for (int64_t batch = 0; batch < batches; ++batch, ++net.context().pass) {
    net.forward();
    for (Feature& feature : features) feature.file->add(net.read_blob(feature.blob).data(), feature.per_batch);
    if (show) show(batch + 1, batches);
  }
  progress.finish();
  for (Feature& feature : features) {
    feature.file->commit();
    log_info() << "Extracted features of " << feature.per_batch * batches << " query images for feature blob "
               << feature.blob;
  }
}

int run_features(const Arguments& arguments) {
  CommandContext context(arguments, device_of(arguments.operands()));
  choose_decoder(arguments, context);
  std::vector<Feature> features = named_features(arguments);
  const std::unique_ptr<Net> net = open_feature_net(arguments, features, context);
  open_files(features, *net, arguments);
  const int64_t batches = arguments.integer("batches");
  extract(features, *net, batches);
  log_info() << "Successfully extracted the features!";
  if (!arguments.on("json")) return 0;
  nlohmann::ordered_json json = {{"batches", batches}, {"features", nlohmann::ordered_json::array()}};
  for (const Feature& feature : features)
    json["features"].push_back({{"blob", feature.blob},
                                {"rows", feature.per_batch * batches},
                                {"shape", feature.row.dims()},
                                {"format", feature.format},
                                {"output", feature.path}});
  std::cout << json.dump(2) << "\n";
  return 0;
}

std::vector<Flag> features_flags() {
  Flag weights = required(weights_flag());
  weights.accepts = nullptr;
  Flag blobs = required(blobs_flag("to write"));
  blobs.former = {"blob"};
  Flag output = required(output_flag("PATH,...", "one for each blob"));
  Flag batches = required(batches_flag(""));
  Flag format = with_note(format_flag({"lmdb", "npy", "hdf5"}), "lmdb has a Datum for each row");
  format.fallback = "lmdb";
  for (Flag* flag : {&blobs, &output, &batches, &format}) flag->operand = true;
  return {
      weights,     model_flag(),        blobs,        output, batches, format, force_flag(), set_flag(), layer_flag(),
      json_flag(), data_threads_flag(), decode_flag()};
}

}  // namespace

Command features_command() {
  return {.name = "features",
          .summary = "Write blobs that a net computes from its data",
          .flags = joined({features_flags(), state_flags(), device_flags()}),
          .operands = {"CPU|GPU [ID]", "the device, as for extract_features; same as --cpu and --gpu=ID", 0, 2},
          .examples = {{"cortado features net.caffemodel train_val.prototxt fc7,prob fc7_lmdb,prob_lmdb 100 lmdb",
                        "two blobs of 100 batches, a database for each"},
                       {"cortado features net.caffemodel train_val.prototxt --blobs=pool5 -o pool5.npy --batches=10",
                        "an array of images x features"}},
          .run = run_features,
          .about =
              "The net runs in phase TEST on the data of its own data layer. A blob's first extent counts images; each "
              "becomes a row."};
}

}  // namespace cortado::tools
