#include "onnx/import/reshaping.h"

#include <algorithm>
#include <optional>

#include "core/error.h"

namespace cortado::importing {

namespace {

int64_t product_before(const std::vector<int64_t>& dims, size_t end) {
  return Shape(std::vector<int64_t>(dims.begin(), dims.begin() + int64_t(end))).count();
}

std::optional<std::vector<int64_t>> try_extents(const Shape& x, std::vector<int64_t> target) {
  int64_t known = 1;
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i] == 0 && int(i) >= x.axes()) return std::nullopt;
    if (target[i] == 0) target[i] = x[int(i)];
    if (target[i] < -1) return std::nullopt;
    if (target[i] != -1) known = checked_mul(known, target[i]);
  }
  const auto open = std::find(target.begin(), target.end(), -1);
  if (open == target.end()) return known == x.count() ? std::optional(target) : std::nullopt;
  if (known == 0 || x.count() % known != 0 || std::count(open, target.end(), -1) > 1) return std::nullopt;
  *open = x.count() / known;
  return target;
}

/// The only axis that grows with the batch; -1 if there are none or several.
int axis_with_batch(const Shape& x, const Batch& batch) {
  int found = -1;
  for (int axis = 0; axis < x.axes(); ++axis) {
    if (!batch.in(x[axis])) continue;
    if (found >= 0) return -1;
    found = axis;
  }
  return found;
}

/// Whether the target is x without the batch, ignoring axes of 1.
bool drops_batch(const Shape& x, int axis, const std::vector<int64_t>& target, const Batch& batch) {
  if (x[axis] != batch.mark) return false;
  std::vector<int64_t> rest = x.dims(), left = target;
  rest.erase(rest.begin() + axis);
  std::erase(rest, 1);
  std::erase(left, 1);
  return rest == left;
}

/// If entry `i` of the target is the model's own batch size or a multiple of it, the target with the batch there.
/// Nothing if the target has other extents than x before that axis.
std::optional<std::vector<int64_t>> put_at(const Shape& x, int axis, std::vector<int64_t> target, size_t i,
                                           const Batch& batch) {
  if (target[i] <= 0 || target[i] % batch.own != 0) return std::nullopt;
  target[i] = checked_mul(target[i] / batch.own, batch.mark);
  const auto dims = try_extents(x, target);
  if (!dims || product_before(*dims, i) != x.count(0, axis)) return std::nullopt;
  return target;
}

std::string text_of(const std::vector<int64_t>& target) {
  std::string text;
  for (const int64_t one : target) text += (text.empty() ? "" : ", ") + std::to_string(one);
  return "(" + text + ")";
}

}  // namespace

std::vector<int64_t> extents_of(const Shape& x, const std::vector<int64_t>& target) {
  if (const auto dims = try_extents(x, target)) return *dims;
  throw FieldError("", "shape " + x.str() + " cannot be reshaped to " + text_of(target));
}

std::vector<int64_t> with_batch(const Shape& x, std::vector<int64_t> target, const Batch& batch) {
  const int axis = axis_with_batch(x, batch);
  const bool has_it = std::any_of(target.begin(), target.end(), [&](int64_t extent) { return batch.in(extent); });
  if (axis < 0 || has_it) return target;
  const auto literal = try_extents(x, target);
  if (literal && (batch.open || std::count(literal->begin(), literal->end(), x[axis]) > 0)) return target;
  std::vector<std::vector<int64_t>> alike;  // targets with the same extent as x
  for (size_t i = 0; i < target.size(); ++i) {
    const auto put = put_at(x, axis, target, i, batch);
    if (!put || (*put)[i] != x[axis]) continue;
    if (int(i) == axis) return *put;
    alike.push_back(*put);
  }
  if (alike.size() == 1) return alike[0];
  if (alike.empty() && axis == 0 && !target.empty() && !drops_batch(x, axis, target, batch))
    if (const auto put = put_at(x, axis, target, 0, batch)) return *put;
  if (literal && alike.empty()) return target;
  throw FieldError("", "the batch axis of the shape " + text_of(target) + " is ambiguous");
}

caffe::LayerParameter reshape_layer(const Shape& x, const std::vector<int64_t>& target, const Batch& batch) {
  const std::vector<int64_t> dims = extents_of(x, target);
  const auto is_kept = [&](size_t i) {
    return target[i] == 0 || (int(i) < x.axes() && batch.in(dims[i]) && dims[i] == x[int(i)]);
  };
  caffe::LayerParameter layer;
  if (dims.size() == 2 && x.axes() > 2 && is_kept(0) && dims[1] == x.count(1)) {
    layer.set_type("Flatten");
    return layer;
  }
  int moved = 0;
  for (size_t i = 0; i < dims.size(); ++i) moved += !is_kept(i) && batch.in(dims[i]);
  if (moved > 1) throw FieldError("", "two extents of the shape " + text_of(target) + " depend on the batch");
  layer.set_type("Reshape");
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool is_open = moved > 0 ? batch.in(dims[i]) : target[i] == -1;
    layer.mutable_reshape_param()->mutable_shape()->add_dim(is_kept(i) ? 0 : is_open ? -1 : dims[i]);
  }
  return layer;
}

}  // namespace cortado::importing
