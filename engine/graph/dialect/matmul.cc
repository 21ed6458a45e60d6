// The product of two blobs of matrices. Classic Caffe multiplies only by weights, so both blobs are expanded to all
// pairs, multiplied element by element, and summed over the common axis:
//   y[m, n] = sum over k of (a[m, k] for each n) (b[k, n] for each m)
// The axes of the pairs keep the order that they have in both matrices, so these need no transposition.
#include "graph/dialect/job.h"

namespace cortado::dialect {

namespace {

constexpr int64_t kMaxPairs = int64_t(1) << 26;

/// Matrices of p x q with a third axis of `extent` equal elements, inserted as axis `at`.
Blob expanded(Job& job, const Blob& x, int at, int64_t extent) {
  std::vector<int64_t> shape = x.shape.dims();
  shape.insert(shape.begin() + at, 1);
  const Blob y = job.reshape(x, Shape(shape));
  return extent == 1 ? y : along_axis(job, y, at, filled(job, {extent, 1}, 1));
}

Blob as_matrices(Job& job, const Blob& x) {
  const int axes = x.shape.axes();
  return axes == 3 ? x : job.reshape(x, {x.shape.count(0, axes - 2), x.shape[axes - 2], x.shape[axes - 1]});
}

Blob compose_matmul(Job& job) {
  if (job.x(0).shape.axes() < 3 || job.x(1).shape.axes() < 3)
    job.refuse("one of its bottoms is a single matrix for all samples");
  const caffe::MatMulParameter& param = job.layer().matmul_param();
  const bool ta = param.transpose_a(), tb = param.transpose_b();
  const Blob a = as_matrices(job, job.x(0)), b = as_matrices(job, job.x(1));
  const int64_t m = a.shape[ta ? 2 : 1], n = b.shape[tb ? 1 : 2], k = a.shape[ta ? 1 : 2];
  const int64_t pairs = checked_mul(a.shape.count(), n);
  if (pairs / job.batch().times > kMaxPairs)
    job.refuse("its composition would multiply " + std::to_string(pairs) + " pairs");

  const std::string order = ta ? (tb ? "nkm" : "kmn") : (tb ? "mnk" : "mkn");
  const auto axis = [&](char name) { return 1 + int(order.find(name)); };
  const Blob all = product(job, {expanded(job, a, axis('n'), n), expanded(job, b, axis('m'), m)});
  const Blob sum = along_axis(job, all, axis('k'), filled(job, {1, k}, param.alpha()));
  if (!(ta && tb)) return job.reshape(sum, job.y());
  return job.reshape(permuted(job, job.reshape(sum, {a.shape[0], n, m}), {0, 2, 1}), job.y());
}

}  // namespace

void add_matmul(Compositions& table) { table.insert({{"MatMul", compose_matmul}}); }

}  // namespace cortado::dialect
