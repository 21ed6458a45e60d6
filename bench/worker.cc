#include "bench/worker.h"

#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

#include "core/cpu/restart.h"
#include "core/error.h"
#include "core/files/file.h"
#include "core/threads/machine_peak.h"

namespace cortado::bench {

namespace {

double peak_resident_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0) return std::stod(line.substr(6)) / 1024;
  return 0;
}

bool normalises(const graph::Node& node) {
  return node.type.rfind("BatchNorm", 0) == 0 || node.type.rfind("Scale", 0) == 0;
}

}  // namespace

Device device_named(const std::string& word) {
  if (word == "simulated") return {DeviceKind::kSimulated, 0};
  return {DeviceKind::kCuda, std::stoi(word)};
}

std::vector<float> read_floats(const std::string& path) {
  const std::string bytes = read_file(path);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

void write_floats(const std::string& path, const std::vector<float>& values) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()), std::streamsize(values.size() * sizeof(float)));
  if (!file.flush()) throw Error(ExitCode::kIo, "cannot write " + path);
}

double flops_of_pass(const graph::Graph& graph) {
  double sum = 0;
  for (const graph::Node& node : graph.nodes) {
    if (node.w.empty() || normalises(node)) continue;
    std::vector<Shape> x, y;
    for (const graph::ValueId id : node.x) x.push_back(graph.values[size_t(id)].shape);
    for (const graph::ValueId id : node.y) y.push_back(graph.values[size_t(id)].shape);
    const bool to_data = !node.wants_dx.empty() && node.wants_dx[0];
    const int passes = !graph.options.backward ? 1 : to_data ? 3 : 2;
    sum += double(node.layer->flops(x, y)) * passes;
  }
  return sum;
}

std::string timed_runs(int count, const std::function<double()>& once) {
  std::ostringstream values, line;
  values.precision(9);
  line.precision(9);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) values << ' ' << once();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  line << seconds << values.str();
  return line.str();
}

void serve(const std::string& name, double flops, int threads, Handlers handlers) {
  handlers["peak"] = [threads](const std::string&) { return std::to_string(fma_peak_gflops(threads)); };
  handlers["memory"] = [](const std::string&) { return std::to_string(peak_resident_mb()); };
  std::cout << "ready " << name << ' ' << flops << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const size_t space = line.find(' ');
    const auto handler = handlers.find(line.substr(0, space));
    if (handler == handlers.end()) throw Error(ExitCode::kUsage, "unknown request '" + line + "'");
    std::cout << handler->second(space == std::string::npos ? "" : line.substr(space + 1)) << std::endl;
  }
}

int worker_main(int argc, char** argv, int count, const char* usage,
                const std::function<void(const std::vector<std::string>&)>& run) {
  if (argc != count + 1) {
    std::cerr << "usage: " << usage << "\n";
    return 2;
  }
  try {
    reexec_for_cpu_level(argv);
    run(std::vector<std::string>(argv + 1, argv + argc));
    return 0;
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}

}  // namespace cortado::bench
