// `cortado infer`: runs NumPy files through a net, once or for each line of a list. Any blob can be an output; layers
// that no output needs are not run.
#include <iostream>
#include <map>
#include <optional>
#include <sstream>

#include "core/files/file.h"
#include "core/log.h"
#include "formats/npy.h"
#include "net/inputs.h"
#include "tools/net/frozen_net.h"
#include "tools/options/net_file.h"
#include "tools/options/run_options.h"
#include "tools/output/output_name.h"
#include "tools/output/terminal.h"
#include "tools/program/command.h"
#include "tools/program/failure.h"

namespace cortado::tools {

namespace {

struct NamedFile {
  std::string blob, path;
};

/// "blob=file", or a file alone, with "" for the only blob.
std::vector<NamedFile> named_files(const std::vector<std::string>& texts) {
  std::vector<NamedFile> out;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos)
      out.push_back({"", text});
    else
      out.push_back({text.substr(0, equals), text.substr(equals + 1)});
    if (out.back().path.empty()) throw usage_error("'" + text + "': must be BLOB=FILE.npy");
  }
  return out;
}

std::string listed_blobs(const std::map<std::string, Shape>& blobs) {
  std::string out;
  for (const auto& [name, shape] : blobs) out += (out.empty() ? "" : ", ") + ("'" + name + "'");
  return out.empty() ? "none" : out;
}

Arrays read_inputs(const std::vector<NamedFile>& files, const std::map<std::string, Shape>& declared) {
  Arrays arrays;
  for (NamedFile file : files) {
    if (file.blob.empty() && declared.size() == 1) file.blob = declared.begin()->first;
    const auto found = declared.find(file.blob);
    if (found == declared.end())
      throw usage_error(
          "--input=" + (file.blob.empty() ? "" : file.blob + "=") + file.path + ": " +
              (file.blob.empty() ? "the input's name is required" : "the net has no input '" + file.blob + "'"),
          "the net's inputs: " + listed_blobs(declared));
    NpyArray array = read_npy(file.path);
    check_input_shape(file.path, file.blob, array.shape, found->second);
    arrays[file.blob] = {array.shape, std::move(array.values)};
  }
  if (arrays.empty() && !declared.empty())  // the predictor reports other missing inputs: not all may be needed
    throw usage_error("--input=" + declared.begin()->first + "=FILE.npy is required",
                      "the net's inputs: " + listed_blobs(declared));
  return arrays;
}

/// The blobs to write, with the names of those given without one.
std::vector<NamedFile> named_outputs(const Arguments& arguments, const std::shared_ptr<const NetFile>& file,
                                     const caffe::NetState& state) {
  std::vector<NamedFile> outputs = named_files(arguments.each("output"));
  if (outputs.empty()) throw usage_error("--output=BLOB=FILE.npy is required");
  for (NamedFile& output : outputs) {
    check_output_name(output.path, "a blob", {".npy"});
    check_may_replace(arguments, output.path);
    if (!output.blob.empty()) continue;
    const std::vector<std::string> names = output_names(file, state);
    if (names.size() != 1)
      throw usage_error("--output=" + output.path + ": the net has several outputs", "name one: BLOB=FILE.npy");
    output.blob = names[0];
  }
  return outputs;
}

/// The line's two file names, separated by a tab if it has one, else by spaces.
NamedFile pair_of(const std::string& line, const std::string& list, int number) {
  const std::string_view blanks = line.find('\t') == std::string::npos ? " " : "\t";
  const size_t end = line.find_first_of(blanks), next = line.find_first_not_of(blanks, end);
  const size_t last = line.find_last_not_of(" \t\r");
  if (end == std::string::npos || next == std::string::npos || end == 0 || last < next ||
      line.substr(next, last + 1 - next).find_first_of(blanks) != std::string::npos)
    throw Error(ExitCode::kUsage, file_mistake(list, "'" + line + "': must be INPUT.npy OUTPUT.npy",
                                               "a tab separates names with spaces", number));
  return {line.substr(0, end), line.substr(next, last + 1 - next)};
}

/// Runs the pairs of --pairs one after another, as their lines come, and prints the name of each output when it is
/// complete. A pair that fails is reported; the others still run. Returns the exit code of the first that failed, or 0.
class Pairs {
 public:
  Pairs(const Arguments& arguments, const std::shared_ptr<const NetFile>& file, PredictorOptions options)
      : arguments_(arguments), inputs_(declared_inputs(*file, options.state)), output_(output_of(file, options.state)) {
    if (!arguments.each("input").empty()) throw usage_error("--pairs and --input exclude each other");
    if (inputs_.size() != 1)
      throw usage_error("--pairs needs a net with one input", "the net's inputs: " + listed_blobs(inputs_));
    options.outputs = {output_};
    predictor_.emplace(file, arguments.texts("weights"), options);
  }

