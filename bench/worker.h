#pragma once

// What our workers of the benchmark have in common: each waits on its standard input for lines and answers each with
// one line of numbers, so that the driver decides which of many processes runs.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/device.h"
#include "graph/graph.h"

namespace cortado::bench {

/// "simulated", or a GPU's number.
Device device_named(const std::string& word);

/// A file of raw 32-bit floats; throws Error(kIo) where it cannot be read.
std::vector<float> read_floats(const std::string& path);
void write_floats(const std::string& path, const std::vector<float>& values);

/// Of one pass over the layers with weights, normalisations left out: forward, and, where the graph has them, backward
/// with respect to weights and to every input but the data's own. A multiplication and its addition are two.
double flops_of_pass(const graph::Graph& graph);

/// Runs `once` so many times and gives the line "SECONDS VALUE...": the time of all, and what each of the runs
/// returned.
std::string timed_runs(int count, const std::function<double()>& once);

/// A line's first word chooses; the handler gets the rest of the line and gives the answer.
using Handlers = std::map<std::string, std::function<std::string(const std::string&)>>;

/// Greets with "ready NAME FLOPS", then answers lines until the input ends. Knows by itself "peak", the machine's
/// GFLOP/s with so many threads, and "memory", the peak resident MB of this process. Words unknown throw Error(kUsage).
void serve(const std::string& name, double flops, int threads, Handlers handlers);

/// main() of a worker: `run` with the arguments, errors told in one line. `usage` is shown unless there are `count`
/// arguments.
int worker_main(int argc, char** argv, int count, const char* usage,
                const std::function<void(const std::vector<std::string>&)>& run);

}  // namespace cortado::bench
