#include "tools/options/inference_net.h"

#include "core/log.h"
#include "graph/deploy.h"
#include "net/inputs.h"
#include "proto/text/write_text.h"
#include "tools/options/net_file.h"
#include "tools/options/run_options.h"
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

InferenceNet open_inference_net(const Arguments& arguments) {
  std::shared_ptr<const NetFile> file = open_model(arguments);
  graph::DeployOptions options;
  options.state = state_of(arguments, caffe::TEST);
  if (!declared_inputs(*file, options.state).empty()) return {file};
  const graph::Deployed deployed = graph::make_deploy_net(*file, options);
  for (const std::string& note : deployed.notes) log_info() << note;
  return {std::make_shared<const NetFile>(read_net_from_text(to_text(deployed.net), file->positions.file())), file};
}

}  // namespace cortado::tools
