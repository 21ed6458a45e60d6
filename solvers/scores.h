#pragma once

#include <ostream>
#include <vector>

#include "layers/roles.h"
#include "net/net.h"
#include "solvers/average_precision.h"
#include "solvers/observer.h"

namespace cortado {

/// Numerator and denominator of a score, if its layer reports them (layers/roles.h).
struct ScoreParts {
  double numerator = 0, denominator = 0;
  bool known = false;
};

/// The detections from which a mean average precision is computed.
struct DetectionScore {
  size_t score;  ///< its index
  DetectionTally tally;
};

/// Reads the outputs of a net after forward(): one Score for each element, in the net's order, and one, a mean average
/// precision, for a list of evaluated detections. Allocates nothing without detections.
class OutputReader {
 public:
  explicit OutputReader(Net& net, ApVersion version = ApVersion::kIntegral);
  /// At the first NaN score of a test net: throws Error(kData) if a label causes it, else warns if the weights or the
  /// data do. Then blobs that are not outputs may be overwritten.
  const std::vector<Score>& read();
  const std::vector<Score>& scores() const { return scores_; }  ///< of the last read()
  /// The parts of each score; unknown for a training net.
  const std::vector<ScoreParts>& parts() const { return parts_; }
  const std::vector<DetectionScore>& detections() const { return detections_; }  ///< of the last read()
  ApVersion ap_version() const { return version_; }

  /// pack() appends the result of read() to `words`. unpack() replaces the result by that of another reader of a net
  /// like this one, and returns the end of its words.
  void pack(std::vector<double>& words) const;
  const double* unpack(const double* words);

 private:
  struct Output {
    std::vector<float> values;
    std::vector<float> sums;           ///< numerators, denominators
    const Scoring* scoring = nullptr;  ///< null: the layer does not report them, or they are not needed
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
  bool explained_ = false;  ///< whether the cause of a NaN score was already searched for
};

/// Scores of several batches, computed in two ways: the mean of the batches' values, as in Caffe, and the exact score
/// over all samples, which is the sum of numerators divided by the sum of denominators. If a layer does not report
/// these, both are the same. Average precisions are always over all samples. Allocates nothing after construction,
/// except for detections.
class ScoreSums {
 public:
  explicit ScoreSums(const OutputReader& outputs);

  void clear();
  /// Adds the latest result of `batch` and the net's loss, with weight `share` in the means.
  void add(const OutputReader& batch, double loss, double share);

  const std::vector<Score>& means();  ///< 0 if nothing was added
  const std::vector<Score>& exact();
  double mean_loss() const { return shares_ > 0 ? loss_ / shares_ : 0; }
  double exact_loss();  ///< the mean loss, with the exact values of the outputs that are losses
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

/// Replaces blanks by '_', because parsers of logs read a name up to the next blank.
std::string one_word(std::string name);

/// Whether two results for one number differ by more than rounding errors.
bool differ(double a, double b);

/// "per_class[3]", or just the output's name if it has one element.
std::string score_name(const std::vector<Score>& scores, size_t index);

/// Logs one line for each score: "    Train net output #0: loss = 0.2145 (* 1 = 0.2145 loss)". Blanks in names become
/// '_'.
void log_scores(const char* which, const std::vector<Score>& scores);

/// Logs one line for each class of a test's detections that has objects: "class1: 0.8" (SSD's show_per_class_result).
void log_average_precisions(const std::vector<DetectionScore>& detections, ApVersion version);

/// A number in the format of log lines: "%g" with six digits, and never "-nan", which parsers of logs do not accept.
struct Shown {
  double value;
};
std::ostream& operator<<(std::ostream& out, Shown shown);

}  // namespace cortado