  /// `list` is the name of what has the lines.
  int run(std::istream& lines, const std::string& list) {
    int code = 0, number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      bool is_pair = false;
      try {
        const NamedFile pair = pair_of(line, list, number);
        is_pair = true;
        run(pair);
      } catch (...) {
        const Failure failure = current_failure();
        show_error(failure.text);
        if (is_pair) show_error(render(file_mistake(list, "this pair was left out", {}, number), "note"));
        if (!code) code = failure.code;
      }
    }
    return code;
  }

 private:
  std::string output_of(const std::shared_ptr<const NetFile>& file, const caffe::NetState& state) const {
    std::vector<std::string> names = arguments_.each("output");
    if (names.empty()) names = output_names(file, state);
    if (names.size() != 1) throw usage_error("--pairs writes one blob", "name it: --output=BLOB");
    if (names[0].find('=') != std::string::npos)
      throw usage_error("--output=" + names[0] + ": with --pairs the list names the files", "--output=BLOB");
    return names[0];
  }

  void run(const NamedFile& pair) {
    check_output_name(pair.path, "a blob", {".npy"});
    check_may_replace(arguments_, pair.path);
    const Array result = predictor_->predict(read_inputs({{"", pair.blob}}, inputs_)).at(output_);
    write_npy(pair.path, result.shape, result.values.data());
    std::cout << pair.path << std::endl;  // flushed: the reader may wait for it
  }

  const Arguments& arguments_;
  std::map<std::string, Shape> inputs_;
  std::string output_;
  std::optional<Predictor> predictor_;
};

int run_pairs(const Arguments& arguments) {
  Pairs pairs(arguments, open_model(arguments), predictor_options(arguments));
  const std::string list = arguments.text("pairs");
  if (list == "-") return pairs.run(std::cin, "standard input");
  std::istringstream lines(read_file(list));
  return pairs.run(lines, list);
}

int run_infer(const Arguments& arguments) {
  if (arguments.has("pairs")) return run_pairs(arguments);
  PredictorOptions options = predictor_options(arguments);
  const auto file = open_model(arguments);
  const Arrays inputs = read_inputs(named_files(arguments.each("input")), declared_inputs(*file, options.state));
  const std::vector<NamedFile> outputs = named_outputs(arguments, file, options.state);
  for (const NamedFile& output : outputs) options.outputs.push_back(output.blob);
  for (const auto& [name, array] : inputs) options.shapes[name] = array.shape;
  if (!inputs.empty() && inputs.begin()->second.shape.axes() > 0) options.batch = inputs.begin()->second.shape[0];
  Predictor predictor(file, arguments.texts("weights"), options);
  const Arrays results = predictor.predict(inputs);
  for (const NamedFile& output : outputs) {
    const Array& array = results.at(output.blob);
    write_npy(output.path, array.shape, array.values.data());
    log_info() << output.blob << " " << array.shape.str() << " -> " << output.path;
  }
  return 0;
}

}  // namespace

Command infer_command() {
  return {
      .name = "infer",
      .summary = "Run NumPy arrays through a net",
      .flags = joined(
          {{model_flag(),
            shape_flag(),
            weights_flag(),
            input_flag(),
            output_flag("BLOB=FILE.npy", "any blob; may be repeated"),
            {.name = "pairs",
             .kind = FlagKind::kText,
             .value = "LIST",
             .help = "load the net once for many files: each line of the list is INPUT.npy OUTPUT.npy; - reads lines "
                     "from standard input as they come"},
            force_flag(),
            set_flag(),
            layer_flag()},
           state_flags(),
           device_flags()}),
      .examples = {{"cortado infer deploy.prototxt net.caffemodel -i data=x.npy -o prob=y.npy",
                    "y.npy gets blob 'prob' for the batch in x.npy"},
                   {"cortado infer deploy.prototxt net.caffemodel -i data=x.npy -o pool5=f.npy -o prob=y.npy",
                    "features and probabilities in one run"},
                   {"cortado infer deploy.prototxt net.caffemodel --pairs=list.txt",
                    "many files; each output's name is printed when it is complete"}},
      .run = run_infer};
}

}  // namespace cortado::tools
