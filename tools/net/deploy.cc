// `cortado deploy`: converts a training net to a net for inference. Builds the result before writing it, so that it is
// valid.
#include "graph/deploy.h"

#include <iostream>

#include "core/files/file.h"
#include "core/log.h"
#include "core/shape.h"
#include "proto/text/write_text.h"
#include "proto/weights/onnx_file.h"
#include "tools/options/dialect_option.h"
#include "tools/options/inference_net.h"
#include "tools/options/net_file.h"
#include "tools/options/run_options.h"
#include "tools/output/output_name.h"
#include "tools/program/command.h"

namespace cortado::tools {

namespace {

std::string quoted_names(const std::vector<std::string>& names, const graph::Graph& graph) {
  std::string text;
  for (const std::string& name : names) {
    const graph::Value& value = graph.value(graph.names.at(name));
    text += (text.empty() ? "" : ", ") + name + " " + value.shape.str();
  }
  return text;
}

/// Describes the inputs and outputs. Throws Error if the net does not build.
std::string describe_deployed(const std::string& text, const std::string& name, const graph::Deployed& deployed) {
  graph::BuildOptions options;
  options.state.set_phase(caffe::TEST);
  options.backward = false;
  const auto file = std::make_shared<NetFile>(read_net_from_text(text, name));
  const graph::Graph graph = graph_with_shapes(file, options);
  return std::to_string(deployed.net.layer_size()) + " layers, " + quoted_names(deployed.inputs, graph) + " in, " +
         quoted_names(deployed.outputs, graph) + " out";
}

int run_deploy(const Arguments& arguments) {
  const std::string model = arguments.text("model"), output = arguments.text("output");
  check_output_name(output, "a net", prototxt_endings());
  graph::DeployOptions options = deploy_options(arguments);
  options.outputs = arguments.texts("blobs");
  const auto target = dialect_of(arguments);
  const std::string weights = target ? dialect_weights_path(arguments, output) : "";
  const auto file = is_onnx_file(model) ? open_model(arguments) : open_net(model, overrides_of(arguments));
  graph::Deployed deployed = graph::make_deploy_net(*file, options);
  dialect::Rewritten rewritten;
  if (target) {
    rewritten = in_dialect(arguments, *target, std::move(deployed.net), file->net, file->positions);
    deployed.net = std::move(rewritten.net);
  }
  const std::string text = "# Made from " + file_name_of(model) + " by `cortado deploy`, without labels and losses.\n" +
                           to_text(deployed.net);
  const std::string summary = describe_deployed(text, output == "-" ? "the deploy net" : output, deployed);
  for (const std::string& note : deployed.notes) log_info() << note;
  if (!file_exists(output) || read_file(output) != text) check_may_replace(arguments, output);
  if (!weights.empty())
    write_weights_as(dialect::weights_form(*target), weights, deployed.net.name(), std::move(rewritten.weights));
  if (output == "-")
    std::cout << text;
  else
    write_file_atomically(output, text);
  log_info() << (output == "-" ? "the deploy net" : output) << ": " << summary;
  return 0;
}

}  // namespace

Command deploy_command() {
  Flag output = output_flag("FILE", "the deploy net's prototxt; '-' is stdout");
  output.fallback = "-";
  Flag blobs = blobs_flag("to be outputs; by default what losses compare with labels");
  blobs.former = {"blob"};
  return {
      .name = "deploy",
      .summary = "Make a deploy net from a net for training",
      .flags = joined({{model_flag(), output, force_flag(), shape_flag(), blobs, set_flag(), layer_flag(),
                        dialect_flag(), dialect_weights_flag()},
                       state_flags()}),
      .examples = {{"cortado deploy train_val.prototxt -o deploy.prototxt", "the net of its TEST phase"},
                   {"cortado deploy train_val.prototxt -o deploy.prototxt --shape=1,3,224,224",
                    "without access to the dataset"},
                   {"cortado deploy train_val.prototxt -o classic.prototxt --dialect=bvlc --weights=net.caffemodel",
                    "for BVLC Caffe 1.0, with classic.caffemodel"},
                   {"cortado deploy train_val.prototxt --blobs=fc7", "up to an inner layer, on stdout"}},
      .run = run_deploy,
      .about =
          "Data layers become Input layers of one sample; constants of DummyData stay. Labels, losses, scores and "
          "unused layers are removed. SoftmaxWithLoss becomes Softmax, SigmoidCrossEntropyLoss Sigmoid; predictions of "
          "other losses stay as they are. Of several losses on the same labels the one with the largest weight is "
          "kept, and the last of equal ones. Layers keep their names, so trained weights fit. Rates, fillers and phase "
          "rules are left out."};
}

}  // namespace cortado::tools
