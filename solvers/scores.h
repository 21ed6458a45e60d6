#pragma once

#include <ostream>
#include <vector>

#include "layers/roles.h"
#include "net/net.h"
#include "solvers/average_precision.h"
#include "solvers/observer.h"

namespace cortado {

/// What a score divides, where its layer tells (layers/roles.h).
struct ScoreParts {
  double numerator = 0, denominator = 0;
  bool known = false;
};

/// The detections behind a score that is a mean average precision.
struct DetectionScore {
  size_t score;  ///< which one it is
  DetectionTally tally;
};

/// Reads the outputs of a net after forward(): one Score for each element, in the net's order, and one, a mean average
/// precision, for a list of judged detections. Allocates nothing where there are none.
class OutputReader {
 public:
  explicit OutputReader(Net& net, ApVersion version = ApVersion::kIntegral);
  /// Throws Error(kData) where a label of a net that is only tested makes the first score that is no number.
  const std::vector<Score>& read();
  const std::vector<Score>& scores() const { return scores_; }  ///< of the last read()
  /// The same, one for each score; those of a net that learns are not known.
  const std::vector<ScoreParts>& parts() const { return parts_; }
  const std::vector<DetectionScore>& detections() const { return detections_; }  ///< of the last read()
  ApVersion ap_version() const { return version_; }

  /// What read() gave, as numbers behind `words`; and what a reader of another net like this one gave, in place of it:
  /// returns what follows.
  void pack(std::vector<double>& words) const;
  const double* unpack(const double* words);

 private:
  struct Output {
    std::vector<float> values;
    std::vector<float> sums;           ///< numerators, denominators
    const Scoring* scoring = nullptr;  ///< null: the layer does not tell, or nothing asks
    size_t top = 0;                    ///< of the layer
    bool detections = false;
  };
  void read_detections(const Output& output, size_t score);
  void read_parts(Output& output, size_t first);
  void explain_nan();

  Net& net_;
  std::vector<Output> outputs_;
  std::vector<Score> scores_;
  std::vector<ScoreParts> parts_;
  ApVersion version_;
  std::vector<DetectionScore> detections_;
  bool explained_ = false;  ///< why there is a score that is no number was asked once
};

/// The scores of several batches in two ways: the mean of the batches' values, as Caffe has it, and the score of all
/// their samples, which is the sum of numerators by the sum of denominators. Where a layer does not tell these the two
/// are one; average precisions are those of all samples either way. Allocates nothing after it is made but for
/// detections.
class ScoreSums {
 public:
  explicit ScoreSums(const OutputReader& outputs);

  void clear();
  /// What `batch` read last, with the net's loss. The mean counts it `share` times.
  void add(const OutputReader& batch, double loss, double share);

  const std::vector<Score>& means();  ///< 0 where nothing was added
  const std::vector<Score>& exact();
  double mean_loss() const { return shares_ > 0 ? loss_ / shares_ : 0; }
  double exact_loss();  ///< the mean, with the exact values of those outputs that are losses
  const std::vector<ScoreParts>& parts() const { return parts_; }
  const std::vector<DetectionScore>& detections() const { return detections_; }
  ApVersion ap_version() const { return version_; }

 private:
  std::vector<Score> means_, exact_;
  std::vector<double> sums_ = std::vector<double>(means_.size());
  std::vector<ScoreParts> parts_;
  double loss_ = 0, shares_ = 0;
  ApVersion version_;
  std::vector<DetectionScore> detections_;
};

/// Readers of logs take a name up to the next blank: blanks become '_'.
std::string one_word(std::string name);

/// Whether two ways to compute one number differ by more than rounding.
bool differ(double a, double b);

/// "per_class[3]", or the output's name where it has one element.
std::string score_name(const std::vector<Score>& scores, size_t index);

/// One line for each score: "    Train net output #0: loss = 0.2145 (* 1 = 0.2145 loss)". Blanks in names become '_'.
void log_scores(const char* which, const std::vector<Score>& scores);

/// One line for each class of a test's detections that has objects: "class1: 0.8" (SSD's show_per_class_result).
void log_average_precisions(const std::vector<DetectionScore>& detections, ApVersion version);

/// A number as log lines have it: "%g" with six digits, and never "-nan", which parsers of logs do not know.
struct Shown {
  double value;
};
std::ostream& operator<<(std::ostream& out, Shown shown);

}  // namespace cortado
