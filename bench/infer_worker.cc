// Our side of the inference benchmark: forward passes of a deployed net over one batch in memory.
//
//   cortado_bench_infer NET WEIGHTS DATA THREADS
//
// A request is what a program would do for one: the batch is put in, the pass is run, the output is taken out.
// Requests: "step K" answers "SECONDS SECONDS_OF_EACH...", "output FILE" writes the output of the last as raw floats
// ("0").

#include <chrono>

#include "bench/worker.h"
#include "core/threads.h"
#include "net/net.h"
#include "proto/weights_file.h"

namespace cortado::bench {

namespace {

/// The one place that knows how a net is made and asked for inference.
class Engine {
 public:
  Engine(const std::string& net, const std::string& weights, int threads) : context_(threads) {
    use_threads(threads);
    graph::BuildOptions options;
    options.state.set_phase(caffe::TEST);
    options.backward = false;
    net_ = make_net(std::make_shared<NetFile>(read_net(net)), options, context_);
    net_->load_weights(read_weights(weights), weights);
    output_.resize(size_t(net_->outputs()[0].shape.count()));
  }

  const std::vector<float>& run(const std::vector<float>& data) {
    net_->write_blob("data", data.data());
    net_->forward();
    net_->read_blob_to(net_->outputs()[0].value, output_.data());
    return output_;
  }

  double flops() const { return flops_of_pass(net_->plan().graph); }

 private:
  Context context_;
  std::unique_ptr<Net> net_;
  std::vector<float> output_;
};

void run(const std::vector<std::string>& args) {
  const int threads = std::stoi(args[3]);
  Engine engine(args[0], args[1], threads);
  const std::vector<float> data = read_floats(args[2]);
  const auto request = [&] {
    const auto start = std::chrono::steady_clock::now();
    engine.run(data);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const auto write_output = [&](const std::string& path) {
    write_floats(path, engine.run(data));
    return std::string("0");
  };
  serve("Cortado", engine.flops(), threads,
        {{"step", [&](const std::string& count) { return timed_runs(std::stoi(count), request); }},
         {"output", write_output}});
}

}  // namespace

}  // namespace cortado::bench

int main(int argc, char** argv) {
  return cortado::bench::worker_main(argc, argv, 4, "cortado_bench_infer NET WEIGHTS DATA THREADS",
                                     cortado::bench::run);
}
