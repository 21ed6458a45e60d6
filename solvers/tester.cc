#include "solvers/tester.h"

#include "core/error.h"
#include "core/log.h"

namespace cortado {

namespace {

/// Training counts its passes from 0 up; each test net has a range far above.
uint64_t pass_of_test(int net, uint64_t pass) { return (uint64_t(1) << 63) | (uint64_t(net) << 48) | pass; }

}  // namespace

Tester::Tester(Net& net, int index, int batches, ApVersion version)
    : net_(net), index_(index), batches_(batches), outputs_(net, version), sums_(outputs_) {}

Tester::Tester(Net& net, Net* tail, int index, int64_t records, ApVersion version)
    : Tester(net, index, int(records / net.batch_size()), version) {
  tail_ = tail;
  records_ = records;
  if (!tail) return;
  tail_outputs_ = std::make_unique<OutputReader>(*tail);
  for (size_t k = 0; k < net.outputs().size(); ++k)
    if (const NetOutput& output = net.outputs()[k]; output.scores() != tail->outputs()[k].scores())
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

void Tester::run_batch(Net& net, OutputReader& outputs) {
  net.context().pass = pass_of_test(index_, passes_++);
  net.forward();
  outputs.read();
  sums_.add(outputs, net.loss(), double(records_ > 0 ? net.batch_size() : 1));
}

void Tester::take_scores() {
  exact_ = sums_.exact();
  scores_ = records_ > 0 ? exact_ : sums_.means();
  loss_ = records_ > 0 ? sums_.exact_loss() : sums_.mean_loss();
}

void Tester::say_once_what_differs() {
  constexpr size_t kMax = 5;
  std::vector<size_t> different;
  for (size_t i = 0; i < scores_.size(); ++i)
    if (differ(scores_[i].value, exact_[i].value)) different.push_back(i);
  if (different.empty() || said_what_differs_) return;
  said_what_differs_ = true;
  LogStream line = log_info();
  line << "These are means over batches, as Caffe has them. Of all samples together";
  for (size_t n = 0; n < std::min(kMax, different.size()); ++n) {
    const size_t i = different[n];
    line << (n > 0 ? ", " : " ") << one_word(score_name(scores_, i)) << " is " << Shown{exact_[i].value} << " (not "
         << Shown{scores_[i].value} << ")";
  }
  if (different.size() > kMax) line << ", and " << different.size() - kMax << " more differ";
  line << ". test_epoch: true and cortado test count samples.";
}

bool Tester::run(const std::function<bool(int done)>& go_on) {
  sums_.clear();
  if (records_ > 0) rewind();
  for (int done = 0; done < batches_; ++done) {
    if (!go_on(done)) return false;
    run_batch(net_, outputs_);
  }
  if (tail_) {
    if (!go_on(batches_)) return false;
    run_batch(*tail_, *tail_outputs_);
  }
  take_scores();
  return true;
}

}  // namespace cortado
