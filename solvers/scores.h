#pragma once

#include <ostream>
#include <vector>

#include "net/net.h"
#include "solvers/observer.h"

namespace cortado {

/// Reads the outputs of a net after forward(): one Score for each element, in the net's order. Allocates nothing.
class OutputReader {
 public:
  explicit OutputReader(const Net& net);
  const std::vector<Score>& read();
  const std::vector<Score>& scores() const { return scores_; }  ///< of the last read()

 private:
  const Net& net_;
  std::vector<std::vector<float>> values_;
  std::vector<Score> scores_;
};

/// One line for each score: "    Train net output #0: loss = 0.2145 (* 1 = 0.2145 loss)". Blanks in names become '_'.
void log_scores(const char* which, const std::vector<Score>& scores);

/// A number as log lines have it: "%g" with six digits, and never "-nan", which parsers of logs do not know.
struct Shown {
  double value;
};
std::ostream& operator<<(std::ostream& out, Shown shown);

}  // namespace cortado
