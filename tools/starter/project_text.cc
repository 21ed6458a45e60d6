#include "tools/starter/project_text.h"

#include <cctype>

#include "core/files/file.h"
#include "graph/deploy.h"
#include "proto/files/relative_paths.h"
#include "proto/text/write_text.h"
#include "tools/options/flags.h"
#include "tools/options/net_file.h"
#include "tools/output/terminal.h"

namespace cortado::tools {

std::string word_of(const std::string& path) {
  std::string word;
  for (const char c : file_name_of(without_trailing_slashes(path)))
    word += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return word.empty() ? "net" : word;
}

std::string relative_line() { return "relative_to_file: true  # paths are relative to the folder of this file\n"; }

std::string layers_text(caffe::NetParameter net, const Project& project) {
  make_paths_relative(net, project.folder);
  std::string text;
  for (const caffe::LayerParameter& layer : net.layer()) text += to_compact_text("layer", layer);
  return text;
}

namespace {

/// A comma-separated list of paths, relative to the project's folder.
std::string list_from_folder(const std::string& folder, const std::string& list) {
  std::string out;
  for (const std::string& path : split(list, ',')) out += (out.empty() ? "" : ",") + path_from_folder(folder, path);
  return out;
}

}  // namespace

std::string solver_text(const Project& project, const Schedule& schedule, const Recipe& recipe,
                        const std::string& weights, const std::string& score, int64_t test_records,
                        const std::string& extra) {
  const std::string name = word_of(project.folder);
  std::string text = "# cortado train " + project.solver_path() + "\n" +
                     comments_of({schedule.choices.begin() + 1, schedule.choices.end()});
  const auto line = [&](const std::string& field, const std::string& value, const std::string& comment = "") {
    text += field + ": " + value + (comment.empty() ? "" : "  # " + comment) + "\n";
  };
  const auto number = [](float value) { return number_text("%g", double(value)); };
  const auto quoted = [](const std::string& value) {
    std::string text = "\"";
    for (const char c : value) text += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    return text + "\"";
  };
  text += relative_line();
  line("net", quoted(file_name_of(project.net_path())));
  if (!weights.empty())
    line("weights", quoted(list_from_folder(project.folder, weights)), "to start from, by layer name");
  if (recipe.type != "SGD") line("type", quoted(recipe.type));
  line("base_lr", number(schedule.base_lr));
  line("momentum", number(recipe.momentum));
  if (recipe.type.starts_with("Adam")) line("momentum2", number(recipe.momentum2));
  line("weight_decay", number(recipe.weight_decay));
  line("lr_policy", quoted("cosine"));
  line("warmup_iter", std::to_string(schedule.warmup));
  line("max_epoch", std::to_string(schedule.epochs));
  line("test_epoch", "true",
       "all " + count_text(test_records) + " test images, every " + count_text(schedule.test_interval) + " updates");
  line("test_interval", std::to_string(schedule.test_interval));
  line("test_initialization", "false");
  line("display", std::to_string(schedule.display));
  line("average_loss", std::to_string(schedule.display));
  line("snapshot", std::to_string(schedule.snapshot));
  line("snapshot_prefix", quoted("snapshots/" + name));
  line("keep_best", quoted(score), "the best weights of all tests: " + name + "_best.caffemodel");
  line("keep_last", "2");
  line("random_seed", "1");
  return text + extra;
}

std::string deploy_text(const NetFile& net, const Project& project, const std::string& output) {
  graph::DeployOptions options;
  if (!output.empty()) options.outputs = {output};
  const graph::Deployed deployed = graph::make_deploy_net(net, options);
  caffe::NetParameter relative = deployed.net;
  make_paths_relative(relative, project.folder);
  const bool has_paths = to_text(relative) != to_text(deployed.net);
  std::string text = "# Made from " + project.net_path() + ", without labels and losses.\n";
  if (deployed.net.has_name()) text += "name: \"" + deployed.net.name() + "\"\n";
  return text + (has_paths ? relative_line() : "") + layers_text(deployed.net, project);
}

int64_t try_out(const std::shared_ptr<const NetFile>& file) {
  int64_t flops = 0;
  for (const caffe::Phase phase : {caffe::TEST, caffe::TRAIN}) {
    graph::BuildOptions options;
    options.state.set_phase(phase);
    options.backward = phase == caffe::TRAIN;
    const graph::Graph graph = graph_with_shapes(file, options);
    flops = 0;
    for (const graph::Node& node : graph.nodes) flops += flops_of(graph, node);
  }
  return flops;
}

std::string describe_data(const std::string& path, int64_t classes, int64_t train, int64_t test) {
  return path + ": " + count_text(classes) + " classes, " + count_text(train) + " training images, " +
         count_text(test) + " test images";
}

}  // namespace cortado::tools
