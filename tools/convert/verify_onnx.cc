#include "tools/convert/verify_onnx.h"

#include <fcntl.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "core/error.h"
#include "core/files/file.h"
#include "core/files/temporary_folder.h"
#include "core/log.h"
#include "core/process/process.h"
#include "core/text/text.h"
#include "formats/helper_process.h"
#include "formats/npy.h"
#include "layers/registry.h"
#include "layers/type_names.h"
#include "net/inputs.h"
#include "net/predictor.h"
#include "tools/convert/random_inputs.h"
#include "tools/options/flags.h"
#include "tools/output/terminal.h"

extern const char cortado_run_onnx[];  // run_onnx.py
extern const unsigned long cortado_run_onnx_size;

namespace cortado::tools {

namespace {

constexpr int64_t kOtherBatch = 3;
constexpr int kNoRuntime = 3;  ///< exit code of run_onnx.py

/// The same inputs, and what one side computes from them; no outputs if it does not accept the shapes.
struct VerifySet {
  Arrays inputs, outputs;
};

/// The type of the layer that computes a blob, before layers that only move its values.
std::string origin_type(const NetFile& file, std::string blob) {
  for (int i = file.net.layer_size() - 1; i >= 0; --i) {
    const caffe::LayerParameter& layer = file.net.layer(i);
    if (std::ranges::find(layer.top(), blob) == layer.top().end()) continue;
    const std::string& type = layer.type();
    const char* const moving[] = {"reshape_param", "flatten_param", "permute_param", "slice_param"};
    const bool moves = std::ranges::any_of(moving, [&](const char* options) { return reads_options(type, options); });
    if (!moves || layer.bottom_size() == 0) return type;
    blob = layer.bottom(0);
  }
  return "";
}

/// How the shapes of an output in the model and in the net differ; "" if they are the same. Detections are rows.
std::string shapes_apart(const std::string& output, const Shape& model, const Shape& net) {
  if (model == net) return "";
  int changed = -1, changes = std::abs(model.axes() - net.axes());
  for (int axis = 0; axis < std::min(model.axes(), net.axes()); ++axis)
    if (model[axis] != net[axis]) changed = axis, ++changes;
  const bool rows = changes == 1 && changed >= 0 && changed == std::max(0, net.axes() - 2);
  const auto text = [&](const Shape& shape) {
    return rows ? count_of(shape[changed], "row", "rows") : "the shape " + shape.str();
  };
  return "output '" + output + "' has " + text(model) + " in the model and " + text(net) + " in the net";
}

/// The largest difference of two arrays of one shape as a share of the largest value; infinite if only one value is NaN
/// or Inf. For a Softmax (`origin`) the logarithms are compared, because its values hide differences; for a Sigmoid the
/// largest value is 1, because programs compute it with an absolute error.
double difference(const Array& a, const Array& b, const std::string& origin) {
  constexpr double kLeast = 1e-20;
  const auto value = [&](float one) {
    return origin == type_names::kSoftmax ? std::log(std::max(double(one), kLeast)) : double(one);
  };
  double largest = origin == type_names::kSigmoid ? 1 : 0, apart = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    if (a.values[i] == b.values[i] || (std::isnan(a.values[i]) && std::isnan(b.values[i]))) continue;
    if (!std::isfinite(a.values[i]) || !std::isfinite(b.values[i])) return INFINITY;
    apart = std::max(apart, std::abs(value(a.values[i]) - value(b.values[i])));
  }
  for (const float one : b.values)
    if (std::isfinite(one)) largest = std::max(largest, std::abs(value(one)));
  return apart == 0 ? 0 : apart / std::max(largest, kLeast);
}

/// "blob=file" as a pair.
std::pair<std::string, std::string> named_array(const std::string& text, const std::map<std::string, Shape>& declared) {
  const size_t equals = text.find('=');
  const std::string blob =
      equals == std::string::npos && declared.size() == 1 ? declared.begin()->first : text.substr(0, equals);
  if (!declared.contains(blob)) throw usage_error("--input=" + text + ": '" + blob + "' is not an input of the net");
  return {blob, equals == std::string::npos ? text : text.substr(equals + 1)};
}

/// Whether a layer of this type writes rows of boxes. The order of boxes with equal scores differs between programs.
bool writes_boxes(const std::string& type) {
  const char* const options[] = {"detection_output_param", "yolo_detection_output_param",
                                 "yolov3_detection_output_param"};
  return std::ranges::any_of(options, [&](const char* name) { return reads_options(type, name); });
}

/// The rows of `a`, each at the place of the nearest row of `b` that no earlier one took.
Array reordered(const Array& a, const Array& b) {
  if (a.shape != b.shape || a.shape.axes() == 0) return a;
  const size_t width = size_t(a.shape[a.shape.axes() - 1]), rows = width == 0 ? 0 : a.values.size() / width;
  const auto distance = [&](size_t row, size_t place) {
    double sum = 0;
    for (size_t i = 0; i < width; ++i) sum += std::abs(double(a.values[row * width + i]) - b.values[place * width + i]);
    return std::isnan(sum) ? INFINITY : sum;
  };
  Array out = a;
  std::vector<size_t> places(rows);
  std::iota(places.begin(), places.end(), 0);
  for (size_t row = 0; row < rows; ++row) {
    const auto nearest = std::ranges::min_element(places, {}, [&](size_t place) { return distance(row, place); });
    std::copy_n(a.values.begin() + row * width, width, out.values.begin() + *nearest * width);
    places.erase(nearest);
  }
  return out;
}

class Verification {
 public:
  Verification(const ConvertedPair& pair, const VerifyOptions& options)
      : pair_(pair), options_(options), declared_(declared_inputs(*pair.net, pair.state)), folder_("cortado-verify") {}

