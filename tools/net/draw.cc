// `cortado draw`: draws a net. If shapes cannot be inferred, as without the dataset or with unknown layer types, the
// picture has no shapes, and a warning states the reason.
#include <iostream>
#include <optional>

#include "core/files/file.h"
#include "core/log.h"
#include "graph/partial_net.h"
#include "tools/options/net_file.h"
#include "tools/options/run_options.h"
#include "tools/output/output_name.h"
#include "tools/output/terminal.h"
#include "tools/picture/render.h"
#include "tools/program/command.h"

namespace cortado::tools {

namespace {

enum class DrawFormat { kSvg, kPng, kDot, kJson };

DrawFormat draw_format(const Arguments& arguments, const std::string& output) {
  if (arguments.on("json")) return DrawFormat::kJson;
  const std::string named = arguments.text("format");
  const auto is = [&](const char* name, const char* ending) {
    return named.empty() ? output.ends_with(ending) : named == name;
  };
  if (is("svg", ".svg") || (named.empty() && output == "-")) return DrawFormat::kSvg;
  if (is("png", ".png")) return DrawFormat::kPng;
  if (is("dot", ".dot") || output.ends_with(".gv")) return DrawFormat::kDot;
  throw usage_error("'" + output + "' does not end in .svg, .png or .dot", "add --format=svg");
}

std::string drawn_picture(const NetPicture& picture, DrawFormat format, bool across) {
  switch (format) {
    case DrawFormat::kSvg:
      return to_svg(make_scene(picture, across));
    case DrawFormat::kPng:
      return to_png(make_scene(picture, across));
    case DrawFormat::kDot:
      return to_dot(picture, across);
    case DrawFormat::kJson:
      return to_json(picture);
  }
  throw_internal("a format of pictures");
}

/// The net without the errors of layers whose type is unknown: these are drawn by name. Throws for other errors.
std::shared_ptr<const NetFile> drawable(const std::shared_ptr<const NetFile>& draft) {
  graph::NetMistakes found;
  graph::PartialNet(*draft).add_text(found);
  if (!found.rest.empty()) graph::refuse_draft(draft);
  auto file = std::make_shared<NetFile>(*draft);
  file->mistakes.clear();
  return file;
}

std::optional<graph::Graph> shapes_of(const std::shared_ptr<const NetFile>& file, graph::BuildOptions options) {
  std::string why;
  for (const bool open_data : {true, false}) {
    options.open_data = open_data;
    try {
      return graph_with_shapes(file, options);
    } catch (const Error& error) {
      if (why.empty())
        why = error.mistakes()[0].place.str() + (error.mistakes()[0].place.known() ? ": " : "") +
              error.mistakes()[0].message;
    }
    if (open_data) continue;
  }
  log_warning() << "the picture has no shapes: " << why;
  return {};
}

int run_draw(const Arguments& arguments) {
  const std::string output = arguments.text("output");
  const DrawFormat format = draw_format(arguments, output);
  check_may_replace(arguments, output);
  const auto file = with_batch(drawable(open_model_draft(arguments)), arguments.integer("batch"));
  graph::BuildOptions options;
  options.state = state_of(arguments, phase_of(arguments));
  options.backward = false;
  const std::optional<graph::Graph> shapes = shapes_of(file, options);
  const NetPicture picture = make_picture(file, options.state, arguments.on("full"), shapes ? &*shapes : nullptr);
  if (picture.blocks.empty())
    throw Error(ExitCode::kNet, file->positions.file() + ": the net has no layers in this phase");
  const std::string text = drawn_picture(picture, format, arguments.text("rankdir") == "LR");
  if (output == "-") {
    std::cout << text;
    return 0;
  }
  write_file_atomically(output, text);
  log_info() << "wrote " << output << ": " << picture.layers << " layers in " << picture.blocks.size() << " blocks";
  return 0;
}

}  // namespace

Command draw_command() {
  Flag output = output_flag("FILE", "OUT.svg, OUT.png or OUT.dot; '-' is SVG on stdout");
  output.operand = true;
  output.fallback = "-";
  return {
      .name = "draw",
      .summary = "Draw a net as SVG, PNG or for Graphviz",
      .flags = joined({{model_flag(),
                        shape_flag(),
                        output,
                        phase_flag("TRAIN"),
                        {.name = "rankdir",
                         .kind = FlagKind::kText,
                         .value = "DIR",
                         .help = "direction: top to bottom, or left to right",
                         .fallback = "TB",
                         .choices = {"TB", "LR"}},
                        {.name = "full", .help = "show all layers", .note = "a block for each"},
                        format_flag({"svg", "png", "dot"}),
                        batch_flag(),
                        force_flag(),
                        set_flag(),
                        layer_flag(),
                        with_note(json_flag(), "in place of a picture")},
                       state_flags()}),
      .examples = {{"cortado draw models/lenet/deploy.prototxt lenet.svg --phase=TEST", "for any browser"},
                   {"cortado draw net.prototxt net.svg --rankdir=LR --full", "every layer by itself, left to right"},
                   {"cortado draw net.prototxt net.png", "an image"},
                   {"cortado draw net.prototxt net.dot", "for Graphviz: dot -Tpdf net.dot -o net.pdf"}},
      .run = run_draw,
      .about =
          "A block is a layer together with in-place and elementwise layers that only read its output. It shows "
          "name, type, shapes and parameters; in an SVG, the pointer shows all options. An SVG's colours follow "
          "the page, light or dark."};
}

}  // namespace cortado::tools
