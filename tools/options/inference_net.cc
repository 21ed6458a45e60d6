#include "tools/options/inference_net.h"

#include "core/log.h"
#include "net/inputs.h"
#include "proto/text/write_text.h"
#include "proto/weights/onnx_file.h"
#include "tools/options/net_file.h"
#include "tools/options/run_options.h"
#include "tools/runs/kept_data.h"
#include "tools/runs/run_folder.h"

namespace cortado::tools {

namespace {

bool is_net_or_run(const std::string& word) {
  for (const char* ending : {".prototxt", ".pbtxt", ".onnx"})
    if (word.ends_with(ending)) return true;
  return runs::is_run(word);
}

}  // namespace

std::vector<Flag> trained_net_flags(bool operands) {
  Flag model = with_note(model_flag(), "or a run's folder, for its net and weights");
  model.value = "NET|RUN";
  model.unless = "run";
  if (operands) model.accepts = is_net_or_run;
  return {model,
          weights_flag(),
          shape_flag(),
          {.name = "run",
           .kind = FlagKind::kText,
           .value = "FOLDER",
           .help = "a training run's folder",
           .note = "its net, and its best or newest weights"}};
}

graph::DeployOptions deploy_options(const Arguments& arguments) {
  graph::DeployOptions options;
  options.state = state_of(arguments, caffe::TEST);
  if (is_onnx_file(arguments.text("model"))) return options;  // --shape sets the model's open extents
  if (arguments.knows("shape")) options.shapes = shapes_from_text(arguments.each("shape"));
  options.trained = runs::kept_shapes(arguments.text("model"));
  return options;
}

InferenceNet open_inference_net(const Arguments& arguments) {
  const std::string model = arguments.text("model");
  const graph::DeployOptions options = deploy_options(arguments);
  const auto file = options.shapes.empty() ? open_model(arguments) : open_net(model, overrides_of(arguments));
  if (!declared_inputs(*file, options.state).empty()) return {options.shapes.empty() ? file : open_model(arguments)};
  const graph::Deployed deployed = graph::make_deploy_net(*file, options);
  for (const std::string& note : deployed.notes) log_info() << note;
  return {std::make_shared<const NetFile>(read_net_from_text(to_text(deployed.net), file->positions.file())), file};
}

}  // namespace cortado::tools