  int run() {
    make_inputs();
    if (!run_with_runtime()) run_with_own_reader();
    run_net();
    return report();
  }

 private:
  void make_inputs() {
    std::map<std::string, Array> given;
    for (const std::string& text : options_.inputs) {
      const auto [blob, path] = named_array(text, declared_);
      NpyArray array = read_npy(path);
      check_input_shape(path, blob, array.shape, declared_.at(blob));
      given[blob] = {array.shape, std::move(array.values)};
    }
    const auto batch_of = [](const Shape& shape) { return shape.axes() > 0 ? shape[0] : 1; };
    const int64_t own = declared_.empty() ? 1 : batch_of(declared_.begin()->second);
    std::vector<int64_t> batches = {own, kOtherBatch};
    if (!given.empty()) batches = {batch_of(given.begin()->second.shape)};
    RandomStream rng(1);
    for (const int64_t batch : batches) {
      VerifySet& set = sets_.emplace_back();
      for (auto [blob, shape] : declared_) {
        if (shape.axes() > 0 && shape[0] == own) shape[0] = batch;
        set.inputs[blob] = given.contains(blob) ? given.at(blob) : random_array(*pair_.net, blob, shape, rng);
      }
    }
  }

  void write_inputs() const {
    std::string names;
    for (const auto& [blob, shape] : declared_) names += blob + "\n";
    folder_.add("inputs", names);
    for (size_t k = 0; k < sets_.size(); ++k) {
      int i = 0;
      for (const auto& [blob, array] : sets_[k].inputs)
        write_npy(array_path(k, "in", i++), array.shape, array.values.data());
    }
  }

  std::string array_path(size_t set, const std::string& what, int i) const {
    return folder_.path(std::to_string(set) + "." + what + std::to_string(i) + ".npy");
  }

  /// Whether ONNX Runtime ran the model. False if no Python has it; throws if --python's has not, or if it fails.
  bool run_with_runtime() {
    write_inputs();
    const std::vector<std::string> found = {"/usr/bin/env", "/usr/bin/python3"};
    const std::vector<std::string> pythons = options_.python.empty() ? found : std::vector{options_.python};
    for (const std::string& python : pythons) {
      std::vector<std::string> words = {python};
      if (python == "/usr/bin/env") words.push_back("python3");
      const int code = run_script(words);
      if (code == 0) return read_outputs(words.back());
      if (code == kNoRuntime || code == 127) continue;
      throw file_error(ExitCode::kNet, pair_.model, "ONNX Runtime cannot run it: " + last_line());
    }
    if (!options_.python.empty())
      throw usage_error("--python=" + options_.python + ": this Python has no onnxruntime",
                        options_.python + " -m pip install onnxruntime");
    return false;
  }

