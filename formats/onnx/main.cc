// cortado-onnx: exports and imports ONNX models. A separate process, so that a damaged file cannot crash cortado.
#include <signal.h>

#include <cstdlib>
#include <iostream>
#include <limits>
#include <new>
#include <sstream>

#include "core/cpu/lesser_cpu.h"
#include "core/error.h"
#include "core/field_text.h"
#include "core/files/file.h"
#include "core/files/mapped_file.h"
#include "core/log.h"
#include "core/process/process_limits.h"
#include "core/shape.h"
#include "graph/dialect/dialect.h"
#include "onnx/export/export.h"
#include "onnx/import/import.h"
#include "onnx/words.h"
#include "proto/weights/onnx_file.h"

namespace cortado {

namespace {

constexpr const char* kUsage =
    "cortado-onnx exports and imports ONNX models for cortado, which starts it. See `cortado convert onnx --help`.\n"
    "\n"
    "  cortado-onnx export NET --weights=FILE --output=MODEL [--outputs=BLOB]... [--level=N] [--stage=NAME]...\n"
    "               [--shape=BLOB=1,C,H,W]... [--set=FIELD=VALUE]...\n"
    "               [--fold] [--for=PROGRAM] [--half=weights|all | --int8] [--like=NET [--rgb]]\n"
    "  cortado-onnx import MODEL --output=NET --weights=FILE [--shape=NAME=1,C,H,W]... [--batch=N]\n"
    "               [--dialect=NAME]\n"
    "  cortado-onnx send MODEL [--weights]   write the net's text to standard output, then its weights as a "
    ".caffemodel\n";

int show_usage(std::ostream& out, int code) {
  out << kUsage;
  return code;
}

int export_net(const Words& words) {
  exporting::ExportRequest request;
  request.net = words.operands().at(1);
  request.weights = words.texts("weights");
  request.outputs = words.texts("outputs");
  request.shapes = shapes_from_text(words.texts("shape"));
  request.overrides = Overrides(words.texts("set"));
  if (words.has("level")) request.state.set_level(std::stoi(words.text("level")));
  for (const std::string& stage : words.texts("stage")) request.state.add_stage(stage);
  request.fold = words.has("fold");
  if (words.has("for")) request.reader = words.text("for");
  request.int8 = words.has("int8");
  if (words.has("half"))
    request.half = words.text("half") == "weights" ? exporting::ExportRequest::Half::kWeights
                                                   : exporting::ExportRequest::Half::kAll;
  request.like = words.text("like");
  request.rgb = words.has("rgb");
  const onnx::ModelProto model = exporting::make_model(request);
  const std::string path = words.text("output");
  if (model.ByteSizeLong() > size_t(std::numeric_limits<int32_t>::max()))
    throw file_error(ExitCode::kIo, path,
                     std::to_string(model.ByteSizeLong()) + " bytes exceed the limit of a model file, 2 GiB");
  write_file_atomically(path, model.SerializeAsString());
  log_info() << path << ": " << model.graph().node_size() << " nodes, " << model.graph().initializer_size()
             << " constants";
  return 0;
}

importing::ImportedNet in_dialect(importing::ImportedNet net, const std::string& model, dialect::Target target) {
  Place place;
  place.file = model;
  const auto place_of = [&](int, const std::string&) { return place; };
  dialect::Rewritten rewritten = dialect::rewrite({std::move(net.net), std::move(net.weights)}, target, place_of);
  for (const std::string& warning : rewritten.warnings) log_warning() << model << ": " << warning;
  log_info() << rewritten.rewritten << " layers rewritten for " << dialect::title_of(target);
  return {std::move(rewritten.net), std::move(rewritten.weights), net.own_batch_alone};
}

importing::ImportOptions import_options(const Words& words) {
  importing::ImportOptions options{.shapes = shapes_from_text(words.texts("shape"))};
  if (words.has("batch")) options.batch = std::stoll(words.text("batch"));
  return options;
}

int import_net(const Words& words) {
  const std::string& model = words.operands().at(1);
  importing::ImportedNet net = importing::import_model(model, import_options(words));
  const auto target = dialect::target_named(words.has("dialect") ? words.text("dialect") : "own");
  if (target) net = in_dialect(std::move(net), model, *target);
  const int layers = net.net.layer_size();
  const size_t with_weights = net.weights.size();
  if (!net.own_batch_alone.empty())
    log_warning() << model << ": the net takes only the model's own batch size: " << net.own_batch_alone;
  importing::write_files(std::move(net), model, words.text("output"), words.text("weights"),
                         target ? dialect::weights_form(*target) : WeightsTarget());
  log_info() << words.text("output") << ": " << layers << " layers, " << with_weights << " of them with weights"
             << (with_weights > 0 ? " in " + words.text("weights") : "");
  return 0;
}

/// The lines of an environment variable.
std::vector<std::string> lines_of(const char* variable) {
  const char* value = std::getenv(variable);
  std::istringstream text(value ? value : "");
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

int send_net(const Words& words) {
  const std::string& model = words.operands().at(1);
  try {
    const importing::ImportOptions options{.shapes = shapes_from_text(lines_of(kModelShapesVariable))};
    importing::send(importing::import_model(model, options), model, words.has("weights"));
  } catch (const Error& error) {
    const Diagnostic& mistake = error.mistakes().front();
    importing::send_mistake(error.code(), mistake.message, mistake.hint);
  }
  return 0;
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 1 && (arguments[0] == "--help" || arguments[0] == "-h")) return show_usage(std::cout, 0);
  const Words words(arguments, {"weights", "output", "outputs", "level", "stage", "fold", "for", "half", "int8", "like",
                                "rgb", "shape", "set", "batch", "dialect", "quiet"});
  const std::string command = words.operands().empty() ? "" : words.operands()[0];
  if (words.operands().size() != 2) return show_usage(std::cerr, int(ExitCode::kUsage));
  if (words.has("quiet")) set_log_level(Severity::kWarning);
  ::signal(SIGXFSZ, SIG_IGN);  // write() then fails with EFBIG instead
  limit_core_files();
  if (command == "export" && words.has("output")) return export_net(words);
  if (command == "import" && words.has("output")) return import_net(words);
  if (command == "send") return send_net(words);
  return show_usage(std::cerr, int(ExitCode::kUsage));
}

int report(ExitCode code, const std::string& text) {
  std::cerr << text << '\n';
  return int(code);
}

int run_safely(const std::vector<std::string>& arguments) {
  try {
    return run(arguments);
  } catch (const Error& error) {
    return report(error.code(), error.what());
  } catch (const FieldError& error) {
    return report(ExitCode::kNet, "error: " + with_field(error));
  } catch (const std::bad_alloc&) {
    return report(ExitCode::kDevice, "error: out of memory");
  } catch (const std::exception& error) {
    return report(ExitCode::kInternal, std::string("error: internal error: ") + error.what());
  }
}

}  // namespace

}  // namespace cortado

int main(int argc, char** argv) {
  cortado::end_on_lesser_cpus();
  cortado::guard_mapped_files();
  cortado::allow_many_files();
  cortado::start_logging("cortado-onnx");
  return cortado::run_safely({argv + 1, argv + argc});
}
