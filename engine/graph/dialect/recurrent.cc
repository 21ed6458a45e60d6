// Lstm, of junhyukoh's fork, as LSTM. LSTM needs a second bottom, which is 0 where a sequence begins: it is made of the
// inputs, as a Power that ignores them, times 0 at the first step and 1 at all others.
#include "graph/dialect/job.h"
#include "graph/dialect/slices.h"

namespace cortado::dialect {

namespace {

/// 0 at the first step, else 1, of steps x sequences of ones.
Blob continuation_of(Job& job, const Blob& ones) {
  BlobFile later{{ones.shape[0]}, values(job, ones.shape[0], 1)};
  later.data[0] = 0;
  return affine(job, ones, 0, later, nullptr);
}

Blob continuation(Job& job, const Blob& x) {
  const Blob one = cut(job, x, 2, 0, 1);
  return continuation_of(job, power(job, job.reshape(one, {x.shape[0], x.shape[1]}, 1), 0, 1));
}

Blob compose_indicator(Job& job) {
  if (!job.bottoms().empty()) job.refuse("its number of sequences is that of a bottom");
  caffe::LayerParameter ones = layer_of("DummyData");
  ones.mutable_dummy_data_param()->add_data_filler()->set_value(1);
  for (const int64_t dim : job.y().dims()) {
    if (ones.dummy_data_param().shape().empty()) ones.mutable_dummy_data_param()->add_shape();
    ones.mutable_dummy_data_param()->mutable_shape(0)->add_dim(dim);
  }
  return continuation_of(job, job.add(std::move(ones), {}));
}

Blob compose_lstm(Job& job) {
  const caffe::LSTMParameter& param = job.layer().lstm_param();
  const Shape& s = job.x().shape;
  if (job.bottoms().size() != 1) job.refuse("it has a second bottom");
  if (s.axes() != 3 || param.has_batch_size()) job.refuse("its input is not steps x sequences x values");
  caffe::LayerParameter layer = layer_of("LSTM");
  layer.mutable_recurrent_param()->set_num_output(param.num_output());
  return job.add(std::move(layer), {job.x(), continuation(job, job.x())},
                 {job.weight(0), job.weight(2), job.weight(1)});
}

}  // namespace

void add_recurrent(Compositions& table) {
  table.insert({{"Lstm", compose_lstm}, {"ContinuationIndicator", compose_indicator}});
}

}  // namespace cortado::dialect
