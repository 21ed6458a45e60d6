// `cortado upgrade`: a net or a solver of any year, as today's. The content tells the kind of file, so one command does
// the work of Caffe's three.
#include "proto/upgrade/upgrade.h"

#include <iostream>

#include "core/error.h"
#include "core/files/file.h"
#include "core/files/mapped_file.h"
#include "core/log.h"
#include "proto/files/binary_net.h"
#include "proto/text/write_text.h"
#include "proto/weights/file_kind.h"
#include "tools/options/net_file.h"
#include "tools/output/output_name.h"
#include "tools/program/command.h"

namespace cortado::tools {

namespace {

struct Upgraded {
  std::string kind, content;
  bool changed = false, binary = false;
};

const std::vector<std::string>& binary_endings() {
  static const std::vector<std::string> endings = {".caffemodel", ".binaryproto", ".pb"};
  return endings;
}

/// Whether the upgrade did anything: messages that were not touched are written alike.
template <typename Message, typename Upgrade>
Upgraded upgrade_text(const char* kind, const std::string& path, const Upgrade& upgrade) {
  const std::string old = read_file(path);
  Message message;
  Positions positions = read_message_from_text(old, path, message);
  const std::string before = to_text(message);
  if (message.ByteSizeLong() == 0)
    throw file_error(ExitCode::kNet, path, old.empty() ? "the file is empty" : "there is no net and no solver in it",
                     "nothing was written");
  upgrade(message, positions);
  if (old.find('#') != std::string::npos) log_warning() << path << ": comments are not kept";
  Upgraded result{kind, to_text(message)};
  result.changed = result.content != before;
  return result;
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

Upgraded upgrade(const std::string& path) {
  const FileKind kind = kind_of_file(path);
  if (kind == FileKind::kWeights) return upgrade_binary(path);
  if (is_solver_file(path)) return upgrade_text<caffe::SolverParameter>("solver", path, upgrade_solver);
  return upgrade_text<caffe::NetParameter>("net", path, upgrade_net);
}

int run_upgrade(const Arguments& arguments) {
  const std::vector<std::string>& files = arguments.operands();
  const bool in_place = arguments.on("in-place");
  if (in_place == (files.size() == 2))
    throw usage_error(in_place ? "--in-place takes one file" : "upgrade takes IN OUT");
  const std::string& output = in_place ? files[0] : files[1];
  if (!in_place) check_may_replace(arguments, output);
  const Upgraded result = upgrade(files[0]);
  check_output_name(output, "a " + result.kind, result.binary ? binary_endings() : prototxt_endings());
  if (!result.changed) log_info() << files[0] << ": a " << result.kind << " of today's form already";
  if (output == "-") {
    std::cout << result.content;
    return 0;
  }
  write_file_atomically(output, result.content);
  log_info() << "Wrote upgraded " << result.kind << " to " << output;
  return 0;
}

}  // namespace

Command upgrade_command() {
  return {.name = "upgrade",
          .summary = "writes an old net or solver as today's",
          .flags = {{.name = "in-place", .help = "the result replaces the file"}, force_flag()},
          .operands = {"IN OUT",
                       "a net (text or binary, with its blobs) or a solver, and what to write; OUT - is stdout", 1, 2},
          .examples = {{"cortado upgrade old_train_val.prototxt train_val.prototxt",
                        "layers of 2013 and 2014, input fields, transformations in data_param"},
                       {"cortado upgrade solver.prototxt -", "solver_type: ADAM becomes type: \"Adam\""},
                       {"cortado upgrade old.caffemodel new.caffemodel", "the net and the weights in it"}},
          .run = run_upgrade,
          .about =
              "Reading upgrades by itself: this is for other programs, and for those who like to see what was meant. "
              "Fields come in Caffe's customary order. Comments are lost: a message has none. upgrade_net_proto_text, "
              "upgrade_net_proto_binary and upgrade_solver_proto_text are other names of this command."};
}

}  // namespace cortado::tools
