// A symlink with the name of one of Caffe's programs takes that program's arguments. Most of these are the arguments of
// a command here; for the others operands are translated.
#include "tools/program/caffe_names.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/files/file.h"
#include "tools/options/flags.h"
#include "tools/options/run_options.h"

namespace cortado::tools {

namespace {

constexpr std::array kNames = {"caffe",
                               "convert_imageset",
                               "convert_annoset",
                               "convert_mnist_data",
                               "compute_image_mean",
                               "extract_features",
                               "convert_cifar_data",
                               "classification",
                               "draw_net",
                               "draw_net.py"};
constexpr std::array kRetired = {"train_net", "finetune_net", "test_net", "net_speed_benchmark", "device_query"};

using Words = std::vector<std::string>;
using Lines = std::vector<Words>;

Lines after(Words command, const Words& words) {
  command.insert(command.end(), words.begin(), words.end());
  return {command};
}

bool wants_help(const Words& words) {
  return std::any_of(words.begin(), words.end(),
                     [](const std::string& word) { return word == "-h" || word == "-help" || word == "--help"; });
}

/// `-gpu N` in any spelling, as a preference: scripts then run without a GPU, as solvers with solver_mode GPU do.
Words with_preferred_gpu(Words words) {
  for (std::string& word : words)
    for (const char* spelling : {"-gpu", "--gpu"})
      if (word.substr(0, word.find('=')) == spelling) {
        word.replace(0, std::strlen(spelling), std::string("--") + kPreferredGpu);
        break;
      }
  return words;
}

/// Flags of glog and gflags that are ignored here, such as those of `VLOG` and of log files.
constexpr std::array kIgnoredOfGlog = {
    "v",        "vmodule",      "logbufsecs",       "logbuflevel",      "log-prefix",
    "log-link", "max-log-size", "log-backtrace-at", "colorlogtostderr", "stop-logging-if-full-disk"};
/// The switches among them, whose value follows "=" only.
constexpr std::array kSwitchesOfGlog = {"log-prefix", "colorlogtostderr", "stop-logging-if-full-disk"};

bool is_among(const auto& names, const std::string& name) { return std::ranges::find(names, name) != names.end(); }

/// "max-log-size" of "--max_log_size=3"; "" if the word is not a flag.
std::string flag_in(const std::string& word) {
  if (!word.starts_with('-')) return "";
  std::string name = word.substr(word.starts_with("--") ? 2 : 1);
  name.resize(std::min(name.find('='), name.size()));
  std::ranges::replace(name, '_', '-');
  return name;
}

Words without_glogs_flags(const Words& words) {
  Words out;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string name = flag_in(words[i]), positive = name.starts_with("no") ? name.substr(2) : name;
    const bool is_switch = is_among(kSwitchesOfGlog, positive);
    if (!is_switch && !is_among(kIgnoredOfGlog, name))
      out.push_back(words[i]);
    else if (!is_switch && words[i].find('=') == std::string::npos)
      ++i;  // skip its value
  }
  return out;
}

/// `caffe test` tests 50 batches by default, and reports in the log alone.
void complete_test(Words& words) {
  const auto is_one_of = [](auto... names) {
    return [=](const std::string& word) { return ((word == names) || ...); };
  };
  if (std::ranges::none_of(words, is_one_of("test")) ||
      std::ranges::any_of(words, is_one_of("train", "time", "device_query")))
    return;
  words.push_back(std::string("--") + kLogOnly);
  if (std::ranges::none_of(words, [](const std::string& word) { return flag_in(word) == "iterations"; }))
    words.push_back("--iterations=50");
}

Lines caffe(Words words) {
  complete_test(words);
  const auto query = std::find(words.begin(), words.end(), "device_query");
  if (query == words.end()) return {with_preferred_gpu(std::move(words))};
  *query = "devices";
  return {words};
}

/// INPUT_FOLDER OUTPUT_FOLDER DB_TYPE. The five training batches become one database, the test batch another.
Lines convert_cifar_data(const Words& words) {
  if (words.size() != 3) throw usage_error("usage: convert_cifar_data INPUT_FOLDER OUTPUT_FOLDER lmdb");
  const auto line = [&words](const std::string& part, const Words& batches) {
    Words out = {"convert", "cifar"};
    for (const std::string& batch : batches) out.push_back(words[0] + "/" + batch + ".bin");
    out.push_back("--output=" + words[1] + "/cifar10_" + part + "_" + words[2]);
    out.push_back("--backend=" + words[2]);
    return out;
  };
  return {line("train", {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5"}),
          line("test", {"test_batch"})};
}

/// DEPLOY WEIGHTS MEAN LABELS IMAGE.
Lines classification(const Words& words) {
  if (words.size() != 5)
    throw usage_error("usage: classification deploy.prototxt network.caffemodel mean.binaryproto labels.txt image");
  return {{"classify", "--model=" + words[0], "--weights=" + words[1], "--mean=" + words[2], "--labels=" + words[3],
           "--like=none", words[4]}};
}

/// INPUT OUTPUT [--rankdir DIR] [--phase TRAIN|TEST|ALL] [--display_lrm]: left to right by default.
Lines draw_net(const Words& words) {
  Words out = {"draw", "--force"};
  bool direction = false;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    direction = direction || word.rfind("--rankdir", 0) == 0;
    if (word == "--display_lrm" || word == "--phase=ALL") continue;
    if (word == "--phase" && i + 1 < words.size() && words[i + 1] == "ALL")
      ++i;
    else
      out.push_back(word);
  }
  if (!direction) out.push_back("--rankdir=LR");
  return {out};
}

/// Throws an error that names the replacement of a program that Caffe itself removed.
[[noreturn]] void refuse_old(const std::string& name, const Words& words) {
  const auto word = [&words](size_t i, const char* otherwise) { return i < words.size() ? words[i] : otherwise; };
  std::string now = "cortado devices";
  if (name == "train_net") {
    now = "cortado train --solver=" + word(0, "SOLVER");
    if (words.size() > 1) now += " --snapshot=" + words[1];
  } else if (name == "finetune_net") {
    now = "cortado train --solver=" + word(0, "SOLVER") + " --weights=" + word(1, "WEIGHTS");
  } else if (name == "test_net") {
    now = "cortado test --model=" + word(0, "NET") + " --weights=" + word(1, "WEIGHTS") +
          " --iterations=" + word(2, "50");
  } else if (name == "net_speed_benchmark") {
    now = "cortado time --model=" + word(0, "NET") + " --iterations=" + word(1, "50");
  }
  throw usage_error(name + " was removed", "use: " + now);
}

}  // namespace

std::string caffe_name_of(const std::string& program) {
  std::string name = file_name_of(program);
  if (name.ends_with(".bin")) name.resize(name.size() - 4);
  const bool upgrades = name.starts_with("upgrade_") && name.find("_proto_") != std::string::npos;
  return upgrades || is_among(kNames, name) || is_among(kRetired, name) ? name : "";
}

Lines translate_caffe_call(const std::string& program, Words words) {
  const std::string name = caffe_name_of(program);
  if (name.empty()) return {words};
  words = without_glogs_flags(words);
  if (name == "caffe") return caffe(std::move(words));
  if (name == "convert_imageset") return after({"convert", "imageset"}, words);
  if (name == "convert_annoset") return after({"convert", "annoset"}, words);
  if (name == "convert_mnist_data") return after({"convert", "idx"}, words);
  if (name == "compute_image_mean")
    return after({"mean", "--force"}, words);  // Caffe's program replaces existing files
  if (name == "extract_features") return after({"features"}, with_preferred_gpu(words));
  if (name.starts_with("upgrade_") && name.find("_proto_") != std::string::npos)
    return after({"upgrade", "--force"}, words);
  if (name == "convert_cifar_data")
    return wants_help(words) ? Lines{{"convert", "cifar", "--help"}} : convert_cifar_data(words);
  if (name == "classification") return wants_help(words) ? Lines{{"classify", "--help"}} : classification(words);
  if (name == "draw_net" || name == "draw_net.py") return draw_net(words);
  refuse_old(name, words);
}

}  // namespace cortado::tools
