// Resizing: nearest by a Deconvolution with filters of ones, bilinear by a matrix along each axis.
#include <algorithm>

#include "graph/dialect/job.h"

namespace cortado::dialect {

namespace {

Blob compose_upsample(Job& job) {
  if (job.bottoms().size() != 1) job.refuse("it reverses a pooling");
  const Shape &x = job.x().shape, &y = job.y();
  const int64_t h = y[2] / x[2], w = y[3] / x[3];
  return by_channel(job, "Deconvolution", job.x(), {.kernel = {h, w}, .stride = {h, w}},
                    values(job, checked_mul(h, w), 1));
}

/// Bilinear from corner to corner, of the elements [start, start + used) of `in`.
BlobFile corner_matrix(const Job& job, int64_t in, int64_t start, int64_t used, int64_t out) {
  BlobFile matrix = filled(job, {out, in}, 0);
  for (int64_t i = 0; i < out; ++i) {
    const double at = out > 1 ? double(i) * (double(used - 1) / double(out - 1)) : 0;
    const int64_t low = int64_t(at), high = std::min(low + 1, used - 1);
    matrix.data[size_t(i * in + start + low)] += float(1 - (at - double(low)));
    matrix.data[size_t(i * in + start + high)] += float(at - double(low));
  }
  return matrix;
}

Blob compose_interp(Job& job) {
  const caffe::InterpParameter& param = job.layer().interp_param();
  if (job.x().shape.axes() != 4) job.refuse("its input has another number of axes than four");
  Blob y = job.x();
  for (const int axis : {3, 2}) {
    const int64_t in = y.shape[axis], start = -int64_t(param.pad_beg()), out = job.y()[axis];
    const int64_t used = in - start + int64_t(param.pad_end());
    if (in == out && used == in) continue;
    y = along_axis(job, y, axis, corner_matrix(job, in, start, used, out));
  }
  return y;
}

}  // namespace

void add_resizings(Compositions& table) { table.insert({{"Upsample", compose_upsample}, {"Interp", compose_interp}}); }

}  // namespace cortado::dialect
