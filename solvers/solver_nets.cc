#include "solvers/solver_nets.h"

#include <limits>
#include <sstream>

#include "core/files/file.h"
#include "core/log.h"
#include "core/text/text.h"
#include "graph/freeze.h"
#include "layers/registry.h"
#include "net/epoch.h"
#include "solvers/rank_share.h"
#include "solvers/rank_test.h"
#include "solvers/run_conditions.h"

namespace cortado {

namespace {

void log_train_net(const Net& train) {
  const graph::Graph& graph = train.plan().graph;
  if (!graph.options.freeze.empty()) {
    int64_t params = 0;
    for (const graph::Weight& weight : graph.weights) params += weight.spec.learned ? weight.spec.shape.count() : 0;
    log_info() << "Frozen: " << graph::count_frozen(graph) << " of " << params << " parameters, those of "
               << frozen_layers(train);
  }
  log_info() << "Memory required for data: " << train.plan().arena_bytes;
}

/// The net for the last records, which do not fill a batch of `test`; null if there are none.
std::unique_ptr<Net> make_tail(SolverNetFile wanted, Net& test, int64_t records, Context& context) {
  const int64_t left = records % test.batch_size();
  if (left == 0) return nullptr;
  wanted.options.share = {};  // it has only one batch
  return make_net(with_data_batch(std::move(wanted.file), left), wanted.options, context, &test);
}

}  // namespace

/// The source of one net: a path in the solver's `field`, or a net inside the solver at `field`.
struct SolverNetReader::Source {
  std::string field;
  const std::string* path = nullptr;
  const caffe::NetParameter* message = nullptr;

