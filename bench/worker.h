#pragma once

// Shared by our benchmark workers: each waits for lines on standard input and answers each with one line of numbers, so
// that the driver decides which process runs.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/device.h"
#include "graph/graph.h"

namespace cortado::bench {

/// The device of "simulated" or a GPU's number.
Device device_named(const std::string& word);

/// Reads a file of raw 32-bit floats. Throws Error(kIo).
std::vector<float> read_floats(const std::string& path);
void write_floats(const std::string& path, const std::vector<float>& values);

/// The FLOPs of one pass over the layers with weights, without normalizations: forward and, if the graph has them,
/// backward with respect to weights and to every input except the data. A multiply-add counts as two.
double flops_of_pass(const graph::Graph& graph);

/// Runs `once` `count` times and returns the line "SECONDS VALUE...": the total time, and the value of each run.
std::string timed_runs(int count, const std::function<double()>& once);

/// Handlers by the first word of a line; a handler gets the rest of the line and returns the answer.
using Handlers = std::map<std::string, std::function<std::string(const std::string&)>>;

/// Greets with "ready NAME FLOPS", then answers lines until the input ends. Built-in requests are "peak", the machine's
/// GFLOP/s with this number of threads, and "memory", the peak resident MB of this process. An unknown word throws
/// Error(kUsage).
void serve(const std::string& name, double flops, int threads, Handlers handlers);

/// main() of a worker: calls `run` with the arguments, and prints an error in one line. Prints `usage` unless there are
/// `count` arguments.
int worker_main(int argc, char** argv, int count, const char* usage,
                const std::function<void(const std::vector<std::string>&)>& run);

}  // namespace cortado::bench
