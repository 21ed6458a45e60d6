// `cortado infer`: runs NumPy files through a net once. Any blob can be an output; layers that no output needs are not
// run.
#include <iostream>
#include <map>

#include "core/log.h"
#include "formats/npy.h"
#include "net/inputs.h"
#include "tools/net/frozen_net.h"
#include "tools/options/net_file.h"
#include "tools/options/run_options.h"
#include "tools/output/output_name.h"
#include "tools/program/command.h"

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

int run_infer(const Arguments& arguments) {
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
  return {.name = "infer",
          .summary = "Run NumPy arrays through a net",
          .flags = joined(
              {{model_flag(), shape_flag(), weights_flag(), input_flag(),
                output_flag("BLOB=FILE.npy", "any blob; may be repeated"), force_flag(), set_flag(), layer_flag()},
               state_flags(),
               device_flags()}),
          .examples = {{"cortado infer deploy.prototxt net.caffemodel -i data=x.npy -o prob=y.npy",
                        "y.npy gets blob 'prob' for the batch in x.npy"},
                       {"cortado infer deploy.prototxt net.caffemodel -i data=x.npy -o pool5=f.npy -o prob=y.npy",
                        "features and probabilities in one run"}},
          .run = run_infer};
}

}  // namespace cortado::tools