  std::string str() const {
    const std::string name = field.substr(0, field.find('['));
    return path ? name + " file: " + *path : name;
  }
};

SolverNetReader::Source SolverNetReader::source_of_train() const {
  const caffe::SolverParameter& solver = config_.file.solver;
  if (solver.has_train_net_param()) return {.field = "train_net_param", .message = &solver.train_net_param()};
  if (solver.has_train_net()) return {.field = "train_net", .path = &solver.train_net()};
  if (solver.has_net_param()) return {.field = "net_param", .message = &solver.net_param()};
  return {.field = "net", .path = &solver.net()};
}

/// In Caffe's order, which determines the numbers of the tests.
std::vector<SolverNetReader::Source> SolverNetReader::sources_of_tests() const {
  const caffe::SolverParameter& solver = config_.file.solver;
  std::vector<Source> sources;
  if (requested_tests() == 0) return sources;
  for (int i = 0; i < solver.test_net_param_size(); ++i)
    sources.push_back({.field = path_to("", "test_net_param", i), .message = &solver.test_net_param(i)});
  for (int i = 0; i < solver.test_net_size(); ++i)
    sources.push_back({.field = path_to("", "test_net", i), .path = &solver.test_net(i)});
  while (sources.size() < requested_tests()) {
    if (solver.has_net_param())
      sources.push_back({.field = "net_param", .message = &solver.net_param()});
    else
      sources.push_back({.field = "net", .path = &solver.net()});
  }
  return sources;
}

std::string path_in_solver(const SolverFile& file, const std::string& field, const std::string& path) {
  if (file_exists(path)) return path;
  const std::string beside = join_path(folder_of(file.positions.file()), path);
  if (file_exists(beside)) {
    log_info() << "Using " << beside << ", because " << path << " is not in the current folder";
    return beside;
  }
  throw Error(ExitCode::kIo, {file.positions.place(field),
                              "cannot find the file " + path,
                              "paths are searched in the current folder, then in the solver's",
                              {}});
}

size_t SolverNetReader::test_count() {
  return share_of(config_.iteration, options_.engine).is_first() || deals_tests_out() ? requested_tests() : 0;
}

bool SolverNetReader::deals_tests_out() {
  if (deals_tests_out_) return *deals_tests_out_;
  if (!options_.engine || options_.engine->ranks() == 1 || requested_tests() == 0) return *(deals_tests_out_ = false);
  const std::string why = why_first_tests_alone();
  deals_tests_out_ = why.empty();
  if (why.empty())
    log_info() << "The batches of tests are divided among " << options_.engine->ranks() << " ranks";
  else
    log_info() << "The first rank tests alone: " << why;
  return *deals_tests_out_;
}

/// Does not read data.
std::string SolverNetReader::why_first_tests_alone() {
  for (size_t i = 0; i < requested_tests(); ++i) {
    SolverNetFile test = whole_test(i);
    test.options.open_data = false;
    if (const std::string why = why_not_dealt_out(graph::build(test.file, test.options)); !why.empty())
      return "of test net #" + std::to_string(i) + " " + why;
  }
  return "";
}

std::string SolverNetReader::train_source() const { return source_of_train().str(); }
std::string SolverNetReader::test_source(size_t index) const { return sources_of_tests()[index].str(); }

std::shared_ptr<const NetFile> SolverNetReader::read(const Source& source) {
  std::shared_ptr<const NetFile>& file = read_[source.path ? *source.path : source.field];
  if (file) return file;
  NetFile net = source.path
                    ? read_net_draft(path_in_solver(config_.file, source.field, *source.path))
                    : NetFile{*source.message, config_.file.positions.below(source.field), {}, config_.file.paths_from};
  options_.overrides.apply(net);
  auto draft = std::make_shared<const NetFile>(std::move(net));
  graph::refuse_draft(draft);
  return file = std::move(draft);
}

graph::BuildOptions SolverNetReader::build_options() const {
  graph::BuildOptions build;
  build.fuse = options_.fuse;
  build.switch_off = options_.switch_off;
  build.data_threads = options_.data_threads;
  build.skip_bad = options_.skip_bad;
  build.seed = context_.seed;
  build.observed = options_.observed;
  return build;
}

SolverNetFile SolverNetReader::train() {
  SolverNetFile net{read(source_of_train()), build_options()};
  if (const int shards = config_.iteration.shards; options_.divide_batch && shards > 1)
    net.file = with_divided_batch(net.file, shards);
  graph::BuildOptions& build = net.options;
  build.state.set_phase(caffe::TRAIN);
  build.state.MergeFrom(config_.file.solver.train_state());
  build.state.MergeFrom(options_.state);
  build.accumulates = config_.iteration.iter_size > 1 || options_.observed;
  build.fuse = build.fuse && !config_.debug_info;  // debug_info logs each layer of the file
  build.transient_gradients = !options_.observed && config_.iteration.updates_within_backward(context_);
  build.recompute = options_.recompute;
  build.share = batches_of(config_.iteration, share_of(config_.iteration, options_.engine));
  build.freeze = options_.freeze;
  return net;
}

SolverNetFile SolverNetReader::whole_test(size_t index) {
  SolverNetFile net{read(sources_of_tests()[index]), build_options()};
  net.options.state.set_phase(caffe::TEST);
  if (const auto& states = config_.file.solver.test_state(); int(index) < states.size())
    net.options.state.MergeFrom(states[int(index)]);
  net.options.backward = false;
  return net;
}

SolverNetFile SolverNetReader::test(size_t index) {
  SolverNetFile net = whole_test(index);
  if (deals_tests_out()) net.options.share = {options_.engine->rank(), 1, options_.engine->ranks()};
  return net;
}

SolverNets with_test_nets(std::unique_ptr<Net> train, SolverNetReader& reader, Context& context) {
  SolverNets nets;
  nets.train = std::move(train);
  log_train_net(*nets.train);
  nets.dealt_out = reader.deals_tests_out();
  for (size_t i = 0; i < reader.test_count(); ++i) {
    log_info() << "Creating test net (#" << i << ") specified by " << reader.test_source(i);
    const SolverNetFile wanted = reader.test(i);
    Net& test = *nets.tests.emplace_back(make_net(wanted.file, wanted.options, context, nets.train.get()));
    if (const std::vector<std::string> alone = test.layers_without_weights(); !alone.empty())
      log_warning() << "The training net has no weights for " << layers_text(alone) << " of test net (#" << i
                    << "), so they will not be trained";
    if (!reader.config().tests.by_epoch) continue;
    const int64_t records = reader.config().at_its_field([&] { return records_of(test.plan().graph, "test_epoch"); });
    nets.test_records.push_back(records);
    nets.tails.push_back(make_tail(wanted, test, records, context));
  }
  return nets;
}

namespace {

/// Checks the layers of the file, because passes may have merged them into other nodes.
void check_whole_batches(const graph::Graph& graph, int64_t shards) {
  if (shards <= 1) return;
  for (size_t i = 0; i < graph.layers.size(); ++i) {
    const caffe::LayerParameter& layer = *graph.layers[i].config;
    if (const LayerType* type = find_layer_type(layer.type()); !type || !type->needs_whole_batch) continue;
    throw Error(ExitCode::kNet,
                {graph.place_of_layer(int(i), "type"),
                 layer_text(layer.name(), layer.type()) + " computes statistics of a whole batch, but the batch " +
                     "is divided into " + std::to_string(shards) + " shards",
                 "train with one process and without shards, or use type: \"BN\", which computes them for each shard",
                 {}});
  }
}

}  // namespace

SolverNets make_solver_nets(const SolverConfig& config, const SolverOptions& options, Context& context) {
  SolverNetReader reader(config, options, context);
  log_info() << "Creating training net from " << reader.train_source();
  const SolverNetFile wanted = reader.train();
  std::unique_ptr<Net> train = make_net(wanted.file, wanted.options, context);
  check_whole_batches(train->plan().graph, share_of(config.iteration, options.engine).shards);
  return with_test_nets(std::move(train), reader, context);
}

int max_iter_of_epochs(int64_t epochs, const IterationPlan& plan, const Net& train) {
  const int64_t records = records_of(train.plan().graph, "max_epoch"), step = train.batch_size() * plan.passes();
  constexpr int64_t kMost = std::numeric_limits<int>::max();
  if (epochs > kMost * step / records)
    throw FieldError("max_epoch", "max_epoch is too large: the training would take more than " + std::to_string(kMost) +
                                      " iterations");
  return int((epochs * records + step - 1) / step);
}

namespace {

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> files;
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t begin = part.find_first_not_of(" \t\n"), end = part.find_last_not_of(" \t\n");
    if (begin != std::string::npos) files.push_back(part.substr(begin, end - begin + 1));
  }
  return files;
}

}  // namespace

std::vector<std::string> starting_weights(const SolverFile& file, const SolverOptions& options) {
  std::vector<std::string> files;
  for (const std::string& list : options.weights)
    for (const std::string& path : parts_of(list)) files.push_back(path);
  for (int i = 0; options.weights.empty() && i < file.solver.weights_size(); ++i)
    for (const std::string& path : parts_of(file.solver.weights(i)))
      files.push_back(path_in_solver(file, path_to("", "weights", i), path));
  return files;
}

void load_starting_weights(const std::vector<std::string>& files, SolverNets& nets) {
  std::vector<Net*> with_weights = {nets.train.get()};
  for (const std::unique_ptr<Net>& test : nets.tests)
    if (!test->layers_without_weights().empty()) with_weights.push_back(test.get());
  for (const std::string& path : files) {
    log_info() << "Finetuning from " << path;
    const std::vector<LayerWeights> weights = read_weights(path);
    for (Net* net : with_weights) net->load_weights(weights, path);
  }
  if (files.empty()) return;
  if (const std::vector<std::string> fresh = nets.train->layers_without_weights(); !fresh.empty())
    log_warning() << "Not in the loaded weights: " << layers_text(fresh) << "; they start from their fillers";
}

}  // namespace cortado
