// Our side of the training benchmark: a net from prototxt, trained by SGD on one batch that lies in memory.
//
//   cortado_bench_worker NET INIT DATA LABEL NxCxHxW THREADS LR
//
// Writes its initial weights to INIT for the peers, then answers lines: "step K" with "SECONDS LOSS...", "peak" with the
// machine's GFLOP/s, "memory" with the peak resident MB. The greeting tells the FLOPs of one step.

#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

#include "core/file.h"
#include "core/machine_peak.h"
#include "core/threads.h"
#include "net/net.h"
#include "proto/weights_file.h"
#include "solvers/update_rule.h"

namespace cortado::bench {

namespace {

std::vector<float> read_floats(const std::string& path) {
  const std::string bytes = read_file(path);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

Shape parse_shape(const std::string& text) {
  std::vector<int64_t> dims;
  std::istringstream in(text);
  for (std::string dim; std::getline(in, dim, 'x');) dims.push_back(std::stoll(dim));
  return Shape(dims);
}

/// The net with its data layers turned into inputs of the given shape and its labels.
std::shared_ptr<NetFile> read_with_inputs(const std::string& path, const Shape& shape) {
  auto file = std::make_shared<NetFile>(read_net(path));
  for (caffe::LayerParameter& layer : *file->net.mutable_layer()) {
    if (layer.type() != "Data") continue;
    layer.set_type("Input");
    layer.clear_data_param();
    layer.clear_transform_param();
    caffe::BlobShape& data = *layer.mutable_input_param()->add_shape();
    for (const int64_t dim : shape.dims()) data.add_dim(dim);
    layer.mutable_input_param()->add_shape()->add_dim(shape[0]);
  }
  return file;
}

/// Forward, and backward with respect to weights and to every input but the data's own.
double flops_of_step(const graph::Graph& graph) {
  double sum = 0;
  for (const graph::Node& node : graph.nodes) {
    std::vector<Shape> x, y;
    for (const graph::ValueId id : node.x) x.push_back(graph.values[size_t(id)].shape);
    for (const graph::ValueId id : node.y) y.push_back(graph.values[size_t(id)].shape);
    if (node.w.empty() || node.type.rfind("BatchNorm", 0) == 0 || node.type.rfind("Scale", 0) == 0) continue;
    const bool to_data = !node.wants_dx.empty() && node.wants_dx[0];
    sum += double(node.layer->flops(x, y)) * (to_data ? 3 : 2);
  }
  return sum;
}

class Trainer {
 public:
  Trainer(const std::string& net, const Shape& shape, int threads, float rate) : context_(threads), rate_(rate) {
    use_threads(threads);
    graph::BuildOptions options;
    options.state.set_phase(caffe::TRAIN);
    net_ = make_net(read_with_inputs(net, shape), options, context_);
    config_.set_momentum(0.9f);
    for (const Param& param : net_->params()) history_.emplace_back(size_t(param.count), 0.0f);
  }

  Net& net() { return *net_; }

  double step() {
    net_->forward();
    const double loss = net_->loss();
    net_->backward();
    for (size_t i = 0; i < history_.size(); ++i) update(net_->params()[i], history_[i].data());
    ++context_.pass;
    return loss;
  }

 private:
  void update(const Param& param, float* history) {
    const UpdateStep step{int64_t(context_.pass), rate_, 1.0f, 0.0005f, 0.0f, config_};
    float* const histories[] = {history};
    rule_.update(context_, step, {param.w, param.dw, histories, param.count});
  }

  Context context_;
  float rate_;
  caffe::SolverParameter config_;
  const UpdateRule& rule_ = *find_update_rule("SGD");
  std::unique_ptr<Net> net_;
  std::vector<std::vector<float>> history_;
};

double peak_resident_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0) return std::stod(line.substr(6)) / 1024;
  return 0;
}

void answer_steps(Trainer& trainer, int count) {
  const auto start = std::chrono::steady_clock::now();
  std::ostringstream losses;
  for (int i = 0; i < count; ++i) losses << ' ' << trainer.step();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::cout << seconds << losses.str() << std::endl;
}

int run(const std::vector<std::string>& args) {
  const Shape shape = parse_shape(args[4]);
  const int threads = std::stoi(args[5]);
  Trainer trainer(args[0], shape, threads, std::stof(args[6]));
  trainer.net().write_blob("data", read_floats(args[2]).data());
  trainer.net().write_blob("label", read_floats(args[3]).data());
  write_weights(args[1], trainer.net().to_proto());
  std::cout << "ready cortado " << flops_of_step(trainer.net().plan().graph) << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    if (line.rfind("step ", 0) == 0) answer_steps(trainer, std::stoi(line.substr(5)));
    if (line == "peak") std::cout << fma_peak_gflops(threads) << std::endl;
    if (line == "memory") std::cout << peak_resident_mb() << std::endl;
  }
  return 0;
}

}  // namespace

}  // namespace cortado::bench

int main(int argc, char** argv) {
  if (argc != 8) {
    std::cerr << "usage: cortado_bench_worker NET INIT DATA LABEL NxCxHxW THREADS LR\n";
    return 2;
  }
  try {
    return cortado::bench::run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
