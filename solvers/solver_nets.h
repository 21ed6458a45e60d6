#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/net.h"
#include "proto/override.h"
#include "proto/read_text.h"

namespace cortado {

/// What the command line adds to a solver file.
struct SolverOptions {
  caffe::NetState state;             ///< level and stages: merged over the solver's train_state, as Caffe does
  std::vector<std::string> weights;  ///< files to start from, in order; replaces the solver's `weights`. Each may be a
                                     ///< list separated by commas
  std::string snapshot;              ///< what to resume from: "", a path, or "auto"
  int data_threads = 0;              ///< decoding threads; 0: what each data layer says
  bool fuse = true;
  bool recompute = false;               ///< BuildOptions::recompute of the training net
  std::vector<std::string> freeze;      ///< BuildOptions::freeze of the training net
  std::vector<std::string> switch_off;  ///< passes of the graph not to run
  Overrides overrides;                  ///< of the nets' fields; the solver file has its own already
};

/// The net that learns, and those that look at its weights. The tests go first when this is destroyed.
struct SolverNets {
  std::unique_ptr<Net> train;
  std::vector<std::unique_ptr<Net>> tests;
  /// With test_epoch, per test net: the records of its set, and the net for those that fill no batch (null: none is
  /// left).
  std::vector<int64_t> test_records;
  std::vector<std::unique_ptr<Net>> tails;
};

/// Builds the nets that a checked solver names; their draws are keyed by context.seed. A path is looked up in the
/// current folder, then beside the solver. Throws what reading and building nets throw.
SolverNets make_solver_nets(const SolverFile& file, const SolverOptions& options, Context& context);

/// A net that a solver names, read but not built, and the state that it would be built in.
struct SolverNetFile {
  std::shared_ptr<const NetFile> file;
  caffe::NetState state;
};

/// The net to train, then the test nets: those that make_solver_nets() would build.
std::vector<SolverNetFile> read_solver_nets(const SolverFile& file, const SolverOptions& options, Context& context);

/// The iterations that max_epoch passes over the training net's data take. Throws FieldError.
int max_iter_of_epochs(const caffe::SolverParameter& solver, const Net& train);

/// Loads weight files into the training net, and into test nets for the layers that only they have.
void load_starting_weights(const std::vector<std::string>& files, SolverNets& nets);

/// The files to start from: the options' or else the solver's, lists taken apart. The solver's are looked up in the
/// current folder, then beside the solver; throws Error(kIo) at the place of one that is nowhere.
std::vector<std::string> starting_weights(const SolverFile& solver, const SolverOptions& options);

}  // namespace cortado
