// Our side of the inference benchmark: forward passes of a deployed net over one batch in memory.
//
//   cortado_bench_infer NET WEIGHTS DATA THREADS
//
// A request is what a program would do: set the input, run the pass, get the output. "step K" answers "SECONDS
// SECONDS_OF_EACH...", "output FILE" writes the last output as raw floats ("0").

#include <chrono>

#include "bench/worker.h"
#include "graph/passes/passes.h"
#include "net/predictor.h"

namespace cortado::bench {

namespace {

/// A Predictor with the input and the output of a classifier.
class Engine {
 public:
  Engine(const std::string& net, const std::string& weights, const std::vector<float>& data, int threads)
      : predictor_(net, {weights}, {.context = {.threads = threads}}) {
    const auto& [name, shape] = *predictor_.inputs().begin();
    inputs_[name] = {shape, data};
  }

  const std::vector<float>& run() {
    outputs_ = predictor_.predict(inputs_);
    return outputs_.begin()->second.values;
  }

 private:
  Predictor predictor_;
  Arrays inputs_, outputs_;
};

/// The FLOPs of one pass over the net.
double flops_of(const std::string& net) {
  graph::BuildOptions options;
  options.state.set_phase(caffe::TEST);
  options.backward = false;
  graph::Graph graph = graph::build(std::make_shared<NetFile>(read_net(net)), options);
  graph::run_passes(graph, "infer_shapes");
  return flops_of_pass(graph);
}

void run(const std::vector<std::string>& args) {
  const int threads = std::stoi(args[3]);
  Engine engine(args[0], args[1], read_floats(args[2]), threads);
  const auto request = [&] {
    const auto start = std::chrono::steady_clock::now();
    engine.run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const auto write_output = [&](const std::string& path) {
    write_floats(path, engine.run());
    return std::string("0");
  };
  serve("Cortado", flops_of(args[0]), threads,
        {{"step", [&](const std::string& count) { return timed_runs(std::stoi(count), request); }},
         {"output", write_output}});
}

}  // namespace

}  // namespace cortado::bench

int main(int argc, char** argv) {
  return cortado::bench::worker_main(argc, argv, 4, "cortado_bench_infer NET WEIGHTS DATA THREADS",
                                     cortado::bench::run);
}
