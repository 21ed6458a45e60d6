#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/net.h"
#include "proto/files/override.h"
#include "ranks/engine.h"
#include "solvers/config.h"

namespace cortado {

/// Command line options that extend or override a solver file.
struct SolverOptions {
  caffe::NetState state;             ///< level and stages, merged over the solver's train_state as in Caffe
  std::vector<std::string> weights;  ///< to start from, in order; replace the solver's `weights`. Each may be
  std::string snapshot;              ///< to resume from: "", a path, or "auto"
  int data_threads = 0;              ///< decoding threads; 0: as set in each data layer
  int64_t skip_bad = 0;              ///< BuildOptions::skip_bad of all nets
  bool fuse = true;
  bool recompute = false;               ///< BuildOptions::recompute of the training net
  std::vector<std::string> freeze;      ///< BuildOptions::freeze of the training net
  std::vector<std::string> switch_off;  ///< graph passes to disable
  std::string scale_lr = "none";        ///< scaling of base_lr with the number of shards: "none", "linear" or "sqrt"
  bool divide_batch = false;            ///< batch_size is that of an iteration and is divided among the shards
  ranks::Engine* engine = nullptr;      ///< if this process is one of several ranks; must outlive the solver
  std::string device_engine;            ///< between the ranks' devices: "nccl", "host", or "" for the available one
  bool observed = false;       ///< BuildOptions::observed of all nets; updates wait for the whole backward pass
  bool keeps_updates = false;  ///< IterationPlan::keeps_updates, also without snapshot_diff
  bool shares_prefix = false;  ///< the snapshot prefix is shared in this process; locked with the first snapshot
  Overrides overrides;         ///< of the nets' fields; those in the solver file are applied already
};

/// Finds the file `path` that `field` of the solver names: in the current folder, or else next to the solver. Throws
/// Error(kIo) at the field.
std::string path_in_solver(const SolverFile& file, const std::string& field, const std::string& path);

/// The training net, and the test nets, which share its weights. Test nets are destroyed first.
struct SolverNets {
  std::unique_ptr<Net> train;
  std::vector<std::unique_ptr<Net>> tests;
  /// With test_epoch, per test net: the number of records, and the net for the last records that do not fill a batch
  /// (null if there are none).
  std::vector<int64_t> test_records;
  std::vector<std::unique_ptr<Net>> tails;
  bool dealt_out = false;  ///< the ranks share the batches of tests; otherwise only the first one has test nets
};

/// A net of a solver, parsed but not built, and its build options.
struct SolverNetFile {
  std::shared_ptr<const NetFile> file;
  graph::BuildOptions options;
};

/// Reads the nets of a checked solver, each file once. Their random draws are keyed by context.seed. Paths are searched
/// in the current folder, then next to the solver. All references must outlive this object.
class SolverNetReader {
 public:
  SolverNetReader(const SolverConfig& config, const SolverOptions& options, const Context& context)
      : config_(config), options_(options), context_(context) {}
  SolverNetReader(const SolverConfig&, const SolverOptions&&,
                  const Context&) = delete;  ///< these references are stored, not copied

  const SolverConfig& config() const { return config_; }
  /// The number of test nets on this rank: all, or 0 on other ranks if the first one tests alone.
  size_t test_count();
  /// Whether the ranks share the batches of tests. This needs the consent of all test nets; the reason against is
  /// logged once.
  bool deals_tests_out();

  /// Throw like the functions that read nets.
  SolverNetFile train();
  SolverNetFile test(size_t index);  ///< for this rank's batches, if the ranks share them

  /// The source of the net for log lines: "net file: lenet.prototxt", or the field that contains the net.
  std::string train_source() const;
  std::string test_source(size_t index) const;

 private:
  struct Source;
  Source source_of_train() const;
  size_t requested_tests() const { return size_t(config_.tests.nets); }
  std::vector<Source> sources_of_tests() const;
  SolverNetFile whole_test(size_t index);
  std::string why_first_tests_alone();
  std::shared_ptr<const NetFile> read(const Source& source);
  graph::BuildOptions build_options() const;

  const SolverConfig& config_;
  const SolverOptions& options_;
  const Context& context_;
  std::optional<bool> deals_tests_out_;
  std::map<std::string, std::shared_ptr<const NetFile>> read_;  ///< training and test net are usually in the same file
};

/// Builds the test nets for a training net that was built as reader.train() describes; they use its weights. Throws
/// Error.
SolverNets with_test_nets(std::unique_ptr<Net> train, SolverNetReader& reader, Context& context);

/// Reads and builds all nets of a checked solver. Throws like the functions that read and build nets.
SolverNets make_solver_nets(const SolverConfig& config, const SolverOptions& options, Context& context);

/// The number of iterations for `epochs` epochs of the training net's data. Throws FieldError.
int max_iter_of_epochs(int64_t epochs, const IterationPlan& plan, const Net& train);

/// Loads weight files into the training net, and into test nets for the layers that only they have.
void load_starting_weights(const std::vector<std::string>& files, SolverNets& nets);

/// The files to start from: the options' or else the solver's, with lists split. The solver's are searched in the
/// current folder, then next to the solver. Throws Error(kIo) at the place of a missing one.
std::vector<std::string> starting_weights(const SolverFile& solver, const SolverOptions& options);

}  // namespace cortado
