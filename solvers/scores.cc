#include "solvers/scores.h"

#include <cmath>

#include "core/log.h"

namespace cortado {

namespace {

/// Readers of logs take a name up to the next blank.
std::string one_word(std::string name) {
  for (char& c : name)
    if (static_cast<unsigned char>(c) <= ' ' || c == 127) c = '_';
  return name;
}

}  // namespace

OutputReader::OutputReader(const Net& net) : net_(net) {
  for (const NetOutput& output : net.outputs()) {
    values_.emplace_back(size_t(output.shape.count()));
    for (size_t k = 0; k < values_.back().size(); ++k) scores_.push_back({output.name, 0, output.loss_weight});
  }
}

const std::vector<Score>& OutputReader::read() {
  size_t at = 0;
  for (size_t i = 0; i < values_.size(); ++i) {
    net_.read_blob_to(net_.outputs()[i].value, values_[i].data());
    for (const float value : values_[i]) scores_[at++].value = value;
  }
  return scores_;
}

std::ostream& operator<<(std::ostream& out, Shown shown) {
  return std::isnan(shown.value) ? out << "nan" : out << shown.value;
}

void log_scores(const char* which, const std::vector<Score>& scores) {
  for (size_t i = 0; i < scores.size(); ++i) {
    const Score& score = scores[i];
    LogStream line = log_info();
    line << "    " << which << " net output #" << i << ": " << one_word(score.name) << " = " << Shown{score.value};
    if (score.loss_weight != 0)
      line << " (* " << score.loss_weight << " = " << Shown{score.loss_weight * score.value} << " loss)";
  }
}

}  // namespace cortado
