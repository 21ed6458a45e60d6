#include "tests/fuzz/served.h"

#include <unistd.h>

#include <filesystem>

#include "core/files/file.h"
#include "server/metrics/metrics.h"
#include "tools/program/command.h"

namespace cortado::fuzz {

namespace {

constexpr const char* kNet = R"(
layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 1 dim: 3 dim: 2 dim: 2 } } }
layer { name: "z" type: "Input" top: "z" input_param { shape { dim: 1 dim: 4 } } }
layer { name: "p" type: "Pooling" bottom: "x" top: "p" pooling_param { pool: MAX kernel_size: 2 } }
layer { name: "y" type: "Softmax" bottom: "z" top: "y" }
)";

std::unique_ptr<server::Version> load() {
  const std::string path = "/dev/shm/cortado_fuzz_" + std::to_string(::getpid()) + ".prototxt";
  write_file_atomically(path, kNet);
  static server::Metrics metrics;
  auto version = std::make_unique<server::Version>(
      "model", "1",
      tools::parse_flags(tools::flags_of(tools::serve_command()), tools::serve_command().operands,
                         {"--model=" + path, "--threads=1"}),
      metrics.of_model("model"));
  std::filesystem::remove(path);
  return version;
}

}  // namespace

const server::Version& served_version() {
  static const std::unique_ptr<server::Version> version = load();
  return *version;
}

}  // namespace cortado::fuzz
