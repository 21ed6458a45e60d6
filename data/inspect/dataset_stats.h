#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/inspect/odd_images.h"
#include "data/progress.h"

namespace cortado::data {

/// Statistics of an LMDB of Datums or AnnotatedDatums.
struct DatasetStats {
  static constexpr size_t kMaxSamples = 8;

  struct Broken {
    std::string key, reason;
  };
  /// Distribution of one dimension of the images. Outliers change `least` and `most`, but not `typical`.
  struct Lengths {
    std::map<int64_t, int64_t> counts;  ///< number of images by length

    int64_t least() const { return counts.empty() ? 0 : counts.begin()->first; }
    int64_t most() const { return counts.empty() ? 0 : counts.rbegin()->first; }
    int64_t median() const { return quantile(0.5); }
    /// The length that three quarters of the images have at least.
    int64_t typical() const { return quantile(0.25); }
    /// The quantile of the lengths at fraction `share`; 0 without images.
    int64_t quantile(double share) const;
  };

  /// Labels for regression.
  struct Numbers {
    int64_t count = 0;
    Label least = 0, most = 0;

    void add(Label label) {
      least = count == 0 ? label : std::min(least, label);
      most = count == 0 ? label : std::max(most, label);
      ++count;
    }
  };

  int64_t records = 0, bytes = 0;                       ///< bytes: of the records' values
  int64_t encoded = 0;                                  ///< records with image files; the others have pixels
  int64_t broken = 0;                                   ///< unusable records
  std::vector<Broken> listed_broken;                    ///< the first 20
  int64_t annotated = 0;                                ///< records with objects; the others have a label
  std::map<int32_t, int64_t> per_label;                 ///< records with a class, or objects
  Numbers numbers;                                      ///< labels that are not classes
  std::map<int32_t, std::vector<std::string>> samples;  ///< the first kMaxSamples keys of each label

  std::map<int, int64_t> per_channels;      ///< how many images have 1, 3, ... channels
  std::map<std::string, int64_t> per_size;  ///< by "3x28x28"; at most 1000 different sizes
  Lengths height, width, short_side;

  int64_t decoded = 0;  ///< images whose pixels were read; the fields below are about these
  /// Per channel, over images with the most frequent number of channels. Every image has the same weight. Large images
  /// are reduced to a shorter side of 256 to 511 by averaging blocks, as nets see them.
  std::vector<double> mean, deviation;
  OddImages odd;

  bool one_size() const { return per_size.size() == 1; }
  int channels() const;     ///< the most frequent number; 0 if no image is usable
  int64_t classes() const;  ///< the highest label plus 1; 0 if labels are negative, or others than classes
};

struct StatsOptions {
  int64_t most_decoded = 0;  ///< number of images whose pixels are read, evenly spaced; 0: all
  int64_t most_pixels = 0;   ///< no pixels are read after this many; 0: no limit. Labels and sizes are of all images
  bool find_odd = true;      ///< fill DatasetStats::odd
  OddImageFinder* finder = nullptr;  ///< finds duplicates of images of other sets, too; null: of this one only
  int set = 0;                       ///< the number of this set for the finder
  Progress progress = {};
};

/// Reads all records of an LMDB. Unusable records are counted and do not throw. Throws Error like Lmdb::open.
DatasetStats dataset_stats(const std::string& lmdb, const StatsOptions& options = {});

}  // namespace cortado::data
