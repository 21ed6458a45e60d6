// Predictors and requests of the C interface.

#include "net/predictor.h"

#include "bindings/c/status.h"
#include "core/error.h"
#include "core/precision.h"

using namespace cortado;
using namespace cortado::library;

struct cortado_predictor {
  struct NamedShape {
    std::string name;
    std::vector<int64_t> dims;
  };

  std::unique_ptr<Predictor> net;
  std::vector<NamedShape> inputs, outputs;
};

struct cortado_request {
  cortado_predictor* predictor;
  Arrays inputs, outputs;
};

namespace {

using NamedShape = cortado_predictor::NamedShape;

PredictorOptions options_of(const cortado_predictor_options* given) {
  const cortado_predictor_options chosen = options_from<cortado_predictor_options>(given, CORTADO_PREDICTOR_OPTIONS);
  if (chosen.threads < 0 || chosen.batch < 0) throw Error(ExitCode::kUsage, "threads and batch must not be negative");
  PredictorOptions options;
  options.context.threads = chosen.threads;
  options.batch = chosen.batch;
  options.outputs = listed(chosen.outputs);
  options.context.device = device_of(chosen.device);
  if (chosen.precision) options.context.precision = precision_named(chosen.precision);
  return options;
}

std::unique_ptr<cortado_predictor> opened(TrainedModel model, const cortado_predictor_options* options) {
  auto predictor = std::make_unique<cortado_predictor>();
  predictor->net = std::make_unique<Predictor>(std::move(model), options_of(options));
  for (const auto& [name, shape] : predictor->net->inputs()) predictor->inputs.push_back({name, shape.dims()});
  for (const std::string& name : predictor->net->outputs())
    predictor->outputs.push_back({name, predictor->net->output_shape(name).dims()});
  std::sort(predictor->outputs.begin(), predictor->outputs.end(),
            [](const NamedShape& a, const NamedShape& b) { return a.name < b.name; });
  return predictor;
}

std::string quoted_names(const std::vector<NamedShape>& list) {
  std::string text;
  for (const NamedShape& each : list) text += (text.empty() ? "'" : ", '") + each.name + "'";
  return text.empty() ? "none" : text;
}

/// `what`: "input".
const char* describe(const std::vector<NamedShape>& list, const std::string& what, size_t index, const int64_t** shape,
                     size_t* axes) {
  const NamedShape* const found = index < list.size() ? &list[index] : nullptr;
  if (!found)
    note_error(Error(ExitCode::kUsage, what + " " + std::to_string(index) + " does not exist",
                     "the net's " + what + "s, from 0: " + quoted_names(list))
                   .what());
  if (shape) *shape = found ? found->dims.data() : nullptr;
  if (axes) *axes = found ? found->dims.size() : 0;
  return found ? found->name.c_str() : nullptr;
}

[[noreturn]] void throw_no_output(const cortado_request& request, const std::string& output) {
  const std::vector<NamedShape>& known = request.predictor->outputs;
  if (std::ranges::any_of(known, [&](const NamedShape& each) { return each.name == output; }))
    throw Error(ExitCode::kUsage, "output '" + output + "' is not computed yet", "run the request first");
  throw Error(ExitCode::kUsage, "'" + output + "' is not an output of the predictor",
              "its outputs are " + quoted_names(known) + "; the options may name any blob");
}

Shape shape_of(const int64_t* extents, size_t axes) {
  if (axes > size_t(Shape::kMaxAxes) || (axes > 0 && !extents))
    throw Error(ExitCode::kUsage, "a shape of " + std::to_string(axes) + " axes is invalid",
                "pass at most 32 axes, and not NULL");
  for (size_t i = 0; i < axes; ++i)
    if (extents[i] < 0)
      throw Error(ExitCode::kData, "an extent of the shape is negative: " + std::to_string(extents[i]));
  return Shape(std::vector<int64_t>(extents, extents + axes));
}

}  // namespace

extern "C" {

cortado_status cortado_predictor_open(const char* model, const char* const* weights, size_t weights_count,
                                      const cortado_predictor_options* options, cortado_predictor** predictor) {
  return guarded([&] {
    TrainedModel read{std::make_shared<const NetFile>(read_net(required(model, "model"))), {}};
    if (weights_count > 0 && !weights)
      throw Error(ExitCode::kUsage, "weights is NULL, but weights_count is " + std::to_string(weights_count));
    for (size_t i = 0; i < weights_count; ++i)
      read.weights.push_back({required(weights[i], "the name of a file of weights"), read_weights(weights[i])});
    *predictor = opened(std::move(read), options).release();
  });
}

cortado_status cortado_predictor_open_memory(const char* model, size_t model_size, const void* weights,
                                             size_t weights_size, const cortado_predictor_options* options,
                                             cortado_predictor** predictor) {
  return guarded([&] {
    const std::string_view text(required(model, "model"), model_size);
    TrainedModel read{std::make_shared<const NetFile>(read_net_from_text(text, "(model in memory)")), {}};
    const std::string name = "(weights in memory)";
    if (!weights && weights_size > 0)
      throw Error(ExitCode::kUsage, "weights is NULL, but weights_size is " + std::to_string(weights_size));
    if (weights)
      read.weights.push_back({name, weights_from_bytes({static_cast<const char*>(weights), weights_size}, name)});
    *predictor = opened(std::move(read), options).release();
  });
}

void cortado_predictor_close(cortado_predictor* predictor) { delete predictor; }

size_t cortado_predictor_inputs(const cortado_predictor* predictor) { return predictor->inputs.size(); }

const char* cortado_predictor_input(const cortado_predictor* predictor, size_t index, const int64_t** shape,
                                    size_t* axes) {
  return describe(predictor->inputs, "input", index, shape, axes);
}

size_t cortado_predictor_outputs(const cortado_predictor* predictor) { return predictor->outputs.size(); }

const char* cortado_predictor_output(const cortado_predictor* predictor, size_t index, const int64_t** shape,
                                     size_t* axes) {
  return describe(predictor->outputs, "output", index, shape, axes);
}

cortado_status cortado_request_open(cortado_predictor* predictor, cortado_request** request) {
  return guarded([&] { *request = new cortado_request{predictor, {}, {}}; });
}

void cortado_request_close(cortado_request* request) { delete request; }

cortado_status cortado_request_set(cortado_request* request, const char* input, const float* values,
                                   const int64_t* shape, size_t axes) {
  return guarded([&] {
    Array array{shape_of(shape, axes), {}};
    request->predictor->net->check_input(required(input, "input"), array.shape);
    const int64_t count = array.shape.count();
    if (count > 0 && !values) throw Error(ExitCode::kUsage, "values is NULL");
    array.values.assign(values, values + count);
    request->inputs[input] = std::move(array);
  });
}

cortado_status cortado_request_run(cortado_request* request) {
  return guarded([&] { request->outputs = request->predictor->net->predict(request->inputs); });
}

cortado_status cortado_request_get(const cortado_request* request, const char* output, cortado_array* array) {
  return guarded([&] {
    const auto found = request->outputs.find(required(output, "output"));
    if (found == request->outputs.end()) throw_no_output(*request, output);
    const Array& made = found->second;
    *array = {made.values.data(), made.shape.dims().data(), made.shape.dims().size()};
  });
}

}  // extern "C"
