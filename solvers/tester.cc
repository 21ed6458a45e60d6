#include "solvers/tester.h"

namespace cortado {

namespace {

/// Training counts its passes from 0 up; each test net has a range far above.
uint64_t pass_of_test(int net, uint64_t pass) { return (uint64_t(1) << 63) | (uint64_t(net) << 48) | pass; }

}  // namespace

Tester::Tester(Net& net, int index, int batches)
    : net_(net), index_(index), batches_(batches), outputs_(net), means_(outputs_.scores()) {}

bool Tester::run(const std::function<bool(int done)>& go_on) {
  for (Score& mean : means_) mean.value = 0;
  loss_ = 0;
  for (int done = 0; done < batches_; ++done) {
    if (!go_on(done)) return false;
    net_.context().pass = pass_of_test(index_, passes_++);
    net_.forward();
    loss_ += net_.loss();
    const std::vector<Score>& scores = outputs_.read();
    for (size_t i = 0; i < scores.size(); ++i) means_[i].value += scores[i].value;
  }
  for (Score& mean : means_) mean.value /= batches_;
  loss_ /= batches_;
  return true;
}

}  // namespace cortado
