// The next program takes the format of a file from its name, so a file name with the ending of another format is an
// error. Unknown endings ("net.v2") are allowed.
#include "tools/output/output_name.h"

#include <algorithm>
#include <filesystem>

#include "core/error.h"
#include "core/files/file.h"
#include "core/text/text.h"

namespace cortado::tools {

namespace {

/// Well-known endings, in addition to those of the formats that the command writes.
const std::vector<std::string> kKnown = {
    ".caffemodel", ".solverstate", ".binaryproto", ".prototxt", ".pbtxt",   ".h5",      ".hdf5",    ".safetensors",
    ".npz",        ".npy",         ".onnx",        ".pth",      ".pt",      ".ckpt",    ".pb",      ".tflite",
    ".keras",      ".mlmodel",     ".mlpackage",   ".gguf",     ".pkl",     ".pickle",  ".joblib",  ".msgpack",
    ".params",     ".pdparams",    ".torchscript", ".engine",   ".json",    ".jsonl",   ".ndjson",  ".yaml",
    ".yml",        ".xml",         ".csv",         ".tsv",      ".parquet", ".feather", ".arrow",   ".mat",
    ".txt",        ".md",          ".html",        ".pdf",      ".log",     ".svg",     ".dot",     ".gv",
    ".png",        ".jpg",         ".jpeg",        ".gif",      ".bmp",     ".tif",     ".tiff",    ".webp",
    ".ppm",        ".pgm",         ".eps",         ".ps",       ".zip",     ".gz",      ".tgz",     ".tar",
    ".bz2",        ".xz",          ".zst",         ".7z",       ".lmdb",    ".mdb",     ".leveldb", ".sqlite",
    ".tfrecord",   ".rec",         ".py",          ".ipynb"};

/// ".npz" of "Weights.NPZ"; "" if the name has no ending.
std::string ending_of(const std::string& path) {
  const std::string name = file_name_of(path);
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot == 0) return "";
  return lower_case(name.substr(dot));
}

bool has(const std::vector<std::string>& endings, const std::string& ending) {
  return std::find(endings.begin(), endings.end(), ending) != endings.end();
}

}  // namespace

std::string format_promised(const std::string& path, const std::string& what,
                            const std::vector<OutputFormat>& formats) {
  const std::string ending = ending_of(without_trailing_slashes(path));  // a folder may end in a slash
  std::string list;
  for (const OutputFormat& format : formats) {
    if (has(format.endings, ending)) return format.name;
    if (!format.endings.empty()) list += (list.empty() ? "" : ", ") + format.endings[0];
  }
  if (!has(kKnown, ending)) return "";
  throw usage_error(path + ": " + what + " cannot be written as " + ending, what + " can be written as " + list);
}

std::string format_chosen(const Arguments& arguments, const std::string& flag, const std::string& path,
                          const std::string& what, const std::vector<OutputFormat>& formats) {
  const std::string promised = format_promised(path, what, formats);
  if (!arguments.has(flag)) return promised;
  const std::string value = arguments.text(flag);
  for (const OutputFormat& format : formats)
    if (format.name == promised && value != promised && !has(format.flag_values, value))
      throw usage_error("--" + flag + "=" + value + ": " + path + " is a file name for " + promised,
                        "leave out --" + flag + ", or choose another file name");
  return value;
}

void check_output_name(const std::string& path, const std::string& what, const std::vector<std::string>& endings) {
  format_promised(path, what, {{what, endings}});
}

Flag force_flag() { return {.name = "force", .help = "replace existing files"}; }

void check_may_replace(const Arguments& arguments, const std::string& path) {
  std::error_code none;
  const auto status = std::filesystem::status(path, none);
  if (path == "-" || arguments.on("force") || !std::filesystem::exists(status) || std::filesystem::is_other(status))
    return;
  throw file_error(ExitCode::kIo, path, "exists already", "choose another name, or replace it with --force");
}

const std::vector<std::string>& prototxt_endings() {
  static const std::vector<std::string> endings = {".prototxt", ".pbtxt", ".pt", ".txt"};
  return endings;
}

}  // namespace cortado::tools
