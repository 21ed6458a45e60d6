// Python: a class that the user wrote, with Caffe's interface: setup(bottom, top) once, then in every pass
// reshape(bottom, top) and forward(bottom, top), and backward(top, propagate_down, bottom). The arrays that the class
// sees lie over the operands themselves, or over copies where the host does not share the device's memory.
//
// Where Caffe's layers differ: the net's memory is planned before the first pass, so tops keep the shapes that the
// first reshape() gave them, but for the number of rows of a class that says `rows_vary = True`, which may be less.
// What a class does not write of its tops, and of its bottoms' gradients, is 0. Bottoms cannot be written, but for
// those that are tops as well. What setup() writes into blobs is what the weights start with. share_in_parallel has no
// effect: a net runs on one device.

#include "core/device/device_memory.h"
#include "core/device/host_view.h"
#include "core/log.h"
#include "layers/common/data/python_object.h"
#include "layers/common/weights/given_values.h"
#include "layers/registry.h"
#include "layers/roles.h"

namespace cortado {

namespace {

using Kind = PythonObject::Kind;
using Method = PythonObject::Method;

/// An operand where the host can reach it.
class HostArray {
 public:
  /// Its values. What the host changes is there after commit().
  float* values(Context& context, const Tensor& of) {
    float* at = stage_.begin(context, of.f32(), of.count());
    if (at != of.f32()) copy_to_host(context, at, of.data, size_t(of.count()) * sizeof(float));
    return at;
  }
  /// Zeros for the host to change, which are there after commit().
  float* zeros(Context& context, const Tensor& of) {
    float* at = stage_.begin(context, of.f32(), of.count());
    std::fill_n(at, of.count(), 0.0f);
    return at;
  }
  void commit(Context& context) { stage_.commit(context); }

 private:
  HostStage stage_;
};

bool differ_in_rows_alone(const Shape& a, const Shape& b) {
  return a.axes() > 0 && a.axes() == b.axes() && std::equal(a.dims().begin() + 1, a.dims().end(), b.dims().begin() + 1);
}

/// What the class in Python keeps from pass to pass is not known.
class PythonLayer : public Layer, public DynamicRows, public BatchMemory, public WrittenInPython {
 public:
  explicit PythonLayer(const LayerOptions& options)
      : config_(options.config), phase_(options.phase), runs_data_(options.open_data) {
    const caffe::PythonParameter& param = config_.python_param();
    if (param.module().empty())
      throw FieldError("python_param.module", "no module: the name of the file in Python, without .py");
    if (param.layer().empty()) throw FieldError("python_param.layer", "no layer: the name of the class in the module");
    if (config_.bottom_size() == 0 && options.share.run != options.share.period)
      throw FieldError("type", "batches that Python makes cannot be shared: every rank would learn from the same ones",
                       "one process trains with shards: N, too");
    for (int i = 0; i < config_.top_size(); ++i)
      in_place_.push_back(i < config_.bottom_size() && config_.top(i) == config_.bottom(i));
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    LayerShapes shapes;
    if (!object_ && !make_object()) {
      shapes.y.assign(in_place_.size(), Shape{-1});
      return shapes;
    }
    for (size_t i = 0; i < x.size(); ++i) object_->bind(Kind::kBottom, i, x[i], {});
    if (!is_set_up_) object_->call(Method::kSetup);
    is_set_up_ = true;
    object_->call(Method::kReshape);
    for (size_t i = 0; i < in_place_.size(); ++i) shapes.y.push_back(shape_of_top(i, "reshape()"));
    current_ = shapes.y;
    for (size_t i = 0, count = object_->weights(); i < count; ++i) shapes.w.push_back(weight(i));
    return shapes;
  }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    learns_ = phase_ == caffe::TRAIN && !request.frozen;
    LayerNeeds needs;
    needs.backward_reads_x.assign(request.x.size(), true);
    needs.backward_reads_y.assign(request.y.size(), true);
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    size_arrays(io);
    bind_weights(context, io, false);
    for (size_t i = 0; i < io.x.size(); ++i)
      object_->bind(Kind::kBottom, i, io.x[i].shape(), {.data = x_[i].values(context, io.x[i])});
    std::vector<float*> y;
    for (size_t i = 0; i < io.y.size(); ++i) y.push_back(bind_top(context, io, i));
    object_->call(Method::kReshape);
    check_tops(io, "reshape()");
    object_->call(Method::kForward);
    check_tops(io, "forward()");
    for (size_t i = 0; i < io.y.size(); ++i) {
      std::fill(y[i] + current_[i].count(), y[i] + io.y[i].count(), 0.0f);
      y_[i].commit(context);
    }
    commit_weights(context, io, false);
  }

  void backward(Context& context, const Operands& io) override {
    size_arrays(io);  // it may come before any forward
    bind_weights(context, io, true);
    std::vector<bool> propagate_down;
    for (size_t i = 0; i < io.x.size(); ++i) propagate_down.push_back(bool(io.dx[i]));
    for (size_t i = 0; i < io.x.size(); ++i)
      if (!is_in_place(i))
        object_->bind(Kind::kBottom, i, io.x[i].shape(),
                      {.data = x_[i].values(context, io.x[i]),
                       .diff = io.dx[i] ? dx_[i].zeros(context, io.dx[i]) : nullptr,
                       .diff_changes = true});
    for (size_t i = 0; i < io.y.size(); ++i) {
      float* dy = io.dy[i] ? dy_[i].values(context, io.dy[i]) : nullptr;
      const bool in_place = is_in_place(i) && io.dx[i];
      object_->bind(Kind::kTop, i, current_[i],
                    {.data = y_[i].values(context, io.y[i]),
                     .diff = in_place ? gradient_in_place(context, io, i, dy) : dy,
                     .diff_changes = in_place});
    }
    object_->call(Method::kBackward, propagate_down);
    for (size_t i = 0; i < io.x.size(); ++i)
      if (io.dx[i]) dx_[i].commit(context);
    commit_weights(context, io, true);
  }

