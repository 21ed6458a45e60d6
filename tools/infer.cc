// `cortado infer`: NumPy files through a net, once. Any blob may be an output; asked for ones are kept readable by the
// plan.
#include <iostream>
#include <map>

#include "core/log.h"
#include "data/npy.h"
#include "tools/command.h"
#include "tools/frozen_net.h"
#include "tools/net_file.h"
#include "tools/run_options.h"

namespace cortado::tools {

namespace {

struct NamedFile {
  std::string blob, path;
};

/// "blob=file", or a file alone, whose blob is then the only one there could be: "".
std::vector<NamedFile> named_files(const std::vector<std::string>& texts) {
  std::vector<NamedFile> out;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos)
      out.push_back({"", text});
    else
      out.push_back({text.substr(0, equals), text.substr(equals + 1)});
    if (out.back().path.empty()) throw usage_error("'" + text + "': BLOB=FILE.npy is wanted");
  }
  return out;
}

/// Shapes of the blobs that Input layers make, as the file says.
std::map<std::string, Shape> declared_inputs(const NetFile& file, const caffe::NetState& state) {
  std::map<std::string, Shape> shapes;
  for (const caffe::LayerParameter& layer : file.net.layer()) {
    if (layer.type() != "Input" || !graph::selected(layer, state)) continue;
    const auto& given = layer.input_param().shape();
    for (int i = 0; i < layer.top_size() && !given.empty(); ++i) {
      const caffe::BlobShape& shape = given[given.size() == 1 ? 0 : std::min(i, given.size() - 1)];
      shapes[layer.top(i)] = Shape(std::vector<int64_t>(shape.dim().begin(), shape.dim().end()));
    }
  }
  return shapes;
}

std::string listed(const std::map<std::string, Shape>& blobs) {
  std::string out;
  for (const auto& [name, shape] : blobs) out += (out.empty() ? "" : ", ") + ("'" + name + "'");
  return out.empty() ? "none" : out;
}

void check_fit(const std::string& path, const std::string& blob, const Shape& have, const Shape& wanted) {
  bool fits = have.axes() == wanted.axes();
  for (int axis = 1; fits && axis < have.axes(); ++axis) fits = have[axis] == wanted[axis];
  if (fits && have.count() > 0) return;
  throw Error(ExitCode::kData, path + " has shape " + have.str() + ", and '" + blob + "' takes " + wanted.str(),
              "only the first extent, the batch, may differ");
}

using Arrays = std::map<std::string, data::NpyArray>;

Arrays read_inputs(const std::vector<NamedFile>& files, const std::map<std::string, Shape>& declared) {
  Arrays arrays;
  for (NamedFile file : files) {
    if (file.blob.empty() && declared.size() == 1) file.blob = declared.begin()->first;
    const auto found = declared.find(file.blob);
    if (found == declared.end())
      throw usage_error("--input=" + file.path + ": '" + file.blob + "' is no input of the net",
                        "its inputs: " + listed(declared));
    data::NpyArray array = data::read_npy(file.path);
    check_fit(file.path, file.blob, array.shape, found->second);
    arrays[file.blob] = std::move(array);
  }
  for (const auto& [name, shape] : declared)
    if (!arrays.contains(name))
      throw usage_error("--input=" + name + "=FILE.npy is missing", "the net's inputs: " + listed(declared));
  return arrays;
}

/// The net with its Input layers making what the arrays hold.
std::shared_ptr<const NetFile> reshaped(std::shared_ptr<const NetFile> file, const Arrays& arrays) {
  auto changed = std::make_shared<NetFile>(*file);
  for (caffe::LayerParameter& layer : *changed->net.mutable_layer()) {
    if (layer.type() != "Input") continue;
    std::vector<caffe::BlobShape> shapes;
    for (const std::string& top : layer.top()) {
      const auto found = arrays.find(top);
      if (found == arrays.end()) return file;
      caffe::BlobShape shape;
      for (const int64_t dim : found->second.shape.dims()) shape.add_dim(dim);
      shapes.push_back(std::move(shape));
    }
    auto* list = layer.mutable_input_param()->mutable_shape();
    list->Clear();
    for (caffe::BlobShape& shape : shapes) list->Add(std::move(shape));
  }
  return changed;
}

int run_infer(const Arguments& arguments) {
  graph::BuildOptions options;
  options.state = state_of(arguments, caffe::TEST);
  const auto file = open_net(arguments.text("model"));
  const Arrays arrays = read_inputs(named_files(arguments.each("input")),
                                    declared_inputs(*file, graph::merge_states(file->net.state(), options.state)));
  std::vector<NamedFile> outputs = named_files(arguments.each("output"));
  if (outputs.empty()) throw usage_error("--output=BLOB=FILE.npy is missing");
  for (const NamedFile& output : outputs)
    if (!output.blob.empty()) options.keep.push_back(output.blob);

  Context context = make_context(arguments);
  const auto net = make_frozen_net(reshaped(file, arrays), options, arguments.texts("weights"), context);
  for (NamedFile& output : outputs) {
    if (!output.blob.empty()) continue;
    if (net->outputs().size() != 1)
      throw usage_error("--output=" + output.path + ": the net has several outputs", "say which: BLOB=FILE.npy");
    output.blob = net->outputs()[0].name;
  }
  for (const auto& [blob, array] : arrays) net->write_blob(blob, array.values.data());
  net->forward();
  for (const NamedFile& output : outputs) {
    const Shape shape = net->blob_shape(output.blob);
    data::write_npy(output.path, shape, net->read_blob(output.blob).data());
    log_info() << output.blob << " " << shape.str() << " -> " << output.path;
  }
  return 0;
}

}  // namespace

Command infer_command() {
  return {.name = "infer",
          .summary = "runs NumPy arrays through a net",
          .flags = joined({{model_flag(),
                            weights_flag("trained weights"),
                            {.name = "input",
                             .kind = FlagKind::kText,
                             .value = "BLOB=FILE.npy",
                             .help = "what an input blob gets; once for each; the batch may differ from the net's",
                             .letter = 'i'},
                            {.name = "output",
                             .kind = FlagKind::kText,
                             .value = "BLOB=FILE.npy",
                             .help = "where any blob goes; may be given again",
                             .letter = 'o'}},
                           state_flags(),
                           device_flags()}),
          .operands = {},
          .examples =
              {{"cortado infer --model=deploy.prototxt --weights=net.caffemodel --input data=x.npy --output prob=y.npy",
                "y.npy holds blob 'prob' for the batch in x.npy"},
               {"cortado infer --model=deploy.prototxt --weights=net.caffemodel --input data=x.npy --output "
                "pool5=f.npy --output prob=y.npy",
                "features and probabilities in one run"}},
          .run = run_infer};
}

}  // namespace cortado::tools
