// A detector of the user's objects: a proven SSD, adapted to their classes and mean values, and a schedule.
#include <algorithm>

#include "core/error.h"
#include "core/files/file.h"
#include "data/convert/convert.h"
#include "data/formats/labels.h"
#include "data/inspect/class_names.h"
#include "data/inspect/dataset_stats.h"
#include "data/lmdb/dataset_names.h"
#include "data/lmdb/lmdb.h"
#include "proto/text/write_text.h"
#include "tools/output/progress.h"
#include "tools/output/terminal.h"
#include "tools/starter/head.h"
#include "tools/starter/project_text.h"
#include "tools/starter/starting_net.h"

namespace cortado::tools {

namespace {

using caffe::LayerParameter;
using caffe::NetParameter;

constexpr char kStart[] = "ssd_fashion";
constexpr int64_t kDetectorDecoded = 2048, kDetectorPixels = 2000000000, kDetectorSeen = 100000;

/// The dataset of a detector.
struct ObjectSet {
  std::string train, test;
  std::vector<std::string> names;  ///< from label 1 on; label 0 is the background
  int64_t classes = 0;             ///< including the background
  data::DatasetStats stats;
  int64_t test_records = 0;
};

/// Sets the names. Labels that the map lacks get numbers.
void set_names(const std::string& map_file, ObjectSet& set) {
  constexpr int32_t kMost = 100000;
  const std::map<int32_t, std::string> names = data::shown_names(data::read_label_map(map_file));
  const int32_t last = names.empty() ? 0 : names.rbegin()->first;
  if (last < 1) throw file_error(ExitCode::kData, map_file, "it has no class except the background");
  if (last > kMost) throw file_error(ExitCode::kData, map_file, "its label " + std::to_string(last) + " is too large");
  set.classes = last + 1;
  for (int32_t label = 1; label <= last; ++label)
    set.names.push_back(names.contains(label) ? names.at(label) : std::to_string(label));
}

ObjectSet read_set(const std::string& path) {
  ObjectSet set;
  const std::string folder = without_trailing_slashes(path);
  set.train = join_path(folder, data::kTrainPart);
  set.test = join_path(folder, data::kTestPart);
  const std::string map_file = data::names_file_of(set.train, data::kLabelMapPart);
  const std::string wanted = data::names_beside(set.train, data::kLabelMapPart);
  for (const std::string& part : {set.train, set.test, map_file.empty() ? wanted : map_file})
    if (!file_exists(part))
      throw file_error(ExitCode::kIo, part, "the file or folder does not exist",
                       "make it with `cortado convert annoset images/ train.txt -o " + set.train +
                           "`, then convert test.txt with --label-map-file=" + wanted + " -o " + set.test);
  if (const std::string conflict = data::names_conflict(set.train, set.test); !conflict.empty())
    throw file_error(ExitCode::kData, folder, conflict, "convert test.txt with --label-map-file=" + wanted);
  set_names(map_file, set);
  CountedProgress progress("read " + folder);
  set.stats = data::dataset_stats(set.train, {.most_decoded = kDetectorDecoded,
                                              .most_pixels = kDetectorPixels,
                                              .find_odd = false,
                                              .progress = progress.callback()});
  if (set.stats.decoded == 0) throw file_error(ExitCode::kData, set.train, "none of its images can be read");
  set.test_records = data::Lmdb::open(set.test)->records();
  return set;
}

/// The convolutions that a blob comes from, through layers that only rearrange it.
void collect_convolutions(const NetParameter& net, const std::string& blob, int before, std::vector<int>& found) {
  const int maker = maker_of(net, blob, before);
  if (maker < 0) return;
  const LayerParameter& layer = net.layer(maker);
  if (layer.type() == "Convolution") return found.push_back(maker);
  if (layer.type() != "Concat" && layer.type() != "Flatten" && layer.type() != "Permute" && layer.type() != "Reshape")
    return;
  for (const std::string& bottom : layer.bottom()) collect_convolutions(net, bottom, maker, found);
}

/// Sets the number of classes in all layers that have it, and in the convolutions that score classes.
void set_classes(NetParameter& net, int64_t classes, const std::string& suffix, const std::string& path) {
  std::vector<int> scoring;
  uint32_t before = 0;
  for (int i = 0; i < net.layer_size(); ++i) {
    LayerParameter& layer = *net.mutable_layer(i);
    if (layer.type() == "MultiBoxLoss" && layer.bottom_size() > 1) {
      before = layer.multibox_loss_param().num_classes();
      collect_convolutions(net, layer.bottom(1), i, scoring);
      layer.mutable_multibox_loss_param()->set_num_classes(uint32_t(classes));
    }
    if (layer.has_detection_output_param()) layer.mutable_detection_output_param()->set_num_classes(uint32_t(classes));
    if (layer.has_detection_evaluate_param())
      layer.mutable_detection_evaluate_param()->set_num_classes(uint32_t(classes));
  }
  if (scoring.empty() || before == 0)
    throw file_error(ExitCode::kNet, path, "no MultiBoxLoss after convolutions, so this net is not an SSD",
                     "give the train_val.prototxt of an SSD");
  for (LayerParameter& layer : *net.mutable_layer())
    if (layer.type() == "Reshape")
      for (int64_t& dim : *layer.mutable_reshape_param()->mutable_shape()->mutable_dim())
        if (dim == int64_t(before)) dim = classes;
  for (const int at : scoring) {
    LayerParameter& layer = *net.mutable_layer(at);
    const uint32_t outputs = layer.convolution_param().num_output();
    layer.mutable_convolution_param()->set_num_output(uint32_t(outputs / before * uint64_t(classes)));
    if (!suffix.empty()) layer.set_name(layer.name() + "_" + suffix);
  }
}

/// Makes the data layers read the set. Their transformations stay, except for mean and scale.
void set_data(NetParameter& net, const ObjectSet& set, const Schedule& schedule, bool keep_values, Choices& choices) {
  std::string text;
  double deviation = 0;
  for (size_t c = 0; c < set.stats.mean.size(); ++c) {
    text += (c > 0 ? " " : "") + number_text("%.1f", set.stats.mean[c]);
    deviation += set.stats.deviation[c] / double(set.stats.mean.size());
  }
  for (LayerParameter& layer : *net.mutable_layer()) {
    if (layer.type() != "AnnotatedData") continue;
    const bool trains = layer.include_size() > 0 && layer.include(0).phase() == caffe::TRAIN;
    caffe::DataParameter& data = *layer.mutable_data_param();
    data.set_source(trains ? set.train : set.test);
    data.set_batch_size(uint32_t(trains ? schedule.batch : schedule.test_batch));
    if (trains) data.set_shuffle(true);
    if (keep_values) continue;
    caffe::TransformationParameter& transform = *layer.mutable_transform_param();
    transform.clear_mean_file();
    transform.clear_mean_value();
    for (const double mean : set.stats.mean) transform.add_mean_value(std::stof(number_text("%.1f", mean)));
    transform.set_scale(std::stof(number_text("%.3g", 1 / std::max(deviation, 1.0))));
  }
  if (keep_values)
    choices.push_back({"mean_value and scale", "unchanged", "the weights were learned with them"});
  else
    choices.push_back(
        {"mean_value", text, "measured; scale is 1 over the deviation, " + number_text("%.1f", deviation)});
}

std::string score_blob(const NetParameter& net) {
  for (const LayerParameter& layer : net.layer())
    if (layer.type() == "DetectionEvaluate" && layer.top_size() > 0) return layer.top(0);
  return "";
}

std::string output_blob(const NetParameter& net) {
  for (const LayerParameter& layer : net.layer())
    if (layer.type() == "DetectionOutput" && layer.top_size() > 0) return layer.top(0);
  return "";
}

}  // namespace

Project make_detector(const ProjectOptions& options) {
  const ObjectSet set = read_set(options.data);
  const bool trained = !options.weights.empty();
  const std::string from = options.from.empty() ? kStart : options.from;
  const StartingNet start = read_starting_net(from, false);
  NetParameter net = start.file->net;
  set_classes(net, set.classes, trained ? word_of(options.data) : "", from);

  Project project;
  project.folder = without_trailing_slashes(options.output);
  project.choices.push_back({"net", start.name, options.from.empty() ? "a small SSD" : "--from"});
  project.choices.push_back({"classes", std::to_string(set.classes), "with the background, which is 0"});
  const int64_t epochs =
      options.epochs > 0 ? options.epochs : std::clamp<int64_t>(kDetectorSeen / set.stats.records, 10, 100);
  const Schedule schedule =
      choose_schedule(set.stats.records, start.recipe,
                      {.batch = options.batch, .epochs = epochs, .from_weights = trained, .slow = trained});
  set_data(net, set, schedule, trained, project.choices);

  project.data_line = describe_data(options.data, set.classes - 1, set.stats.records, set.test_records);
  project.net = "# " + project.data_line + "\n# Made by `cortado new detector`.\n" + comments_of(project.choices) +
                comments_of({schedule.choices[0]}) + "name: \"" + word_of(project.folder) + "\"\n" + relative_line() +
                layers_text(net, project);
  const auto file = std::make_shared<NetFile>(read_net_from_text(project.net, project.net_path()));
  project.flops = try_out(file);
  project.images = schedule.epochs * set.stats.records;
  project.deploy = deploy_text(*file, project, output_blob(net));
  project.solver = solver_text(project, schedule, start.recipe, options.weights, score_blob(net), set.test_records,
                               "eval_type: \"detection\"  # tests give the mean average precision\n");
  project.labels = "background\n";
  for (const std::string& name : set.names) project.labels += name + "\n";
  project.choices.insert(project.choices.end(), schedule.choices.begin(), schedule.choices.end());
  return project;
}

}  // namespace cortado::tools
