#include "server/models/version.h"

#include <algorithm>

#include "core/log.h"
#include "server/batching/batch.h"
#include "server/models/row_probe.h"
#include "tools/net/frozen_net.h"
#include "tools/options/inference_net.h"
#include "tools/options/run_options.h"

namespace cortado::server {

namespace {

std::string text_of(const std::vector<int64_t>& dims) {
  std::string text = "[";
  for (const int64_t dim : dims) text += (text.size() > 1 ? "," : "") + std::to_string(dim);
  return text + "]";
}

/// Null if the net does not compute rows independently.
std::unique_ptr<Predictor> predictor_for_rows(const std::shared_ptr<const NetFile>& file,
                                              const std::vector<std::string>& weights, PredictorOptions options) {
  options.batch = 1;
  try {
    auto predictor = std::make_unique<Predictor>(file, weights, options);
    if (computes_rows_alone(*predictor)) return predictor;
  } catch (const Error& error) {
    if (error.code() != ExitCode::kNet && error.code() != ExitCode::kData) throw;
  }
  return nullptr;
}

std::chrono::microseconds delay_of(const tools::Arguments& arguments) {
  constexpr double kMost = 60'000;
  const double ms = arguments.number("max-delay");
  if (!(ms >= 0 && ms <= kMost)) throw Error(ExitCode::kUsage, "--max-delay must be in [0, 60000] milliseconds");
  return std::chrono::microseconds(int64_t(ms * 1000));
}

std::vector<int64_t> with_any_rows(std::vector<int64_t> dims) {
  dims[0] = -1;
  return dims;
}

bool contains(const std::vector<TensorSpec>& specs, const std::string& name) {
  return std::ranges::any_of(specs, [&](const TensorSpec& spec) { return spec.name == name; });
}

}  // namespace

Version::Version(std::string model, std::string number, const tools::Arguments& arguments, ModelMetrics metrics)
    : model_(std::move(model)),
      number_(std::move(number)),
      max_rows_(arguments.integer("max-batch")),
      max_delay_(delay_of(arguments)),
      statistics_(metrics) {
  const int contexts = int(arguments.integer("contexts"));
  const tools::InferenceNet net = tools::open_inference_net(arguments);
  make_predictor(net.file, arguments);
  image_reader_ = ImageReader::make(arguments, net, *predictor_);
  describe();
  const int64_t best_rows = warm_up(contexts);
  const BatchingOptions options{.max_rows = std::max<int64_t>(1, max_rows_),
                                .join_rows = best_rows,
                                .joins = max_rows_ > 0,
                                .max_delay = max_delay_,
                                .max_queued = size_t(arguments.integer("queue")),
                                .contexts = contexts};
  batcher_ = std::make_unique<Batcher>([this](const Arrays& inputs) { return predictor_->predict(inputs); }, options,
                                       &statistics_);
}

void Version::make_predictor(const std::shared_ptr<const NetFile>& file, const tools::Arguments& arguments) {
  PredictorOptions options = tools::predictor_options(arguments);
  options.outputs = arguments.texts("blobs");
  const std::vector<std::string> weights = arguments.texts("weights");
  predictor_ = predictor_for_rows(file, weights, options);
  if (predictor_) return;
  log_warning() << "model " << model_ << ": its rows are not independent, or its outputs do not have a row for each; "
                << "requests must have the shapes of the net's file and are not batched";
  max_rows_ = 0;
  predictor_ = std::make_unique<Predictor>(file, weights, options);
}

void Version::describe() {
  for (const auto& [name, shape] : predictor_->inputs())
    inputs_.push_back({name, max_rows_ > 0 ? with_any_rows(shape.dims()) : shape.dims()});
  for (const std::string& name : predictor_->outputs()) {
    const Shape shape = predictor_->output_shape(name);
    outputs_.push_back({name, max_rows_ > 0 ? with_any_rows(shape.dims()) : shape.dims()});
  }
}

/// Makes the plans, and runs a first pass, in which memory is allocated and libraries initialize.
int64_t Version::warm_up(int contexts) {
  std::vector<std::map<std::string, Shape>> all = {predictor_->inputs()};
  if (max_rows_ > 0) {
    all.clear();
    for (const int64_t rows : prepared_rows(max_rows_)) all.push_back(shapes_with_rows(*predictor_, rows));
  }
  int64_t best_rows = 1;
  double most_per_second = 0;
  for (const auto& shapes : all) {
    prepare_at_best(*predictor_, shapes, contexts);
    const int64_t rows = max_rows_ > 0 ? shapes.begin()->second[0] : 1;
    const double per_second = double(rows) / least_seconds(*predictor_, shapes);
    if (per_second <= most_per_second) continue;
    best_rows = rows;
    most_per_second = per_second;
  }
  if (best_rows < max_rows_)
    log_info() << "model " << model_ << ": batches of " << best_rows << " rows are the fastest, "
               << "so larger batches are not formed";
  return best_rows;
}

const TensorSpec* Version::input(const std::string& name) const {
  const auto found = std::ranges::find(inputs_, name, &TensorSpec::name);
  return found == inputs_.end() ? nullptr : &*found;
}

void Version::check_shape(const TensorSpec& input, const std::vector<int64_t>& dims) const {
  const auto is_wanted = [&](const std::vector<int64_t>& wanted) {
    return dims.size() == wanted.size() && std::equal(dims.begin(), dims.end(), wanted.begin(),
                                                      [](auto have, auto want) { return want == -1 || have == want; });
  };
  if (!is_wanted(input.dims))
    throw RequestError(Refusal::kInvalid, "input '" + input.name + "' has shape " + text_of(dims) +
                                              ", but the model expects " + text_of(input.dims));
  if (max_rows_ > 0 && (dims[0] < 1 || dims[0] > max_rows_))
    throw RequestError(Refusal::kInvalid, "input '" + input.name + "' has " + std::to_string(dims[0]) +
                                              " rows, but the model accepts 1 to " + std::to_string(max_rows_));
}

void Version::check(Request& request) const {
  for (const TensorSpec& spec : inputs_) {
    const auto found = request.inputs.find(spec.name);
    if (found == request.inputs.end()) throw RequestError(Refusal::kInvalid, "input '" + spec.name + "' is missing");
    check_shape(spec, found->second.shape.dims());
    if (max_rows_ == 0) continue;
    const int64_t rows = found->second.shape[0];
    if (&spec != &inputs_[0] && rows != request.rows)
      throw RequestError(Refusal::kInvalid,
                         "the inputs have " + std::to_string(request.rows) + " and " + std::to_string(rows) + " rows");
    request.rows = rows;
  }
  for (const auto& [name, array] : request.inputs)
    if (!contains(inputs_, name)) throw RequestError(Refusal::kInvalid, "'" + name + "' is not an input of the model");
  for (const std::string& name : request.outputs)
    if (!contains(outputs_, name))
      throw RequestError(Refusal::kInvalid, "'" + name + "' is not an output of the model");
  if (request.outputs.empty())
    for (const TensorSpec& spec : outputs_) request.outputs.push_back(spec.name);
}

}  // namespace cortado::server
