#include "solvers/solver_nets.h"

#include <limits>
#include <map>
#include <sstream>

#include "core/file.h"
#include "core/log.h"
#include "graph/freeze.h"
#include "net/epoch.h"
#include "solvers/check.h"
#include "solvers/weight_update.h"

namespace cortado {

namespace {

/// Where one net comes from: a path in the solver's `field`, or a net written inside the solver at `field`.
struct Source {
  std::string field;
  const std::string* path = nullptr;
  const caffe::NetParameter* message = nullptr;

  std::string str() const {
    const std::string name = field.substr(0, field.find('['));
    return path ? name + " file: " + *path : name;
  }
};

class NetMaker {
 public:
  NetMaker(const SolverFile& file, const SolverOptions& options, Context& context)
      : file_(file), options_(options), context_(context) {}

  std::unique_ptr<Net> make_train();
  std::unique_ptr<Net> make_test(int index, const Source& source, Net& train);
  std::unique_ptr<Net> make_tail(int index, const Source& source, Net& test, int64_t records);
  Source train_source() const;
  std::vector<Source> test_sources() const;
  caffe::NetState train_state() const;
  caffe::NetState test_state(int index) const;
  std::shared_ptr<const NetFile> read(const Source& source);

 private:
  graph::BuildOptions build_options() const;