  LayerRoles roles() override { return {.needs_host = true, .memory = this, .rows = this, .python = this}; }

  PythonObject* object() override { return object_ ? &*object_ : nullptr; }

  bool rows_vary() const override { return object_ && object_->rows_vary(); }
  std::vector<Shape> current_shapes() const override { return current_; }

 private:
  bool is_in_place(size_t i) const { return i < in_place_.size() && in_place_[i]; }

  /// False where the shapes that it would give are to be unknown: of data that is not to be touched, or because the
  /// module cannot be run where data is not wanted either.
  bool make_object() {
    if (!runs_data_ && config_.bottom_size() == 0) return false;
    try {
      object_.emplace(config_, phase_);
      return true;
    } catch (const PythonMissing& missing) {
      if (runs_data_) throw;
      const std::string& words = missing.message();
      log_warning() << "layer '" << config_.name()
                    << "' (Python) is not run, and its shapes are unknown: " << words.substr(0, words.find('\n'));
      return false;
    }
  }

  Shape shape_of_top(size_t i, const std::string& method) const {
    const std::optional<Shape> shape = object_->shape(Kind::kTop, i);
    if (shape) return *shape;
    const std::string top = "top[" + std::to_string(i) + "]";
    throw FieldError(top, method + " gave it no shape", "reshape() calls " + top + ".reshape(...) with its extents");
  }

  WeightSpec weight(size_t i) const {
    const std::vector<float> values = object_->weight_values(i);
    return {.shape = *object_->shape(Kind::kWeight, i), .filler = filler_of_values(values)};
  }

  /// Throws where a top has another shape than the plan has memory for.
  void check_tops(const Operands& io, const std::string& method) {
    for (size_t i = 0; i < io.y.size(); ++i) {
      const Shape& planned = io.y[i].shape();
      const Shape shape = shape_of_top(i, method);
      const bool rows_alone = differ_in_rows_alone(shape, planned), fits = rows_alone && shape[0] <= planned[0];
      if (shape != planned && !(fits && rows_vary())) refuse(i, method, shape, planned, rows_alone);
      current_[i] = shape;
    }
  }

  [[noreturn]] void refuse(size_t i, const std::string& method, const Shape& shape, const Shape& planned,
                           bool rows_alone) const {
    const char* hint = "a net's memory is planned once: a top keeps the shape that the first reshape() gave it";
    if (rows_alone)
      hint =
          "where the number of rows varies the class says `rows_vary = True`, and its first reshape() gives the most "
          "that there can be";
    throw FieldError("top[" + std::to_string(i) + "]",
                     method + " made its shape " + shape.str() + ", and it was " + planned.str() + " at first", hint);
  }

  void size_arrays(const Operands& io) {
    for (std::vector<HostArray>* list : {&x_, &dx_}) list->resize(io.x.size());
    for (std::vector<HostArray>* list : {&y_, &dy_}) list->resize(io.y.size());
    for (std::vector<HostArray>* list : {&w_, &dw_}) list->resize(io.w.size());
  }

  /// In place it begins as its bottom.
  float* bind_top(Context& context, const Operands& io, size_t i) {
    float* y = y_[i].zeros(context, io.y[i]);
    if (is_in_place(i)) std::copy_n(x_[i].values(context, io.x[i]), io.x[i].count(), y);
    object_->bind(Kind::kTop, i, io.y[i].shape(), {.data = y, .data_changes = true});
    return y;
  }

  /// The gradient of a blob that is bottom and top: it begins as the top's.
  float* gradient_in_place(Context& context, const Operands& io, size_t i, const float* dy) {
    float* dx = dx_[i].zeros(context, io.dx[i]);
    if (dy) std::copy_n(dy, io.dx[i].count(), dx);
    return dx;
  }

  /// Weights may be changed while a net learns, as those are that hold statistics.
  void bind_weights(Context& context, const Operands& io, bool backward) {
    for (size_t i = 0; i < io.w.size(); ++i) {
      float* dw = nullptr;
      if (backward && io.dw[i]) dw = io.adds(i) ? dw_[i].values(context, io.dw[i]) : dw_[i].zeros(context, io.dw[i]);
      object_->bind(
          Kind::kWeight, i, io.w[i].shape(),
          {.data = w_[i].values(context, io.w[i]), .diff = dw, .data_changes = learns_, .diff_changes = true});
    }
  }

  void commit_weights(Context& context, const Operands& io, bool backward) {
    for (size_t i = 0; i < io.w.size(); ++i) {
      if (learns_) w_[i].commit(context);
      if (backward && io.dw[i]) dw_[i].commit(context);
    }
  }

  const caffe::LayerParameter& config_;
  const caffe::Phase phase_;
  const bool runs_data_;
  bool is_set_up_ = false, learns_ = false;
  std::vector<bool> in_place_;  ///< per top: it is the bottom of the same number
  std::vector<Shape> current_;  ///< per top: in the latest pass
  std::optional<PythonObject> object_;
  std::vector<HostArray> x_, y_, dx_, dy_, w_, dw_;
};

const RegisterLayer register_python({
    .name = "Python",
    .help = "a class written in Python",
    .options = "python_param",
    .min_bottoms = 0,
    .max_bottoms = -1,
    .min_tops = 0,
    .max_tops = -1,
    .make = make_layer<PythonLayer>,
    .loss_by_weight = true,
});

}  // namespace

}  // namespace cortado
