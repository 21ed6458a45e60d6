#include "tools/net/frozen_net.h"

#include <cmath>
#include <sstream>

#include "net/epoch.h"
#include "proto/weights/onnx_file.h"
#include "tools/options/run_options.h"

namespace cortado::tools {

std::unique_ptr<Net> make_frozen_net(std::shared_ptr<const NetFile> file, graph::BuildOptions options,
                                     const std::vector<std::string>& given, Context& context) {
  options.backward = false;
  options.frozen = true;
  std::vector<std::vector<LayerWeights>> read;  // before the net is built, so that errors are found at once
  const std::vector<std::string> weights = weights_or_own(given, file->positions.file());
  for (const std::string& path : weights) read.push_back(read_weights(path));
  auto net = make_net(std::move(file), options, context);
  if (weights.empty() && !net->plan().graph.weights.empty())
    throw usage_error("--weights=FILE is required", "the net has weights");
  for (size_t i = 0; i < read.size(); ++i) net->load_weights(read[i], weights[i]);
  net->require_weights();
  return net;
}

std::unique_ptr<Net> make_frozen_tail(const std::shared_ptr<const NetFile>& file, graph::BuildOptions options, Net& net,
                                      int64_t records) {
  const int64_t left = records % net.batch_size();
  options.backward = false;
  options.frozen = true;
  auto tail = make_net(with_data_batch(file, left), options, net.context(), &net);
  for (const auto& [layer, position] : tail->positions()) tail->seek(layer, uint64_t(records - left));
  return tail;
}

PredictorOptions predictor_options(const Arguments& arguments) {
  PredictorOptions options;
  options.state = state_of(arguments, caffe::TEST);
  options.context = context_options(arguments);
  return options;
}

std::string score_text(double value) {
  if (std::isnan(value)) return "nan";
  std::ostringstream out;
  out << value;
  return out.str();
}

}  // namespace cortado::tools
