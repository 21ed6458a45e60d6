// `cortado upgrade`: converts old nets and solvers to the current format. The kind of a file follows from its content,
// so that one command replaces Caffe's three.
#include "proto/upgrade/upgrade.h"

#include <iostream>
#include <map>

#include "core/error.h"
#include "core/files/file.h"
#include "core/files/mapped_file.h"
#include "core/log.h"
#include "proto/files/binary_net.h"
#include "proto/files/relative_paths.h"
#include "proto/text/write_text.h"
#include "proto/weights/file_kind.h"
#include "tools/options/dialect_option.h"
#include "tools/options/net_file.h"
#include "tools/options/run_options.h"
#include "tools/output/output_name.h"
#include "tools/program/command.h"

namespace cortado::tools {

namespace {

struct Upgraded {
  std::string kind, content;
  bool changed = false, binary = false;
  std::string net = {};                    ///< its name
  std::vector<LayerWeights> weights = {};  ///< in another dialect
};

const std::vector<std::string>& binary_endings() {
  static const std::vector<std::string> endings = {".caffemodel", ".binaryproto", ".pb"};
  return endings;
}

/// Upgrades a text, to be written to `output`. Sets `changed` by comparing the messages as text.
template <typename Message, typename Upgrade>
Upgraded upgrade_text(const char* kind, const std::string& path, const std::string& output, const Upgrade& upgrade) {
  const std::string old = read_file(path);
  Message message;
  Positions positions = read_message_from_text(old, path, message);
  const std::string before = to_text(message);
  if (message.ByteSizeLong() == 0)
    throw file_error(ExitCode::kNet, path,
                     old.empty() ? "the file is empty" : "the file contains neither a net nor a solver");
  upgrade(message, positions);
  if (folder_of(output) != folder_of(path)) move_paths(message, path, output);
  if (old.find('#') != std::string::npos) log_warning() << path << ": comments are not kept";
  Upgraded result{kind, to_text(message)};
  result.changed = result.content != before;
  return result;
}

/// A net as text in another dialect.
Upgraded rewrite_text(const std::string& path, dialect::Target target, const Arguments& arguments) {
  const NetFile file = read_net(path);
  dialect::Rewritten rewritten = in_dialect(arguments, target, file.net, file.net, file.positions);
  return {"net", to_text(rewritten.net), true, false, rewritten.net.name(), std::move(rewritten.weights)};
}

/// A net with its weights in another dialect.
Upgraded rewrite_binary(const std::string& path, dialect::Target target) {
  const NetFile file = read_net(path);
  dialect::Rewritten rewritten = in_dialect(target, {file.net, read_weights(path)}, file.net, file.positions);
  std::map<std::string, const LayerWeights*> by_name;
  for (const LayerWeights& layer : rewritten.weights) by_name[layer.name] = &layer;
  for (caffe::LayerParameter& layer : *rewritten.net.mutable_layer())
    if (const auto found = by_name.find(layer.name()); found != by_name.end())
      for (const BlobFile& blob : found->second->blobs) to_message(blob, *layer.add_blobs());
  return {"binary net", rewritten.net.SerializePartialAsString(), true, true};
}

Upgraded upgrade_binary(const std::string& path) {
  const MappedFile file(path);
  caffe::NetParameter net = parse_net({reinterpret_cast<const char*>(file.data()), size_t(file.size())}, path);
  Positions positions(path);
  Upgraded result{"binary net", {}};
  result.binary = true;
  const std::string before = net.SerializePartialAsString();
  upgrade_net(net, positions);
  result.content = net.SerializePartialAsString();
  result.changed = result.content != before;
  return result;
}

Upgraded rewrite_net(const std::string& path, dialect::Target target, const Arguments& arguments) {
  if (kind_of_file(path) == FileKind::kWeights) {
    if (arguments.has("weights")) throw usage_error("--weights: " + path + " has weights of its own");
    return rewrite_binary(path, target);
  }
  if (is_solver_file(path)) throw usage_error("--dialect is for nets, but " + path + " is a solver");
  return rewrite_text(path, target, arguments);
}

Upgraded upgrade(const std::string& path, const std::string& output) {
  const FileKind kind = kind_of_file(path);
  if (kind == FileKind::kWeights) return upgrade_binary(path);
  if (is_solver_file(path)) return upgrade_text<caffe::SolverParameter>("solver", path, output, upgrade_solver);
  return upgrade_text<caffe::NetParameter>("net", path, output, upgrade_net);
}

int run_upgrade(const Arguments& arguments) {
  std::vector<std::string> files = arguments.operands();
  const bool in_place = arguments.on("in-place");
  const bool names_output = arguments.has("output");
  if (size_t(in_place) + size_t(names_output) + files.size() > 2)
    throw usage_error("more than one output is named", "use one of OUT, --output and --in-place");
  if (!in_place && !names_output && files.size() < 2)
    throw usage_error("--output=FILE is required", "name the file to write, or use --in-place");
  const std::string output = in_place ? files[0] : names_output ? arguments.text("output") : files[1];
  if (!in_place) check_may_replace(arguments, output);
  const auto target = dialect_of(arguments);
  const std::string weights = target ? dialect_weights_path(arguments, output) : "";
  Upgraded result = target ? rewrite_net(files[0], *target, arguments) : upgrade(files[0], output);
  check_output_name(output, "a " + result.kind, result.binary ? binary_endings() : prototxt_endings());
  if (!result.changed) log_info() << files[0] << ": a " << result.kind << " already in the current format";
  if (output == "-") {
    std::cout << result.content;
    return 0;
  }
  if (!weights.empty())
    write_weights_as(dialect::weights_form(*target), weights, result.net, std::move(result.weights));
  write_file_atomically(output, result.content);
  log_info() << "Wrote upgraded " << result.kind << " to " << output;
  return 0;
}

}  // namespace

Command upgrade_command() {
  return {.name = "upgrade",
          .summary = "Convert an old net or solver to the current format",
          .flags = {output_flag("FILE", "the upgraded file; '-' is stdout"),
                    {.name = "in-place", .help = "replace the file itself"},
                    force_flag(),
                    dialect_flag(),
                    dialect_weights_flag()},
          .operands = {"IN [OUT]", "a net (text or binary, with its blobs) or a solver", 1, 2},
          .examples = {{"cortado upgrade old_train_val.prototxt train_val.prototxt",
                        "layers of 2013 and 2014, input fields, transformations in data_param"},
                       {"cortado upgrade solver.prototxt -", "solver_type: ADAM becomes type: \"Adam\""},
                       {"cortado upgrade old.caffemodel new.caffemodel", "the net and its weights"},
                       {"cortado upgrade net.prototxt classic.prototxt --dialect=bvlc --weights=net.caffemodel",
                        "for BVLC Caffe 1.0, with classic.caffemodel"}},
          .run = run_upgrade,
          .about =
              "Other commands upgrade files when they read them: this one is for other programs, and to see the "
              "result. Comments are not kept. Also called upgrade_net_proto_text, upgrade_net_proto_binary and "
              "upgrade_solver_proto_text."};
}

}  // namespace cortado::tools
