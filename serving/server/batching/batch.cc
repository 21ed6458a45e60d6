#include "server/batching/batch.h"

#include <algorithm>
#include <bit>

namespace cortado::server {

namespace {

Shape with_rows(const Shape& shape, int64_t rows) {
  std::vector<int64_t> dims = shape.dims();
  dims[0] = rows;
  return Shape(dims);
}

}  // namespace

void gather(const std::vector<RequestPtr>& requests, int64_t rows, Arrays& arrays) {
  for (const auto& [name, first] : requests[0]->inputs) {
    Array& all = arrays[name];
    all.shape = with_rows(first.shape, rows);
    all.values.resize(size_t(all.shape.count()));
    auto to = all.values.begin();
    for (const RequestPtr& request : requests) to = std::ranges::copy(request->inputs.at(name).values, to).out;
    std::fill(to, all.values.end(), 0.f);
  }
}

Arrays scatter(const Arrays& outputs, const Request& request, int64_t first, bool all) {
  Arrays own;
  for (const std::string& name : request.outputs) {
    const Array& from = outputs.at(name);
    if (all) {
      own[name] = from;
      continue;
    }
    const auto begin = from.values.begin() + first * from.shape.count(1);
    own[name] = {with_rows(from.shape, request.rows), {begin, begin + request.rows * from.shape.count(1)}};
  }
  return own;
}

int64_t padded_rows(int64_t rows, int64_t most) {
  return std::min(most, std::max(rows, int64_t(std::bit_ceil(uint64_t(rows)))));
}

std::vector<int64_t> prepared_rows(int64_t most) {
  std::vector<int64_t> all;
  for (int64_t rows = 1; rows < most; rows *= 2) all.push_back(rows);
  all.push_back(most);
  return all;
}

}  // namespace cortado::server
