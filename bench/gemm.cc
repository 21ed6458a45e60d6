// Compares libraries on the matrix products of nets: the inner products and 1x1 convolutions of a pass over one image,
// on one thread, as products of M x K by K x N.
//
//   cortado_bench_gemm SECONDS NET...
//
// Both libraries run in turns for SECONDS; a line has the minimum times. ONEDNN_MAX_CPU_ISA (SSE41, AVX2, AVX512_CORE)
// and OPENBLAS_CORETYPE (Nehalem, Haswell, SkylakeX) limit them to a CPU level.

#include "kernels/gemm.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <tuple>

#include "bench/worker.h"
#include "core/rng.h"
#include "graph/passes/passes.h"
#include "kernels/devices.h"

namespace cortado::bench {

namespace {

using Extents = std::tuple<int64_t, int64_t, int64_t, bool>;  ///< m, n, k, and whether b is stored transposed

/// Collects the products of a net, each with the names of its layers.
void collect(const std::string& path, std::map<Extents, std::string>& products) {
  graph::BuildOptions options;
  options.state.set_phase(caffe::TEST);
  options.backward = false;
  graph::Graph graph = graph::build(std::make_shared<NetFile>(read_net(path)), options);
  graph::run_passes(graph, "infer_shapes");
  for (const graph::Node& node : graph.nodes) {
    if (node.w.empty()) continue;
    const Shape &w = graph.weights[size_t(node.w[0])].spec.shape, &y = graph.value(node.y[0]).shape;
    Extents extents;
    if (node.type == "InnerProduct")
      extents = {1, w[0], w[1], true};
    else if (node.type == "Convolution" && w.axes() == 4 && w.count(2) == 1 && w[0] == y[1])
      extents = {w[0], y.count(2), w[1], false};
    else
      continue;
    std::string& names = products[extents];
    names += (names.empty() ? "" : ", ") + graph.name + " " + node.name;
  }
}

std::vector<float> drawn(int64_t n) {
  RandomStream random{uint64_t(n)};
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) value = random.uniform() - 0.5f;
  return values;
}

void run(const std::vector<std::string>& args) {
  const double seconds = std::stod(args[0]);
  std::map<Extents, std::string> products;
  for (size_t i = 1; i < args.size(); ++i) collect(args[i], products);
  const std::string openblas = kernels::openblas_version();
  if (openblas.empty()) throw Error(ExitCode::kDevice, "OpenBLAS is not installed");
  std::printf("%s, %s\n%6s %6s %6s %12s %12s %8s  %s\n", kernels::onednn_version().c_str(), openblas.c_str(), "m", "n",
              "k", "oneDNN us", "OpenBLAS us", "ratio", "first of");
  Context context(1);
  double logs = 0;
  for (const auto& [extents, names] : products) {
    const auto [m, n, k, transposed] = extents;
    const kernels::GemmShape shape{m, n, k, false, transposed};
    const std::vector<float> a = drawn(m * k), b = drawn(k * n);
    std::vector<float> c(size_t(m * n));
    std::vector<double> times[2];
    const auto start = std::chrono::steady_clock::now();
    const auto since = [](auto begin) {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    do {
      for (const auto library : {kernels::GemmLibrary::kOneDnn, kernels::GemmLibrary::kOpenBlas}) {
        const auto begin = std::chrono::steady_clock::now();
        kernels::gemm(context, shape, a.data(), b.data(), c.data(), 0, library);
        times[size_t(library)].push_back(since(begin));
      }
    } while (since(start) < seconds || times[0].size() < 5);
    const double onednn = std::ranges::min(times[0]), other = std::ranges::min(times[1]);
    logs += std::log(onednn / other);
    std::printf("%6lld %6lld %6lld %12.1f %12.1f %8.2f  %s\n", (long long)m, (long long)n, (long long)k, onednn * 1e6,
                other * 1e6, onednn / other, names.substr(0, names.find(',')).c_str());
  }
  std::printf("geometric mean of %zu: %.2f (above 1: OpenBLAS is faster)\n", products.size(),
              std::exp(logs / double(products.size())));
}

}  // namespace

}  // namespace cortado::bench

int main(int argc, char** argv) {
  const int most = std::max(argc - 1, 2);
  return cortado::bench::worker_main(argc, argv, most, "cortado_bench_gemm SECONDS NET...", cortado::bench::run);
}
