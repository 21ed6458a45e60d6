#include "solvers/tester.h"

#include "core/error.h"

namespace cortado {

namespace {

/// Training counts its passes from 0 up; each test net has a range far above.
uint64_t pass_of_test(int net, uint64_t pass) { return (uint64_t(1) << 63) | (uint64_t(net) << 48) | pass; }

}  // namespace

Tester::Tester(Net& net, int index, int batches)
    : net_(net), index_(index), batches_(batches), outputs_(net), means_(outputs_.scores()) {}

Tester::Tester(Net& net, Net* tail, int index, int64_t records) : Tester(net, index, int(records / net.batch_size())) {
  tail_ = tail;
  records_ = records;
  if (!tail) return;
  tail_outputs_ = std::make_unique<OutputReader>(*tail);
  for (size_t k = 0; k < net.outputs().size(); ++k)
    if (const NetOutput& output = net.outputs()[k]; output.shape != tail->outputs()[k].shape)
      throw FieldError("test_epoch",
                       "output '" + output.name + "' has values for each sample, not a score of the batch",
                       "a Silence layer takes it from the outputs");
}

void Tester::rewind() {
  for (const auto& [layer, position] : net_.positions()) net_.seek(layer, 0);
  if (!tail_) return;
  for (const auto& [layer, position] : tail_->positions())
    tail_->seek(layer, uint64_t(batches_) * uint64_t(net_.batch_size()));
}

void Tester::run_batch(Net& net, OutputReader& outputs, double share) {
  net.context().pass = pass_of_test(index_, passes_++);
  net.forward();
  loss_ += net.loss() * share;
  const std::vector<Score>& scores = outputs.read();
  for (size_t i = 0; i < scores.size(); ++i) means_[i].value += scores[i].value * share;
}

bool Tester::run(const std::function<bool(int done)>& go_on) {
  for (Score& mean : means_) mean.value = 0;
  loss_ = 0;
  const double batch = double(records_ > 0 ? net_.batch_size() : 1), all = double(records_ > 0 ? records_ : batches_);
  if (records_ > 0) rewind();
  for (int done = 0; done < batches_; ++done) {
    if (!go_on(done)) return false;
    run_batch(net_, outputs_, batch);
  }
  if (tail_) {
    if (!go_on(batches_)) return false;
    run_batch(*tail_, *tail_outputs_, double(tail_->batch_size()));
  }
  for (Score& mean : means_) mean.value /= all;
  loss_ /= all;
  return true;
}

}  // namespace cortado
