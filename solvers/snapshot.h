#pragma once

// Snapshots on disk: PREFIX_iter_N.caffemodel and PREFIX_iter_N.solverstate, which Caffe reads too. With ema_decay
// there is also PREFIX_iter_N_ema.caffemodel, the average of the weights, ready to be deployed. HDF5 files have the
// additional suffix ".h5".
//
// The weights are written first, then the state, each to a temporary file, which is synced and renamed. The state
// contains digests of the weights and of itself, so both are valid only together: if the process is killed, the last
// complete pair survives. Fields for an exact resume beyond Caffe's own are in SolverState.training, which other
// programs skip.

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
  std::string weights, state, average;  ///< `average`: the average of the weights, if there is one
  bool hdf5 = false;
};
SnapshotPaths snapshot_paths(const std::string& prefix, int64_t iter, bool hdf5 = false);

/// The solver's options for snapshots.
struct SnapshotPlan {
  std::string prefix;
  bool hdf5 = false;
  bool diffs = false, at_end = true, keeps_best = false;
  bool averages = false;  ///< write the average of the weights, too
  int interval = 0;       ///< iterations; 0: none
  std::string every;      ///< the value of snapshot_every; "": none
  int keep_last = 0;      ///< 0: all

  /// Whether a run writes snapshots without requests.
  bool any() const { return interval > 0 || at_end || keeps_best || !every.empty(); }
  bool is_due(int64_t iter) const { return interval > 0 && iter % interval == 0; }
  SnapshotPaths paths(int64_t iter) const { return snapshot_paths(prefix, iter, hdf5); }
  /// PREFIX_best.caffemodel, the weights of the snapshot that keep_best keeps; with the suffix ".h5" for HDF5 files.
  std::string best_weights() const { return prefix + "_best.caffemodel" + (hdf5 ? ".h5" : ""); }
  /// The longest path that is needed up to iteration `last`, including temporary files.
  std::string longest_path(int64_t last) const;
};
SnapshotPlan snapshot_plan_of(const caffe::SolverParameter& config);

/// Parses the duration in snapshot_every, in seconds: "90s", "10m", "1.5h". Throws FieldError if it is invalid or not
/// above 0.
double seconds_of_interval(const std::string& text);

/// Writes both files, one blob at a time: the weights of `net`, then `head`, which is the state without the history.
/// The history is `update`'s; learned_net and the digests are filled in. Throws Error(kIo); an older pair of this name
/// then is still complete, or lacks its weights, and "auto" skips it. Throws Error(kSnapshot) if a binary file would
/// exceed 2 GiB. Throws Error(kDiverged) for a weight that is not finite, because it must not replace a good one.
void write_snapshot(const SnapshotPaths& paths, Net& net, bool with_diffs, const WeightUpdate& update,
                    caffe::SolverState head);

/// Writes the net's current weights to paths.average. Throws like write_snapshot().
void write_average(const SnapshotPaths& paths, Net& net);

// HDF5 files (snapshot_format: HDF5), with the structure of BVLC Caffe's.

/// Throws Error(kSnapshot) if layers' names do not fit into one HDF5 file. This is checked before the training.
void check_hdf5_snapshot(const std::string& path, const Net& net);

/// Which numbers may be written: in a training, those that are not finite show that it has diverged.
enum class Numbers { kFinite, kAny };

/// Writes the weights, a layer at a time, and returns the digest of the file's bytes. Throws like write_snapshot().
std::string write_net_hdf5(const std::string& path, Net& net, bool with_diffs, Numbers allowed = Numbers::kFinite);

/// Writes the state with the history of `update`.
void write_state_hdf5(const std::string& path, const WeightUpdate& update, caffe::SolverState head);

/// Throws Error(kDiverged) if a blob of the layer contains a number that is not finite.
void check_finite(const caffe::LayerParameter& layer);

/// A snapshot whose digests match. Caffe's snapshots have no digests; they are only known to parse.
struct Snapshot {
  std::string state_path, weights_path;
  caffe::SolverState state;
  std::vector<LayerWeights> weights;
  bool exact() const { return state.has_training(); }
};

/// Reads and verifies a .solverstate and finds its weights: in the same folder, or else at the path in it. Throws
/// Error(kSnapshot) for corrupt files, Error(kUsage) for a file of weights, Error(kIo) if a file cannot be read.
Snapshot read_snapshot(const std::string& state_path);

/// Whether read_snapshot() would accept it, without loading its weights. Does not throw.
bool is_whole_snapshot(const std::string& state_path);

/// Resolves --snapshot=`request`: a path, or "auto". "auto" is the last complete snapshot of the latest run that wrote
/// to `prefix`. It warns about each incomplete one. Returns nothing without any state. Throws
/// Error(kSnapshot) if that run has no complete snapshot.
std::optional<Snapshot> find_snapshot(const std::string& request, const std::string& prefix);

/// The exclusive right to write snapshots of one prefix. Creates the folder, checks that it is writable, and removes
/// incomplete files of a killed process. A folder that it created is removed again if nothing was written. Throws
/// Error(kIo), also if another training holds the lock.
class SnapshotLock {
 public:
  /// The owner of the lock: one training, or the whole process.
  enum class Holder { kTraining, kProcess };

  /// With kProcess all locks of the prefix in this process are shared; a warning reports it.
  explicit SnapshotLock(const std::string& prefix, Holder holder = Holder::kTraining);

 private:
  class File;
  static std::shared_ptr<File> shared_file(const std::string& path, const std::string& prefix,
                                           std::unique_ptr<MadeFolders> folders);

  std::shared_ptr<File> file_;
};

/// Throws Error(kIo) if the folder of the prefix cannot be created or is not writable. Removes folders that it created.
void require_place_for_snapshots(const std::string& prefix);

/// Free bytes in the file system of `prefix`, or -1 if unknown.
int64_t free_bytes(const std::string& prefix);

}  // namespace cortado
