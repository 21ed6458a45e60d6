// `cortado convert onnx`: exports nets as ONNX models, and imports models as nets. Runs the program cortado-onnx. The
// output's name selects the direction.
#include <filesystem>
#include <stdexcept>

#include "core/error.h"
#include "core/files/file.h"
#include "core/log.h"
#include "core/process/program_path.h"
#include "core/shape.h"
#include "formats/helper_process.h"
#include "graph/deploy.h"
#include "proto/text/write_text.h"
#include "proto/weights/onnx_file.h"
#include "tools/convert/convert.h"
#include "tools/convert/verify_onnx.h"
#include "tools/infer/image_input.h"
#include "tools/options/dialect_option.h"
#include "tools/options/net_file.h"
#include "tools/options/run_options.h"
#include "tools/output/output_name.h"

namespace cortado::tools {

namespace {

constexpr const char* kProgram = "cortado-onnx";

/// Appends the given flags of `names`, as cortado-onnx spells them.
void pass_on(const Arguments& arguments, const std::vector<std::string>& names, std::vector<std::string>& words) {
  for (const std::string& name : names) {
    if (arguments.kind(name) == FlagKind::kSwitch) {
      if (arguments.on(name)) words.push_back("--" + name);
    } else if (arguments.kind(name) == FlagKind::kInteger) {
      if (arguments.has(name)) words.push_back("--" + name + "=" + std::to_string(arguments.integer(name)));
    } else {
      for (const std::string& value : arguments.texts(name)) words.push_back("--" + name + "=" + value);
    }
  }
}

void pass_on_shapes(const Arguments& arguments, std::vector<std::string>& words) {
  shapes_from_text(arguments.each("shape"));  // reports errors in them
  for (const std::string& shape : arguments.each("shape")) words.push_back("--shape=" + shape);
}

/// The weights file of an imported net: NET.caffemodel for NET.prototxt.
std::string weights_beside(const Arguments& arguments, const std::string& net) {
  const std::string named = arguments.text("weights");
  if (!named.empty()) {
    log_warning() << "--weights as an output is deprecated: the weights go next to the net that -o names";
    return named;
  }
  return std::filesystem::path(net).replace_extension(".caffemodel").string();
}

std::vector<std::string> words_to_import(const Arguments& arguments, const std::vector<std::string>& files,
                                         const std::string& output) {
  check_output_name(output, "a net", prototxt_endings());
  for (const char* flag : {"blobs", "fold", "for", "half", "int8", "opencv", "like", "rgb", "level", "stage", "set"})
    if (arguments.has(flag))
      throw usage_error(std::string("--") + flag + " is for exporting a model, but " + files[0] + " is imported");
  if (files.size() != 1) throw usage_error("unexpected argument '" + files[1] + "'");
  const std::string weights = weights_beside(arguments, output);
  check_output_name(weights, "weights", {".caffemodel"});
  check_may_replace(arguments, weights);
  std::vector<std::string> words = {"import", files[0], "--output=" + output, "--weights=" + weights};
  if (arguments.has("dialect")) words.push_back("--dialect=" + arguments.text("dialect"));
  pass_on_shapes(arguments, words);
  if (arguments.integer("batch") > 0) words.push_back("--batch=" + std::to_string(arguments.integer("batch")));
  return words;
}

std::vector<std::string> words_to_export(const Arguments& arguments, const std::vector<std::string>& files,
                                         const std::string& output) {
  check_output_name(output, "a model", {".onnx"});
  for (const char* flag : {"batch", "dialect"})
    if (arguments.has(flag)) throw usage_error(std::string("--") + flag + " is for importing a model only");
  std::vector<std::string> words = {"export", files[0], "--output=" + output};
  for (size_t i = 1; i < files.size(); ++i) words.push_back("--weights=" + files[i]);
  if (arguments.on("rgb") && !arguments.has("like"))
    throw usage_error("--rgb requires --like=NET", "add --like with the net whose data layer prepares pixels");
  for (const std::string& blob : arguments.texts("blobs")) words.push_back("--outputs=" + blob);
  pass_on_shapes(arguments, words);
  const Overrides overrides = overrides_of(arguments);
  for (const std::string& text : overrides.texts()) words.push_back("--set=" + text);
  pass_on(arguments, {"weights", "level", "stage", "fold", "for", "half", "int8", "like", "rgb"}, words);
  if (arguments.on("int8") && arguments.has("half")) throw usage_error("--int8 and --half exclude each other");
  if (arguments.on("opencv")) {
    if (arguments.has("for")) throw usage_error("--opencv is --for=opencv4, but --for is set as well");
    log_warning() << "--opencv is deprecated: use --for=opencv4";
    words.push_back("--for=opencv4");
  }
  return words;
}

/// Both sides of a conversion, for verify_conversion().
ConvertedPair converted_pair(const Arguments& arguments, const std::string& output, bool imports) {
  ConvertedPair pair;
  pair.state = state_of(arguments, caffe::TEST);
  const std::string& file = arguments.operands()[0];
  if (imports) {
    pair.net = open_net(output);
    pair.model = file;
    const std::string weights = weights_beside(arguments, output);
    if (file_exists(weights)) pair.weights = {weights};
    return pair;
  }
  graph::DeployOptions options;
  options.state = pair.state;
  options.outputs = arguments.texts("blobs");
  options.shapes = shapes_from_text(arguments.each("shape"));
  const graph::Deployed deployed = graph::make_deploy_net(*open_net(file, overrides_of(arguments)), options);
  pair.net = std::make_shared<const NetFile>(read_net_from_text(to_text(deployed.net), file));
  pair.model = output;
  pair.weights.assign(arguments.operands().begin() + 1, arguments.operands().end());
  for (const std::string& weights : arguments.texts("weights")) pair.weights.push_back(weights);
  return pair;
}

int verify(const Arguments& arguments, const std::string& output, bool imports) {
  VerifyOptions options{.tolerance = arguments.number("tolerance"),
                        .inputs = arguments.each("input"),
                        .python = arguments.text("python")};
  return verify_conversion(converted_pair(arguments, output, imports), options);
}

void check_verify_flags(const Arguments& arguments) {
  if (!arguments.on("verify")) {
    for (const char* flag : {"tolerance", "input", "python"})
      if (arguments.has(flag)) throw usage_error(std::string("--") + flag + " requires --verify");
  } else if (arguments.has("like")) {
    throw usage_error("--verify cannot be combined with --like: the model reads pixels, the net does not",
                      "verify a model without --like");
  }
}

/// Whether to import a model as a net, by the output's name or else by the input's content.
bool makes_net(const std::string& input, const std::string& output) {
  for (const std::string& ending : prototxt_endings())
    if (output.ends_with(ending)) return true;
  return !output.ends_with(".onnx") && is_onnx_file(input);
}

int run_convert_onnx(const Arguments& arguments) {
  const std::vector<std::string>& files = arguments.operands();
  const std::string output = arguments.text("output");
  if (output.empty())
    throw usage_error("--output=FILE is required", "name a .onnx file, or a prototxt to import a model");
  if (!file_exists(files[0])) throw file_error(ExitCode::kIo, files[0], "cannot read: the file does not exist");
  if (companion_path(kProgram).empty())
    throw Error(ExitCode::kUsage, "this build has no ONNX support: cortado-onnx is missing",
                "apt install libonnx-dev, then cmake --preset release && cmake --build build");
  check_verify_flags(arguments);
  const bool imports = makes_net(files[0], output);
  std::vector<std::string> words =
      imports ? words_to_import(arguments, files, output) : words_to_export(arguments, files, output);
  check_may_replace(arguments, output);
  if (arguments.on("quiet")) words.push_back("--quiet");
  try {
    const int code = run_helper(kProgram, words);
    if (code != 0 || !arguments.on("verify")) return code;
  } catch (const std::runtime_error& error) {
    throw file_error(ExitCode::kNet, files[0], error.what());
  }
  return verify(arguments, output, imports);
}

}  // namespace

Command convert_onnx_command() {
  Flag weights = weights_flag();
  weights.operand = false;  // operands after the net are weights
  Flag blobs = blobs_flag("to export; by default the outputs that `cortado deploy` keeps");
  blobs.former = {"outputs"};
  return {
      .name = "convert onnx",
      .summary = "Export a net as an ONNX model, or import a model as a net",
      .flags = joined({{output_flag("FILE", "MODEL.onnx; or NET.prototxt, and NET.caffemodel with the weights"),
                        force_flag(),
                        weights,
                        blobs,
                        shape_flag(),
                        with_note(set_flag(), "of the net to export"),
                        batch_flag(),
                        dialect_flag(),
                        {.name = "fold", .help = "fold normalisations and scales into the filters before them"},
                        {.name = "for",
                         .kind = FlagKind::kText,
                         .value = "PROGRAM",
                         .help = "the program that will run the model: avoid what it does not support, where possible",
                         .choices = {"onnxruntime", "opencv5", "opencv4", "tensorrt"}},
                        with_note(half_flag(), "'all' also computes on them"),
                        {.name = "int8", .help = "8-bit integers, of a net from `cortado quantize`; folds like --fold"},
                        {.name = "opencv", .help = "former spelling of --for=opencv4", .rank = FlagRank::kHidden},
                        with_note(like_flag(), "the model then reads pixels from 0 to 255"),
                        {.name = "rgb", .help = "with --like, the model's input is in the order red, green, blue"},
                        {.name = "verify", .help = "run net and model on the same inputs; exit with 1 if they differ"},
                        {.name = "tolerance",
                         .kind = FlagKind::kNumber,
                         .value = "SHARE",
                         .help = "largest difference, as a share of an output's largest value",
                         .fallback = "1e-4"},
                        with_note(input_flag(), "with --verify; random by default"),
                        {.name = "python",
                         .kind = FlagKind::kText,
                         .value = "FILE",
                         .help = "the Python that has onnxruntime, for --verify; by default python3"}},
                       state_flags()}),
      .operands = {"NET|MODEL [WEIGHTS...]", "the net to export and its weights, or the model to import", 1, 100},
      .examples = {{"cortado convert onnx deploy.prototxt net.caffemodel -o net.onnx", "a model for other programs"},
                   {"cortado convert onnx train_val.prototxt net.caffemodel -o net.onnx --fold "
                    "--like=train_val.prototxt",
                    "the deploy net, smaller, with mean and scale inside"},
                   {"cortado convert onnx ssd.prototxt ssd.caffemodel -o ssd.onnx --blobs=mbox_loc,mbox_conf_flatten",
                    "up to the layers before DetectionOutput, for programs without NonMaxSuppression"},
                   {"cortado convert onnx deploy.prototxt net.caffemodel -o net.onnx --verify",
                    "compare the results with ONNX Runtime's"},
                   {"cortado convert onnx model.onnx -o net.prototxt", "net.prototxt and net.caffemodel of a model"},
                   {"cortado convert onnx model.onnx -o net.prototxt --dialect=bvlc", "the same for BVLC Caffe 1.0"}},
      .run = run_convert_onnx,
      .about = "docs/onnx.md lists the layers and operators that nets and models have in common."};
}

}  // namespace cortado::tools