  /// The exit code of run_onnx.py.
  int run_script(std::vector<std::string> words) const {
    for (const std::string& word : {std::string("-c"), std::string(cortado_run_onnx, cortado_run_onnx_size),
                                    pair_.model, folder_.path(), std::to_string(sets_.size())})
      words.push_back(word);
    const Descriptor error(::open(folder_.path("stderr").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    try {
      Process python({.words = words, .out = error.fd(), .error = error.fd()});
      const auto end = python.wait();
      return end ? end->shell_code() : 127;
    } catch (const std::runtime_error&) {
      return 127;  // no program of this name
    }
  }

  std::string last_line() const {
    std::istringstream lines(read_file(folder_.path("stderr")));
    std::string last = "it crashed";
    for (std::string line; std::getline(lines, line);)
      if (!line.empty()) last = line;
    return tidy(last);
  }

  bool read_outputs(const std::string& python) {
    checker_ = "ONNX Runtime " + read_file(folder_.path("version")) + " (" + python + ")";
    std::istringstream lines(read_file(folder_.path("outputs")));
    for (std::string name; std::getline(lines, name);) outputs_.push_back(name);
    const auto read = [&](size_t set, const std::string& what, size_t i) {
      NpyArray array = read_npy(array_path(set, what, int(i)));
      return Array{array.shape, std::move(array.values)};
    };
    for (size_t k = 0; k < sets_.size(); ++k) {
      size_t input = 0;
      for (auto& [blob, array] : sets_[k].inputs) array = read(k, "in", input++);  // rounded to the model's types
      for (size_t i = 0; i < outputs_.size() && file_exists(array_path(k, "out", int(i))); ++i)
        sets_[k].outputs[outputs_[i]] = read(k, "out", i);
    }
    return true;
  }

  /// Only shows that files and pipes lose nothing: reader and writer may share an error.
  void run_with_own_reader() {
    checker_ = "this program's own reader";
    log_warning() << "no Python with onnxruntime was found, so the model is run by this program itself; name one with "
                     "--python=FILE";
    Predictor predictor(pair_.model, {});
    outputs_ = predictor.outputs();
    for (VerifySet& set : sets_) set.outputs = results(predictor, set, pair_.model);
  }

  /// The outputs; none if the shapes are not accepted, which is an error for the first set only.
  Arrays results(Predictor& predictor, const VerifySet& set, const std::string& whose) const {
    Arrays inputs;
    for (const auto& [blob, shape] : predictor.inputs()) inputs[blob] = set.inputs.at(blob);
    try {
      return predictor.predict(inputs);
    } catch (const Error& error) {
      if (&set == &sets_[0] || error.code() != ExitCode::kData) throw;
      log_info() << whose << " takes only its own batch size";
      return {};
    }
  }

  void run_net() {
    PredictorOptions options;
    for (const std::string& output : outputs_) options.outputs.push_back(blob_of(output));
    options.state = pair_.state;
    Predictor predictor(pair_.net, pair_.weights, options);
    for (const VerifySet& set : sets_)
      computed_.push_back(set.outputs.empty() ? Arrays{} : results(predictor, set, pair_.net->positions.file()));
  }

  /// An output computed in place on an input has the layer's name appended, because a model's inputs and outputs
  /// cannot share a name.
  std::string blob_of(const std::string& output) const {
    for (const auto& [blob, shape] : declared_)
      if (output.starts_with(blob + "/") && origin_type(*pair_.net, output).empty()) return blob;
    return output;
  }

  int report() const {
    std::vector<std::string> header = {"output"};
    for (const VerifySet& set : sets_) header.push_back(shapes_text(set.inputs));
    Table table(header);
    double worst = 0;
    std::vector<std::string> problems;
    for (const std::string& output : outputs_) {
      const std::string blob = blob_of(output), origin = origin_type(*pair_.net, blob);
      std::vector<std::string> row = {output};
      for (size_t k = 0; k < sets_.size(); ++k) {
        if (!computed_[k].contains(blob)) {
          row.push_back("not taken");
          continue;
        }
        const Array &net = computed_[k].at(blob), &model = sets_[k].outputs.at(output);
        if (const std::string problem = shapes_apart(output, model.shape, net.shape); !problem.empty()) {
          problems.push_back(problem + " for " + shapes_text(sets_[k].inputs));
          row.push_back("-");
          continue;
        }
        const double apart = difference(writes_boxes(origin) ? reordered(net, model) : net, model, origin);
        if (std::isinf(apart))
          problems.push_back("output '" + output + "' is NaN or Inf in only one of model and net for " +
                             shapes_text(sets_[k].inputs));
        else
          worst = std::max(worst, apart);
        row.push_back(number_text("%.1e", apart));
      }
      table.add(row);
    }
    std::cout << "Largest differences, as a share of the largest value, from " << checker_ << ":\n"
              << table.str(columns_right(), table_columns());
    std::cout.flush();
    for (const std::string& problem : problems) log_error() << pair_.model << ": " << problem;
    if (worst <= options_.tolerance) return problems.empty() ? 0 : 1;
    log_error() << pair_.model << ": a difference of " << number_text("%.1e", worst) << " is above the tolerance of "
                << number_text("%.1e", options_.tolerance);
    return 1;
  }

  std::vector<size_t> columns_right() const {
    std::vector<size_t> columns;
    for (size_t k = 1; k <= sets_.size(); ++k) columns.push_back(k);
    return columns;
  }

  /// The shape of the first input, as a column's heading.
  static std::string shapes_text(const Arrays& inputs) {
    return inputs.empty() ? "no inputs" : inputs.begin()->second.shape.str();
  }

  const ConvertedPair& pair_;
  const VerifyOptions& options_;
  std::map<std::string, Shape> declared_;
  TemporaryFolder folder_;
  std::string checker_;               ///< what runs the model
  std::vector<std::string> outputs_;  ///< the model's
  std::vector<VerifySet> sets_;       ///< with the model's outputs
  std::vector<Arrays> computed_;      ///< the net's outputs, by set
};

}  // namespace

int verify_conversion(const ConvertedPair& pair, const VerifyOptions& options) {
  return Verification(pair, options).run();
}

}  // namespace cortado::tools
