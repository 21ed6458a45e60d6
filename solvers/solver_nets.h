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

/// What the command line adds to a solver file.
struct SolverOptions {
  caffe::NetState state;             ///< level and stages: merged over the solver's train_state, as Caffe does
  std::vector<std::string> weights;  ///< files to start from, in order; replaces the solver's `weights`. Each may be a
                                     ///< list separated by commas
  std::string snapshot;              ///< what to resume from: "", a path, or "auto"
  int data_threads = 0;              ///< decoding threads; 0: what each data layer says
  int64_t skip_bad = 0;              ///< BuildOptions::skip_bad of all nets
  bool fuse = true;
  bool recompute = false;               ///< BuildOptions::recompute of the training net
  std::vector<std::string> freeze;      ///< BuildOptions::freeze of the training net
  std::vector<std::string> switch_off;  ///< passes of the graph not to run
  std::string scale_lr = "none";        ///< of base_lr by the number of shards: "none", "linear" or "sqrt"
  bool divide_batch = false;            ///< batch_size is that of an iteration, which its shards share
  ranks::Engine* engine = nullptr;      ///< of several ranks, of which this process is one; outlives the solver
  std::string device_engine;            ///< between the ranks' devices: "nccl", "host", or "" for what is there
  bool observed = false;                ///< BuildOptions::observed of all nets; updates wait for whole backward passes
  bool shares_prefix = false;           ///< of snapshots, with others of this process; locked when the first is written
  Overrides overrides;                  ///< of the nets' fields; the solver file has its own already
};

/// The file that `field` of the solver names as `path`: in the current folder, else beside the solver. Throws
/// Error(kIo) at the field.
std::string path_in_solver(const SolverFile& file, const std::string& field, const std::string& path);

/// The net that learns, and those that look at its weights. The tests go first when this is destroyed.
struct SolverNets {
  std::unique_ptr<Net> train;
  std::vector<std::unique_ptr<Net>> tests;
  /// With test_epoch, per test net: the records of its set, and the net for those that fill no batch (null: none is
  /// left).
  std::vector<int64_t> test_records;
  std::vector<std::unique_ptr<Net>> tails;
  bool dealt_out = false;  ///< the ranks share the batches of tests; else the first one alone has test nets
};

/// A net that a solver names, read but not built, and how it is to be built.
struct SolverNetFile {
  std::shared_ptr<const NetFile> file;
  graph::BuildOptions options;
};

/// Reads the nets that a checked solver names, each file once; their draws are keyed by context.seed. A path is looked
/// up in the current folder, then beside the solver. All references outlive this.
class SolverNetReader {
 public:
  SolverNetReader(const SolverConfig& config, const SolverOptions& options, const Context& context)
      : config_(config), options_(options), context_(context) {}
  SolverNetReader(const SolverConfig&, const SolverOptions&&, const Context&) = delete;  ///< they are not copied

  const SolverConfig& config() const { return config_; }
  /// Test nets of this rank: all of them, or none of a rank other than the first where it tests alone.
  size_t test_count();
  /// Whether several ranks share the batches of tests. Decided by all test nets together; why not is logged once.
  bool deals_tests_out();

  /// Throw what reading nets throws.
  SolverNetFile train();
  SolverNetFile test(size_t index);  ///< the batches of this rank, where they are dealt out

  /// Where they come from, for log lines: "net file: lenet.prototxt", or the field that holds the net.
  std::string train_source() const;
  std::string test_source(size_t index) const;

 private:
  struct Source;
  Source source_of_train() const;
  size_t wanted_tests() const { return size_t(config_.tests.nets); }
  std::vector<Source> sources_of_tests() const;
  SolverNetFile whole_test(size_t index);
  std::string why_first_tests_alone();
  std::shared_ptr<const NetFile> read(const Source& source);
  graph::BuildOptions build_options() const;

  const SolverConfig& config_;
  const SolverOptions& options_;
  const Context& context_;
  std::optional<bool> deals_tests_out_;
  std::map<std::string, std::shared_ptr<const NetFile>> read_;  ///< the usual file holds the training and the test net
};

/// The training net, built as reader.train() says, and around it the test nets, which use its weights. Throws Error.
SolverNets with_test_nets(std::unique_ptr<Net> train, SolverNetReader& reader, Context& context);

/// Reads and builds all nets that a checked solver names. Throws what reading and building nets throw.
SolverNets make_solver_nets(const SolverConfig& config, const SolverOptions& options, Context& context);

/// The iterations that so many passes over the training net's data take. Throws FieldError.
int max_iter_of_epochs(int64_t epochs, const IterationPlan& plan, const Net& train);

/// Loads weight files into the training net, and into test nets for the layers that only they have.
void load_starting_weights(const std::vector<std::string>& files, SolverNets& nets);

/// The files to start from: the options' or else the solver's, lists taken apart. The solver's are looked up in the
/// current folder, then beside the solver; throws Error(kIo) at the place of one that is nowhere.
std::vector<std::string> starting_weights(const SolverFile& solver, const SolverOptions& options);

}  // namespace cortado
