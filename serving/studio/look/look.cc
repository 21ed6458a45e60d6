#include "studio/look/look.h"

#include <iostream>

#include "core/text/json.h"
#include "studio/look/answer.h"
#include "studio/look/trained_net.h"
#include "tools/infer/image_input.h"
#include "tools/options/run_options.h"

namespace cortado::studio {

namespace {

int run_look(const tools::Arguments& arguments) {
  tools::CommandContext context(arguments);
  TrainedNet net(arguments, context);
  Json answer = {{"blobs", net.blobs()}, {"filters", net.filters()}, {"images", Json::array()}};
  if (!arguments.operands().empty()) {
    Answers answers(net, arguments);
    for (const std::string& path : arguments.operands()) answer["images"].push_back(answers.of(path));
    const bool is_read = !answer["images"].back().contains("error");
    if (const std::string blob = arguments.text("blob"); !blob.empty() && is_read)
      answer["activations"] = shown(blob, net.shape_of(blob), net.read(blob), Kind::kActivations);
  }
  if (const std::string layer = arguments.text("weights-of"); !layer.empty()) answer["weights"] = net.filters_of(layer);
  std::cout << dumped_json(answer) << "\n";
  return 0;
}

tools::Flag named(tools::Flag flag) {
  flag.operand = false;
  return flag;
}

tools::Flag text_flag(const char* name, const char* help) {
  return {.name = name, .kind = tools::FlagKind::kText, .value = "TEXT", .help = help};
}

}  // namespace

tools::Command look_command() {
  return {.name = "look",
          .summary = "Show the inside of a trained net, for the studio",
          .flags = tools::joined(
              {{named(tools::model_flag()), named(tools::weights_flag()), tools::set_flag(),
                text_flag("blob", "blob of the last image whose values are shown"),
                text_flag("weights-of", "layer whose weights are shown"), tools::labels_flag(), tools::top_flag(1000)},
               tools::image_input_flags(),
               tools::state_flags(),
               tools::device_flags()}),
          .operands = {"IMAGE...", "image files to run through the net", 0, kMaxLookedAt},
          .run = run_look};
}

}  // namespace cortado::studio
