// Python: a class of the user with Caffe's interface: setup(bottom, top) once, then in every pass reshape(bottom, top)
// and forward(bottom, top), and backward(top, propagate_down, bottom). The arrays of the class share the operands'
// memory, or are copies if the host does not share the device's memory.
//
// Differences to Caffe: the net's memory is planned before the first pass. So tops keep the shapes of the first
// reshape(), except that the number of rows of a class with `rows_vary = True` may be smaller. Tops and gradients of
// bottoms are 0 where the class does not write. Bottoms are read-only unless they are tops as well. The values that
// setup() writes into blobs are the weights' initial values. share_in_parallel has no effect: a net runs on one device.

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

/// Host memory for an operand.
class HostArray {
 public:
  /// Its values. commit() copies changes to the device.
  float* values(Context& context, const Tensor& of) {
    float* at = stage_.begin(context, of.f32(), of.count());
    if (at != of.f32()) copy_to_host(context, at, of.data, size_t(of.count()) * sizeof(float));
    return at;
  }
  /// Zeros for the host to change. commit() copies them to the device.
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

/// The state of the Python object is unknown, so it counts as carried over from pass to pass.
class PythonLayer : public Layer, public DynamicRows, public BatchMemory, public WrittenInPython {
 public:
  explicit PythonLayer(const LayerOptions& options)
      : config_(options.config), phase_(options.phase), runs_data_(options.open_data) {
    const caffe::PythonParameter& param = config_.python_param();
    if (param.module().empty())
      throw FieldError("python_param.module", "module is missing: the name of the Python file, without .py");
    if (param.layer().empty())
      throw FieldError("python_param.layer", "layer is missing: the name of the class in the module");
    if (param.has_param_str_())
      log_warning() << "layer '" << config_.name() << "' (Python): param_str_ is a former name of param_str"
                    << (param.has_param_str() ? ", which is also set: it is ignored" : "");
    if (config_.bottom_size() == 0 && options.share.run != options.share.period)
      throw FieldError("type", "batches from Python cannot be split: every rank would train on the same ones",
                       "use one process, with shards: N");
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
    size_arrays(io);  // may be called before the first forward
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

  /// False if the shapes must stay unknown: for data that must not be opened, or because the module cannot be run and
  /// data is not needed.
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
    throw FieldError(top, method + " did not set its shape",
                     "call " + top + ".reshape(...) with its extents in reshape()");
  }

  WeightSpec weight(size_t i) const {
    const std::vector<float> values = object_->weight_values(i);
    return {.shape = *object_->shape(Kind::kWeight, i), .filler = filler_of_values(values)};
  }

  /// Throws if the shape of a top does not match the planned memory.
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
    const char* hint = "keep the shape of the first reshape(): a net's memory is planned once";
    if (rows_alone)
      hint =
          "for a varying number of rows, set `rows_vary = True` in the class, and the largest number of rows in the "
          "first reshape()";
    throw FieldError("top[" + std::to_string(i) + "]",
                     method + " changed its shape to " + shape.str() + ", but the first reshape() set " + planned.str(),
                     hint);
  }

  void size_arrays(const Operands& io) {
    for (std::vector<HostArray>* list : {&x_, &dx_}) list->resize(io.x.size());
    for (std::vector<HostArray>* list : {&y_, &dy_}) list->resize(io.y.size());
    for (std::vector<HostArray>* list : {&w_, &dw_}) list->resize(io.w.size());
  }

  /// For in-place use, the top starts with the bottom's values.
  float* bind_top(Context& context, const Operands& io, size_t i) {
    float* y = y_[i].zeros(context, io.y[i]);
    if (is_in_place(i)) std::copy_n(x_[i].values(context, io.x[i]), io.x[i].count(), y);
    object_->bind(Kind::kTop, i, io.y[i].shape(), {.data = y, .data_changes = true});
    return y;
  }

  /// The gradient of a blob that is bottom and top starts as the top's gradient.
  float* gradient_in_place(Context& context, const Operands& io, size_t i, const float* dy) {
    float* dx = dx_[i].zeros(context, io.dx[i]);
    if (dy) std::copy_n(dy, io.dx[i].count(), dx);
    return dx;
  }

  /// Weights that hold statistics may change while the net trains.
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
  std::vector<bool> in_place_;  ///< per top: it is the bottom of the same index
  std::vector<Shape> current_;  ///< per top: in the latest pass
  std::optional<PythonObject> object_;
  std::vector<HostArray> x_, y_, dx_, dy_, w_, dw_;
};

const RegisterLayer register_python({
    .name = "Python",
    .help = "a layer written in Python",
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
