// A solver state with matching digests, as an attacker or a buggy program could write it. Resumes the training from it
// for two iterations.
#include <unistd.h>

#include <filesystem>

#include "core/files/file.h"
#include "proto/files/read_text.h"
#include "proto/weights/solver_state_file.h"
#include "proto/weights/weights_file.h"
#include "solvers/solver.h"
#include "tests/fuzz/fuzzed.h"

namespace {

using namespace cortado;

constexpr const char* kNet = R"(
layer { name: "data" type: "DummyData" top: "data" top: "t" dummy_data_param { shape { dim: 2 dim: 3 dim: 6 dim: 6 }
  shape { dim: 2 dim: 2 } data_filler { type: "gaussian" } data_filler { type: "gaussian" } } }
layer { name: "c" type: "Convolution" bottom: "data" top: "c" convolution_param { num_output: 2 kernel_size: 3 } }
layer { name: "bn" type: "BatchNorm" bottom: "c" top: "bn" }
layer { name: "ip" type: "InnerProduct" bottom: "bn" top: "ip" inner_product_param { num_output: 2 } }
layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "t" top: "loss" }
)";

/// The folder with the net and its weights.
struct Folder {
  std::string path = "/dev/shm/cortado_fuzz_" + std::to_string(::getpid()), digest;

  Folder() {
    std::filesystem::create_directories(path);
    write_file_atomically(path + "/net.prototxt", kNet);
    Context context(1);
    Solver solver = make_solver(solver_file(), {}, context);
    solver.snapshot();
    digest = digest_of_file(path + "/s_iter_0.caffemodel");
  }
  ~Folder() { std::filesystem::remove_all(path); }

  SolverFile solver_file() const {
    return read_solver_from_text("net: '" + path + "/net.prototxt' base_lr: 0.01 lr_policy: 'step' gamma: 0.9 " +
                                     "stepsize: 1 momentum: 0.9 max_iter: 1000 average_loss: 3 random_seed: 1 " +
                                     "snapshot_prefix: '" + path + "/s'",
                                 "solver");
  }
};

}  // namespace

void cortado::fuzz::fuzz(std::string_view input) {
  static const Folder folder;
  caffe::SolverState state;
  if (!state.ParseFromArray(input.data(), int(input.size()))) return;
  state.set_learned_net(folder.path + "/s_iter_0.caffemodel");
  if (state.has_training()) {
    state.mutable_training()->set_weights_digest(folder.digest);
    state.mutable_training()->set_self_digest(self_digest(state));
  }
  const std::string path = folder.path + "/fuzzed.solverstate";
  write_file_atomically(path, state.SerializeAsString());
  expect_answer([&] {
    Context context(1);
    SolverOptions options;
    options.snapshot = path;
    Solver solver = make_solver(folder.solver_file(), options, context);
    solver.step(2);
  });
}
