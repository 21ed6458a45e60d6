// Lstm, of junhyukoh's fork, as LSTM. LSTM needs a second bottom, which is 0 where a sequence begins: it is made of the
// inputs, as a Power that ignores them, times 0 at the first step and 1 at all others.
#include "graph/dialect/job.h"
#include "graph/dialect/slices.h"

namespace cortado::dialect {

namespace {

/// Steps x sequences: 0 at the first step, else 1.
Blob continuation(Job& job, const Blob& x) {
  const Blob one = cut(job, x, 2, 0, 1);
  const Blob flat = job.reshape(one, {x.shape[0], x.shape[1]}, 1);
  BlobFile later{{x.shape[0]}, values(job, x.shape[0], 1)};
  later.data[0] = 0;
  return affine(job, power(job, flat, 0, 1), 0, later, nullptr);
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

void add_recurrent(Compositions& table) { table["Lstm"] = compose_lstm; }

}  // namespace cortado::dialect
