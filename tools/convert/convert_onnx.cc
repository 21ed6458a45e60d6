// ONNX models of nets, and nets of models. This program knows nothing of ONNX: it says what is wanted to the one that
// does. The output's name tells which way it goes.
#include <stdexcept>

#include "core/error.h"
#include "core/files/file.h"
#include "core/process/program_path.h"
#include "core/shape.h"
#include "formats/helper_process.h"
#include "proto/weights/onnx_file.h"
#include "tools/convert/convert.h"
#include "tools/options/run_options.h"
#include "tools/output/output_name.h"

namespace cortado::tools {

namespace {

constexpr const char* kProgram = "cortado-onnx";

/// The flags that were given, of these, as the other program takes them.
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

std::vector<std::string> words_to_import(const Arguments& arguments, const std::vector<std::string>& files,
                                         const std::string& output) {
  check_output_name(output, "a net", prototxt_endings());
  const std::string weights = arguments.text("weights");
  for (const char* flag : {"outputs", "fold", "opencv", "like", "rgb", "level", "stage"})
    if (arguments.has(flag))
      throw usage_error(std::string("--") + flag + " is for models that are written, and this one is read");
  if (files.size() != 1) throw usage_error("convert onnx MODEL takes one model");
  if (weights.empty())
    throw usage_error("--weights=FILE is required", "the model's weights go there: --weights=net.caffemodel");
  check_output_name(weights, "weights", {".caffemodel"});
  check_may_replace(arguments, weights);
  std::vector<std::string> words = {"import", files[0], "--output=" + output, "--weights=" + weights};
  shapes_from_text(arguments.each("shape"));  // what is wrong with them is found here
  for (const std::string& shape : arguments.each("shape")) words.push_back("--shape=" + shape);
  return words;
}

std::vector<std::string> words_to_export(const Arguments& arguments, const std::vector<std::string>& files,
                                         const std::string& output) {
  check_output_name(output, "a model", {".onnx"});
  if (arguments.has("shape")) throw usage_error("--shape is for models that are read, and this one is written");
  std::vector<std::string> words = {"export", files[0], "--output=" + output};
  for (size_t i = 1; i < files.size(); ++i) words.push_back("--weights=" + files[i]);
  if (arguments.on("rgb") && !arguments.has("like"))
    throw usage_error("--rgb goes with --like=NET", "that net's data layer says how pixels are prepared");
  pass_on(arguments, {"weights", "outputs", "level", "stage", "fold", "opencv", "like", "rgb"}, words);
  return words;
}

/// Whether a net is to be made of a model: the output's name says so, or else the input's content.
bool makes_net(const std::string& input, const std::string& output) {
  for (const std::string& ending : prototxt_endings())
    if (output.ends_with(ending)) return true;
  return !output.ends_with(".onnx") && is_onnx_file(input);
}

}  // namespace

int convert_onnx(const Arguments& arguments, const std::vector<std::string>& files) {
  const std::string output = arguments.text("output");
  if (files.empty())
    throw usage_error("convert onnx takes NET WEIGHTS -o MODEL.onnx, or MODEL.onnx -o NET --weights=OUT");
  if (output.empty())
    throw usage_error("--output=FILE is missing", "a .onnx file, or a prototxt where the input is one");
  if (!file_exists(files[0])) throw file_error(ExitCode::kIo, files[0], "cannot read: there is no such file");
  if (companion_path(kProgram).empty())
    throw Error(ExitCode::kUsage, "this program was built without ONNX: there is no cortado-onnx beside it",
                "apt install libonnx-dev, then cmake --preset release && cmake --build build");
  std::vector<std::string> words = makes_net(files[0], output) ? words_to_import(arguments, files, output)
                                                               : words_to_export(arguments, files, output);
  check_may_replace(arguments, output);
  if (arguments.on("quiet")) words.push_back("--quiet");
  try {
    return run_helper(kProgram, words);
  } catch (const std::runtime_error& error) {
    throw file_error(ExitCode::kNet, files[0], error.what());
  }
}

std::vector<Flag> onnx_flags() {
  const std::vector<Flag> flags = {
      {.name = "weights",
       .kind = FlagKind::kText,
       .value = "FILE",
       .help = "of the net; where a model is read, the .caffemodel to write"},
      {.name = "outputs",
       .kind = FlagKind::kText,
       .value = "BLOB,...",
       .help = "where the model ends; by default as `cortado deploy` has it"},
      {.name = "shape",
       .kind = FlagKind::kText,
       .value = "1,C,H,W",
       .help = "of an input whose extents a model leaves open; NAME=1,C,H,W, once for each, where there are "
               "several"},
      {.name = "fold", .help = "normalisations and scales go into the filters before them"},
      {.name = "opencv", .help = "for OpenCV's dnn (4.6), which does not know all operators of opset 17"},
      {.name = "like",
       .kind = FlagKind::kText,
       .value = "NET",
       .help = "the model takes pixels from 0 to 255, and does to them what this net's data layer does: mean and "
               "scale"},
      {.name = "rgb", .help = "with --like, pixels come as red, green, blue, not as blue, green, red"}};
  return joined({flags, state_flags()});
}

}  // namespace cortado::tools
