#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/inspect/odd_images.h"
#include "data/progress.h"

namespace cortado::data {

/// What an LMDB of Datums or AnnotatedDatums holds.
struct DatasetStats {
  struct Broken {
    std::string key, reason;
  };
  /// A length of each image. Single odd images move `least` and `most`, but not `typical`.
  struct Lengths {
    std::map<int64_t, int64_t> counts;  ///< images by length

    int64_t least() const { return counts.empty() ? 0 : counts.begin()->first; }
    int64_t most() const { return counts.empty() ? 0 : counts.rbegin()->first; }
    int64_t median() const { return quantile(0.5); }
    /// What three quarters of the images reach.
    int64_t typical() const { return quantile(0.25); }
    /// The length that a share of `share` of the images is below or at; 0 where there are none.
    int64_t quantile(double share) const;
  };

  int64_t records = 0, bytes = 0;        ///< bytes: of the records' values
  int64_t encoded = 0;                   ///< of them hold image files, the others pixels
  int64_t broken = 0;                    ///< of them cannot be used
  std::vector<Broken> told_broken;       ///< the first 20
  int64_t annotated = 0;                 ///< of them have objects, others a label
  std::map<int32_t, int64_t> per_label;  ///< records, or objects

  std::map<int, int64_t> per_channels;      ///< how many images have 1, 3, ... channels
  std::map<std::string, int64_t> per_size;  ///< by "3x28x28"; at most 1000 of them are kept apart
  Lengths height, width, short_side;

  int64_t decoded = 0;  ///< images whose pixels were looked at, which all below is about
  /// Of each channel, of images with the most frequent number of channels. Every image counts as much, whatever its
  /// size, and large ones count as nets see them: brought to a shorter side of 256 to 511 by averages of blocks.
  std::vector<double> mean, deviation;
  OddImages odd;

  bool one_size() const { return per_size.size() == 1; }
  int channels() const;     ///< the most frequent number; 0 where no image can be used
  int64_t classes() const;  ///< the highest label and 1; 0 where labels are negative
};

struct StatsOptions {
  int64_t most_decoded = 0;  ///< of so many images, at even distances, pixels are looked at; 0: of all
  int64_t most_pixels = 0;   ///< and of no more once these are so many; 0: no limit. Labels and sizes are of all
  bool find_odd = true;      ///< fills DatasetStats::odd
  Progress progress = {};
};

/// Reads all records of an LMDB. Records that cannot be used are counted, not thrown. Throws Error as Lmdb::open does.
DatasetStats dataset_stats(const std::string& lmdb, const StatsOptions& options = {});

}  // namespace cortado::data
