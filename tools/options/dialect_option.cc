#include "tools/options/dialect_option.h"

#include <filesystem>

#include "core/log.h"
#include "tools/options/run_options.h"
#include "tools/output/output_name.h"

namespace cortado::tools {

Flag dialect_flag() {
  return {.name = "dialect",
          .kind = FlagKind::kText,
          .value = "NAME",
          .help =
              "write the net for another fork of Caffe, and for programs that read its language: BVLC Caffe 1.0, "
              "SSD's fork, NVIDIA Caffe 0.17",
          .fallback = "own",
          .choices = dialect::target_names()};
}

Flag dialect_weights_flag() {
  Flag flag = weights_flag();
  flag.operand = false;
  return with_note(flag, "with --dialect; the weights of the new net go next to it, to NET.caffemodel");
}

std::optional<dialect::Target> dialect_of(const Arguments& arguments) {
  const auto target = dialect::target_named(arguments.text("dialect"));
  if (!target && arguments.has("weights"))
    throw usage_error("--weights requires --dialect", "a net of the same dialect has the same weights");
  return target;
}

dialect::Rewritten in_dialect(dialect::Target target, dialect::Subject subject, const caffe::NetParameter& source,
                              const Positions& positions) {
  const caffe::NetParameter net = subject.net;
  const auto place_of = [&](int index, const std::string& field) {
    for (int i = 0; i < source.layer_size(); ++i)
      if (source.layer(i).name() == net.layer(index).name())
        return positions.place("layer[" + std::to_string(i) + "]." + field);
    return positions.place("");
  };
  dialect::Rewritten result = dialect::rewrite(std::move(subject), target, place_of);
  for (const std::string& warning : result.warnings) log_warning() << warning;
  log_info() << result.rewritten << " layers rewritten for " << dialect::title_of(target);
  return result;
}

dialect::Rewritten in_dialect(const Arguments& arguments, dialect::Target target, caffe::NetParameter net,
                              const caffe::NetParameter& source, const Positions& positions) {
  dialect::Subject subject{std::move(net), {}, arguments.has("weights")};
  for (const std::string& path : arguments.texts("weights"))
    for (LayerWeights& layer : read_weights(path)) subject.weights.push_back(std::move(layer));
  return in_dialect(target, std::move(subject), source, positions);
}

std::string dialect_weights_path(const Arguments& arguments, const std::string& net) {
  if (!arguments.has("weights")) return "";
  if (net == "-") throw usage_error("--weights requires an output file", "name the net's file: -o NET.prototxt");
  const std::string path = std::filesystem::path(net).replace_extension(".caffemodel").string();
  check_may_replace(arguments, path);
  return path;
}

}  // namespace cortado::tools
