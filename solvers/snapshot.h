#pragma once

// Snapshots on disk: PREFIX_iter_N.caffemodel and PREFIX_iter_N.solverstate, which Caffe reads too, and with
// ema_decay PREFIX_iter_N_ema.caffemodel, the average of the weights, ready to be used; with ".h5" behind the names
// where they are HDF5 files.
//
// The weights are written first, then the state, each beside its name, synced and renamed. The state holds digests of
// the weights and of itself, so the two count only together: a process killed at any moment leaves the last pair whole.
// What an exact resume needs beyond Caffe's own fields is in SolverState.training, which other programs skip.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/files/made_folders.h"
#include "proto/cortado.pb.h"
#include "proto/weights/weights_file.h"
#include "solvers/weight_update.h"

namespace cortado {

struct SnapshotPaths {
  std::string weights, state, average;  ///< the average of the weights, where there is one
  bool hdf5 = false;
};
SnapshotPaths snapshot_paths(const std::string& prefix, int64_t iter, bool hdf5 = false);

/// What a solver says of its snapshots.
struct SnapshotPlan {
  std::string prefix;
  bool hdf5 = false;
  bool diffs = false, at_end = true, keeps_best = false;
  bool averages = false;  ///< beside the weights there is their average
  int interval = 0;       ///< iterations; 0: none
  std::string every;      ///< snapshot_every; "": none
  int keep_last = 0;      ///< 0: all

  /// Whether a run writes some that nothing asks for while it runs.
  bool any() const { return interval > 0 || at_end || keeps_best || !every.empty(); }
  bool is_due(int64_t iter) const { return interval > 0 && iter % interval == 0; }
  SnapshotPaths paths(int64_t iter) const { return snapshot_paths(prefix, iter, hdf5); }
  /// PREFIX_best.caffemodel, with ".h5" behind it where snapshots are HDF5 files: of the one that keep_best keeps.
  std::string best_weights() const { return prefix + "_best.caffemodel" + (hdf5 ? ".h5" : ""); }
  /// The longest path that is needed up to iteration `last`, of what is written before it takes its name.
  std::string longest_path(int64_t last) const;
};
SnapshotPlan snapshot_plan_of(const caffe::SolverParameter& config);

/// The seconds that snapshot_every names: "90s", "10m", "1.5h". Throws FieldError about it for anything else, and for
/// what is not above 0.
double seconds_of_interval(const std::string& text);

/// Writes both files, one blob at a time: the weights of `net`, then `head` (all of the state but the history, which is
/// `update`'s), filling in learned_net and the digests. Throws Error(kIo); an older pair of this name is then still
/// whole, or without its weights (then auto passes over it). Throws Error(kSnapshot) past the 2 GiB of a binary file,
/// Error(kDiverged) for a weight that is not finite, which must not replace a good one.
void write_snapshot(const SnapshotPaths& paths, Net& net, bool with_diffs, const WeightUpdate& update,
                    caffe::SolverState head);

/// Writes the weights that the net has now, as they are to be used, to paths.average. Throws as write_snapshot().
void write_average(const SnapshotPaths& paths, Net& net);

// As HDF5 files (snapshot_format: HDF5), laid out as BVLC Caffe's.

/// Throws Error(kSnapshot) where layers' names do not fit into one HDF5 file, before hours went into the training.
void check_hdf5_snapshot(const std::string& path, const Net& net);

/// Writes the weights, a layer at a time; the digest of the file's bytes. Throws like write_snapshot().
std::string write_net_hdf5(const std::string& path, Net& net, bool with_diffs);

/// Writes the state with the history of `update`.
void write_state_hdf5(const std::string& path, const WeightUpdate& update, caffe::SolverState head);

/// Throws Error(kDiverged) where a blob of the layer holds what is no number.
void check_finite(const caffe::LayerParameter& layer);

/// A snapshot whose digests agree. Those that Caffe wrote have none: they are only known to parse.
struct Snapshot {
  std::string state_path, weights_path;
  caffe::SolverState state;
  std::vector<LayerWeights> weights;
  bool exact() const { return state.has_training(); }
};

/// Reads and verifies a .solverstate and finds its weights: beside it, else where it says. Throws Error(kSnapshot) for
/// damage, Error(kUsage) for a file of weights, Error(kIo) where a file cannot be read.
Snapshot read_snapshot(const std::string& state_path);

/// Whether read_snapshot() would take it, found out without keeping its weights in memory. Throws nothing.
bool is_whole_snapshot(const std::string& state_path);

/// What --snapshot=`request` means: a path, or "auto": of the run that wrote to `prefix` last, the last snapshot that
/// is whole (a warning names each that is not), or nothing where there is no state at all. Throws Error(kSnapshot)
/// where none of that run's is whole.
std::optional<Snapshot> find_snapshot(const std::string& request, const std::string& prefix);

/// The exclusive right to write snapshots of one prefix. Makes the folder, checks that it takes files, and removes what
/// a killed process left half-written. A folder that it made goes again where nothing was written. Throws Error(kIo),
/// also when another training holds the prefix.
class SnapshotLock {
 public:
  /// Whose right it is.
  enum class Holder { kTraining, kProcess };

  /// For kProcess every lock of that kind in this process is the same one; a warning says so.
  explicit SnapshotLock(const std::string& prefix, Holder holder = Holder::kTraining);

 private:
  class File;
  static std::shared_ptr<File> shared_file(const std::string& path, const std::string& prefix,
                                           std::unique_ptr<MadeFolders> folders);

  std::shared_ptr<File> file_;
};

/// Throws Error(kIo) where the folder of the prefix cannot be made or takes no files. Leaves no folder that it made.
void require_place_for_snapshots(const std::string& prefix);

/// Bytes that may still be written to the file system of `prefix`, or -1 where the system does not tell.
int64_t free_bytes(const std::string& prefix);

}  // namespace cortado
