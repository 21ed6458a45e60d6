#include "tools/runs/resolved_files.h"

#include <filesystem>
#include <functional>

#include "core/files/file.h"
#include "proto/text/write_text.h"
#include "tools/runs/environment.h"
#include "tools/runs/run_file.h"

namespace cortado::runs {

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

struct NetField {
  std::string field, path;
};

/// The fields of a solver that name nets.
std::vector<NetField> net_fields(const caffe::SolverParameter& solver) {
  std::vector<NetField> fields;
  if (solver.has_net()) fields.push_back({"net", solver.net()});
  if (solver.has_train_net()) fields.push_back({"train_net", solver.train_net()});
  for (int i = 0; i < solver.test_net_size(); ++i) fields.push_back({path_to("", "test_net", i), solver.test_net(i)});
  return fields;
}

/// "net.prototxt", "test_net_0.prototxt".
std::string file_for(const std::string& field) {
  std::string name;
  for (const char c : field)
    if (c != ']') name += c == '[' ? '_' : c;
  return name + ".prototxt";
}

void set_net(caffe::SolverParameter& solver, size_t index, const std::string& path) {
  const std::string field = net_fields(solver)[index].field;
  if (field == "net") return solver.set_net(path);
  if (field == "train_net") return solver.set_train_net(path);
  solver.set_test_net(int(index) - int(solver.has_net()) - int(solver.has_train_net()), path);
}

/// The nets inside the solver file, with the overrides.
void override_inner_nets(const SolverOptions& options, const SolverFile& written, caffe::SolverParameter& solver) {
  const auto apply = [&](caffe::NetParameter& net, const std::string& field) {
    NetFile file{net, written.positions.below(field), {}, written.paths_from};
    options.overrides.apply(file);
    net = file.net;
  };
  if (solver.has_net_param()) apply(*solver.mutable_net_param(), "net_param");
  if (solver.has_train_net_param()) apply(*solver.mutable_train_net_param(), "train_net_param");
  for (int i = 0; i < solver.test_net_param_size(); ++i)
    apply(*solver.mutable_test_net_param(i), path_to("", "test_net_param", i));
}

NetFile net_of(const SolverFile& file, const NetField& field, const SolverOptions& options) {
  NetFile net = read_net(path_in_solver(file, field.field, field.path));
  options.overrides.apply(net);
  return net;
}

/// Calls use(field name, text) for all strings of the message and its submessages.
void for_each_text(const Message& message, const std::function<void(const std::string&, const std::string&)>& use) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const auto* reflection = message.GetReflection();
    const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
        for_each_text(field->is_repeated() ? reflection->GetRepeatedMessage(message, field, i)
                                           : reflection->GetMessage(message, field),
                      use);
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING)
        use(field->name(), field->is_repeated() ? reflection->GetRepeatedString(message, field, i)
                                                : reflection->GetString(message, field));
    }
  }
}

}  // namespace

std::string prefix_in(const RunPaths& paths, const std::string& prefix) {
  const std::string name = file_name_of(prefix);
  return join_path(paths.snapshots, name.empty() ? "net" : name);
}

void write_resolved(const RunPaths& paths, const SolverFile& file, const SolverOptions& options) {
  caffe::SolverParameter solver = file.solver;
  override_inner_nets(options, file, solver);
  const std::vector<NetField> fields = net_fields(solver);
  for (size_t i = 0; i < fields.size(); ++i) {
    const std::string path = join_path(paths.folder, file_for(fields[i].field));
    write_run_file(path, to_text(net_of(file, fields[i], options).net));
    set_net(solver, i, path);
  }
  solver.clear_weights();
  for (const std::string& path : starting_weights(file, options)) solver.add_weights(path);
  write_run_file(paths.solver, to_text(solver));
}

SolverFile read_resolved(const RunPaths& paths) {
  check_run_file(paths.solver);
  SolverFile file = read_solver(paths.solver);
  const std::vector<NetField> fields = net_fields(file.solver);
  for (size_t i = 0; i < fields.size(); ++i) {
    const std::string path = join_path(paths.folder, file_name_of(fields[i].path));
    check_run_file(path);
    set_net(file.solver, i, path);
  }
  file.solver.set_snapshot_prefix(prefix_in(paths, file.solver.snapshot_prefix()));
  return file;
}

std::vector<ResolvedNet> resolved_nets(const RunPaths& paths) {
  const caffe::SolverParameter solver = read_resolved(paths).solver;
  std::vector<ResolvedNet> nets;
  for (const NetField& field : net_fields(solver)) nets.push_back({field.field, read_net(field.path).net});
  if (solver.has_net_param()) nets.push_back({"net_param", solver.net_param()});
  if (solver.has_train_net_param()) nets.push_back({"train_net_param", solver.train_net_param()});
  for (int i = 0; i < solver.test_net_param_size(); ++i)
    nets.push_back({path_to("", "test_net_param", i), solver.test_net_param(i)});
  return nets;
}

std::vector<InputFile> inputs_of(const SolverFile& file, const SolverOptions& options) {
  std::vector<InputFile> inputs;
  const auto add = [&](const std::string& kind, const std::string& path) {
    for (const InputFile& known : inputs)
      if (known.path == path) return;
    inputs.push_back(describe_input(kind, path));
  };
  const auto look_at = [&](const std::string& field, const std::string& text) {
    if (field == "source") add("data", text);
    if (field == "mean_file") add("mean", text);
  };
  for (const NetField& field : net_fields(file.solver)) for_each_text(net_of(file, field, options).net, look_at);
  for_each_text(file.solver, look_at);
  for (const std::string& path : starting_weights(file, options)) add("weights", path);
  return inputs;
}

}  // namespace cortado::runs