  const SolverFile& file_;
  const SolverOptions& options_;
  Context& context_;
  std::map<std::string, std::shared_ptr<const NetFile>> read_;  // the usual file holds the training and the test net
};

Source NetMaker::train_source() const {
  const caffe::SolverParameter& solver = file_.solver;
  if (solver.has_train_net_param()) return {.field = "train_net_param", .message = &solver.train_net_param()};
  if (solver.has_train_net()) return {.field = "train_net", .path = &solver.train_net()};
  if (solver.has_net_param()) return {.field = "net_param", .message = &solver.net_param()};
  return {.field = "net", .path = &solver.net()};
}

/// In Caffe's order, which gives the tests their numbers.
std::vector<Source> NetMaker::test_sources() const {
  const caffe::SolverParameter& solver = file_.solver;
  std::vector<Source> sources;
  if (count_test_nets(solver) == 0) return sources;
  for (int i = 0; i < solver.test_net_param_size(); ++i)
    sources.push_back({.field = path_to("", "test_net_param", i), .message = &solver.test_net_param(i)});
  for (int i = 0; i < solver.test_net_size(); ++i)
    sources.push_back({.field = path_to("", "test_net", i), .path = &solver.test_net(i)});
  while (int(sources.size()) < count_test_nets(solver)) {
    if (solver.has_net_param())
      sources.push_back({.field = "net_param", .message = &solver.net_param()});
    else
      sources.push_back({.field = "net", .path = &solver.net()});
  }
  return sources;
}

/// The file that a field of the solver names.
std::string find_path(const SolverFile& file, const std::string& field, const std::string& path) {
  if (file_exists(path)) return path;
  const std::string beside = join_path(folder_of(file.positions.file()), path);
  if (file_exists(beside)) {
    log_info() << "There is no " << path << " in the current folder; taking " << beside;
    return beside;
  }
  throw Error(ExitCode::kIo, {file.positions.place(field),
                              "there is no file " + path,
                              "paths are taken from the current folder, then from the solver's",
                              {}});
}

std::shared_ptr<const NetFile> NetMaker::read(const Source& source) {
  std::shared_ptr<const NetFile>& file = read_[source.path ? *source.path : source.field];
  if (file) return file;
  NetFile net = source.path ? read_net_draft(find_path(file_, source.field, *source.path))
                            : NetFile{*source.message, file_.positions.below(source.field)};
  options_.overrides.apply(net);
  auto draft = std::make_shared<const NetFile>(std::move(net));
  graph::refuse_draft(draft);
  return file = std::move(draft);
}

graph::BuildOptions NetMaker::build_options() const {
  graph::BuildOptions build;
  build.fuse = options_.fuse;
  build.switch_off = options_.switch_off;
  build.data_threads = options_.data_threads;
  build.seed = context_.seed;
  return build;
}

caffe::NetState NetMaker::train_state() const {
  caffe::NetState state;
  state.set_phase(caffe::TRAIN);
  state.MergeFrom(file_.solver.train_state());
  state.MergeFrom(options_.state);
  return state;
}

caffe::NetState NetMaker::test_state(int index) const {
  caffe::NetState state;
  state.set_phase(caffe::TEST);
  if (index < file_.solver.test_state_size()) state.MergeFrom(file_.solver.test_state(index));
  return state;
}

void log_frozen(const graph::Graph& graph) {
  int64_t params = 0;
  for (const graph::Weight& weight : graph.weights) params += weight.spec.learned ? weight.spec.shape.count() : 0;
  std::string names;
  for (const std::string& name : graph::layers_that_keep(graph)) names += (names.empty() ? "" : ", ") + name;
  log_info() << "Frozen: " << graph::count_frozen(graph) << " of " << params << " parameters, those of " << names;
}

std::unique_ptr<Net> NetMaker::make_train() {
  const Source source = train_source();
  log_info() << "Creating training net from " << source.str();
  graph::BuildOptions build = build_options();
  build.state = train_state();
  build.accumulates = file_.solver.iter_size() > 1;
  build.fuse = build.fuse && !file_.solver.debug_info();  // each layer of the file has its lines
  build.transient_gradients = updates_within_backward(file_.solver, context_.device);
  build.recompute = options_.recompute;
  build.freeze = options_.freeze;
  std::unique_ptr<Net> net = make_net(read(source), build, context_);
  if (!options_.freeze.empty()) log_frozen(net->plan().graph);
  return net;
}

std::unique_ptr<Net> NetMaker::make_test(int index, const Source& source, Net& train) {
  log_info() << "Creating test net (#" << index << ") specified by " << source.str();
  graph::BuildOptions build = build_options();
  build.state = test_state(index);
  build.backward = false;
  return make_net(read(source), build, context_, &train);
}

std::unique_ptr<Net> NetMaker::make_tail(int index, const Source& source, Net& test, int64_t records) {
  const int64_t left = records % test.batch_size();
  if (left == 0) return nullptr;
  graph::BuildOptions build = build_options();
  build.state = test_state(index);
  build.backward = false;
  return make_net(with_data_batch(read(source), left), build, context_, &test);
}

bool has_weights_of_its_own(const Net& test, const Net& train) {
  for (const graph::SourceLayer& layer : test.plan().graph.layers)
    if (!layer.weights.empty() && train.plan().graph.source_named(layer.config->name()) < 0) return true;
  return false;
}

}  // namespace

SolverNets make_solver_nets(const SolverFile& file, const SolverOptions& options, Context& context) {
  NetMaker maker(file, options, context);
  SolverNets nets;
  nets.train = maker.make_train();
  log_info() << "Memory required for data: " << nets.train->plan().arena_bytes;
  for (const Source& source : maker.test_sources()) {
    const int index = int(nets.tests.size());
    nets.tests.push_back(maker.make_test(index, source, *nets.train));
    if (!file.solver.test_epoch()) continue;
    nets.test_records.push_back(records_of(nets.tests.back()->plan().graph, "test_epoch"));
    nets.tails.push_back(maker.make_tail(index, source, *nets.tests.back(), nets.test_records.back()));
  }
  return nets;
}

std::vector<SolverNetFile> read_solver_nets(const SolverFile& file, const SolverOptions& options, Context& context) {
  NetMaker maker(file, options, context);
  std::vector<SolverNetFile> nets = {{maker.read(maker.train_source()), maker.train_state()}};
  for (const Source& source : maker.test_sources())
    nets.push_back({maker.read(source), maker.test_state(int(nets.size()) - 1)});
  return nets;
}

int max_iter_of_epochs(const caffe::SolverParameter& solver, const Net& train) {
  const int64_t records = records_of(train.plan().graph, "max_epoch"), step = train.batch_size() * solver.iter_size();
  const int64_t iterations = (solver.max_epoch() * records + step - 1) / step;
  if (iterations > std::numeric_limits<int>::max())
    throw FieldError("max_epoch", "so many epochs take " + std::to_string(iterations) + " iterations");
  return int(iterations);
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
      files.push_back(find_path(file, path_to("", "weights", i), path));
  return files;
}

void load_starting_weights(const std::vector<std::string>& files, SolverNets& nets) {
  for (const std::string& path : files) {
    log_info() << "Finetuning from " << path;
    const std::vector<LayerWeights> weights = read_weights(path);
    nets.train->load_weights(weights, path);
    for (const std::unique_ptr<Net>& test : nets.tests)
      if (has_weights_of_its_own(*test, *nets.train)) test->load_weights(weights, path);
  }
}

}  // namespace cortado
