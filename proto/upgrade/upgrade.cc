// Upgrades nets of all previous formats when they are read, so that no other code handles these. The steps are those of
// Caffe's own upgrade, except that old transformation fields are moved in layers of the current format too.
#include "proto/upgrade/upgrade.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "core/files/file.h"
#include "proto/text/move_field.h"
#include "proto/upgrade/upgrade_layers.h"

namespace cortado {

namespace {

/// Upgrades one net at `path` of a file.
class NetUpgrade {
 public:
  NetUpgrade(caffe::NetParameter& net, std::string path, Positions& positions, Mistakes& mistakes)
      : net_(net), path_(std::move(path)), positions_(positions), mistakes_(mistakes) {}

  void run() {
    upgrade_v0_layers(net_, path_, positions_, mistakes_);
    upgrade_v1_layers(net_, path_, positions_, mistakes_);
    for (int i = 0; i < net_.layer_size(); ++i) {
      move_transformations(*net_.mutable_layer(i), path_to(path_, "layer", i));
      move_clip_options(*net_.mutable_layer(i), path_to(path_, "layer", i));
      stop_statistics(*net_.mutable_layer(i), path_to(path_, "layer", i));
    }
    densify_boxes();
    make_input_layer();
  }

 private:
  void move_transformations(caffe::LayerParameter& layer, const std::string& path);
  void move_clip_options(caffe::LayerParameter& layer, const std::string& path);
  void stop_statistics(caffe::LayerParameter& layer, const std::string& path);
  void densify_boxes();
  void make_input_layer();
  void set_shapes(caffe::InputParameter& input, const std::string& path);
  bool shapes_are_given();
  bool layers_make_inputs() const;

  caffe::NetParameter& net_;
  std::string path_;
  Positions& positions_;
  Mistakes& mistakes_;
};

/// A field of a data layer's options, and that of transform_param with the same meaning.
struct MovedOption {
  const char *name, *target;
};
constexpr MovedOption kMovedOptions[] = {{"scale", "scale"},   {"mean_file", "mean_file"}, {"crop_size", "crop_size"},
                                         {"mirror", "mirror"}, {"crop_height", "crop_h"},  {"crop_width", "crop_w"}};

/// Old data layers have scale, mean_file, crop_size and mirror among their own options, and SegNet's DenseImageData has
/// crop_height and crop_width.
void NetUpgrade::move_transformations(caffe::LayerParameter& layer, const std::string& path) {
  for (const char* options_name : {"data_param", "image_data_param", "window_data_param", "dense_image_data_param"}) {
    if (!is_set(layer, options_name)) continue;
    const auto* field = layer.GetDescriptor()->FindFieldByName(options_name);
    google::protobuf::Message& options = *layer.GetReflection()->MutableMessage(&layer, field);
    const PlacedMessage from{options, path_to(path, options_name)}, to{layer, path};
    for (const auto& [name, new_name] : kMovedOptions) {
      if (!is_set(options, name)) continue;
      const std::string target = path_to("transform_param", new_name), old_place = path_to(from.path, name);
      if (is_set(layer.transform_param(), new_name)) {
        mistakes_.add({positions_.name_place(old_place),
                       std::string("'") + name + "' is given twice",
                       {},
                       {{positions_.name_place(path_to(path, target)), "also given in transform_param"}}});
        continue;
      }
      copy_field(from, name, -1, to, target, positions_);
      options.GetReflection()->ClearField(&options, options.GetDescriptor()->FindFieldByName(name));
      positions_.erase(old_place);
    }
  }
}

/// Old versions of C3D's VideoData have image_data_param.
void NetUpgrade::move_clip_options(caffe::LayerParameter& layer, const std::string& path) {
  if (layer.type() != "VideoData" || !layer.has_image_data_param() || layer.has_video_data_param()) return;
  google::protobuf::Message& options = *layer.mutable_image_data_param();
  const PlacedMessage from{options, path_to(path, "image_data_param")}, to{layer, path};
  const auto* clips = caffe::VideoDataParameter::descriptor();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  options.GetReflection()->ListFields(options, &fields);
  bool all = true;
  for (const auto* field : fields) {
    const std::string& name = field->name();
    if (clips->FindFieldByName(name) == nullptr) {
      all = false;
      continue;
    }
    copy_field(from, name, -1, to, path_to("video_data_param", name), positions_);
    options.GetReflection()->ClearField(&options, field);
    positions_.erase(path_to(from.path, name));
  }
  if (all) layer.clear_image_data_param();
}

/// The three blobs of BatchNorm are statistics, which solvers must not change, whatever rates the file sets. Names are
/// kept for statistics that layers share.
void NetUpgrade::stop_statistics(caffe::LayerParameter& layer, const std::string& path) {
  if (layer.type() != "BatchNorm" || layer.param_size() != 3) return;
  const bool named = std::ranges::any_of(layer.param(), [](const caffe::ParamSpec& param) { return param.has_name(); });
  for (caffe::ParamSpec& param : *layer.mutable_param()) {
    param.set_lr_mult(0);
    param.set_decay_mult(0);
  }
  if (named) return;
  layer.clear_param();
  for (int i = 0; i < 3; ++i) positions_.erase(path_to(path, "param", i));
}

/// FaceBoxes has several boxes for a min_size of 32 and 64 in each cell without an option for it. Its first boxes have
/// 32, 64 and 128, and the offsets of 21 boxes come from a Convolution that reads the same blob.
void NetUpgrade::densify_boxes() {
  constexpr float kSizes[] = {32, 64, 128};
  constexpr uint32_t kOffsets = 4 * (16 + 4 + 1);
  const auto has_plain_sizes = [](const caffe::LayerParameter& layer) {
    const caffe::PriorBoxParameter& param = layer.prior_box_param();
    return layer.type() == "PriorBox" && param.min_size_size() > 0 && param.max_size_size() == 0 &&
           param.aspect_ratio_size() == 0 && param.fixed_size_size() == 0;
  };
  const auto needs_it = [&](const caffe::LayerParameter& boxes) {
    if (!has_plain_sizes(boxes) || boxes.bottom_size() == 0) return false;
    if (!std::ranges::equal(boxes.prior_box_param().min_size(), kSizes)) return false;
    return std::ranges::any_of(net_.layer(), [&boxes](const caffe::LayerParameter& layer) {
      return layer.type() == "Convolution" && layer.bottom_size() == 1 && layer.bottom(0) == boxes.bottom(0) &&
             layer.convolution_param().num_output() == kOffsets;
    });
  };
  if (!std::ranges::any_of(net_.layer(), needs_it)) return;
  for (caffe::LayerParameter& layer : *net_.mutable_layer())
    if (has_plain_sizes(layer) && !layer.prior_box_param().has_densify())
      layer.mutable_prior_box_param()->set_densify(true);
}

/// Whether layers make all blobs of `input`, so that no shapes are needed: Caffe ignores such an `input`.
bool NetUpgrade::layers_make_inputs() const {
  std::set<std::string> tops;
  for (const caffe::LayerParameter& layer : net_.layer()) tops.insert(layer.top().begin(), layer.top().end());
  return std::all_of(net_.input().begin(), net_.input().end(),
                     [&tops](const std::string& input) { return tops.contains(input); });
}

bool NetUpgrade::shapes_are_given() {
  const int inputs = net_.input_size(), shapes = net_.input_shape_size(), dims = net_.input_dim_size();
  if (shapes > 0 ? shapes == inputs && dims == 0 : dims == 4 * inputs) return true;
  const Place place = positions_.name_place(path_to(path_, inputs > 0   ? "input[0]"
                                                           : shapes > 0 ? "input_shape[0]"
                                                                        : "input_dim[0]"));
  mistakes_.add({place,
                 std::to_string(inputs) + " input, " + std::to_string(shapes) + " input_shape and " +
                     std::to_string(dims) + " input_dim do not go together",
                 inputs > 0 ? "set one input_shape, or four input_dim, for each input"
                            : "use them with `input`; an Input layer has its shapes in input_param",
                 {}});
  return false;
}

void NetUpgrade::set_shapes(caffe::InputParameter& input, const std::string& path) {
  for (int i = 0; i < net_.input_size(); ++i) {
    const std::string shape_path = path_to(path, "shape", i);
    caffe::BlobShape& shape = *input.add_shape();
    if (net_.input_shape_size() > 0) {
      shape = net_.input_shape(i);
      positions_.copy(path_to(path_, "input_shape", i), shape_path);
      continue;
    }
    for (int k = 0; k < 4; ++k) {
      shape.add_dim(net_.input_dim(4 * i + k));
      positions_.copy(path_to(path_, "input_dim", 4 * i + k), path_to(shape_path, "dim", k));
    }
  }
}

/// Converts `input: "data"` with its shape to one Input layer before all others, named "input".
void NetUpgrade::make_input_layer() {
  const bool shapes = net_.input_shape_size() > 0 || net_.input_dim_size() > 0;
  if (net_.input_size() == 0 && !shapes) return;
  if (!shapes && layers_make_inputs()) return net_.clear_input();
  if (!shapes_are_given()) return;
  google::protobuf::RepeatedPtrField<caffe::LayerParameter> layers;
  net_.mutable_layer()->Swap(&layers);
  for (int i = layers.size() - 1; i >= 0; --i)
    positions_.move(path_to(path_, "layer", i), path_to(path_, "layer", i + 1));
  caffe::LayerParameter& input = *net_.add_layer();
  const std::string path = path_to(path_, "layer", 0);
  input.set_name("input");
  input.set_type("Input");
  positions_.copy_node(path_to(path_, "input", 0), path);
  for (int i = 0; i < net_.input_size(); ++i) {
    input.add_top(net_.input(i));
    positions_.copy(path_to(path_, "input", i), path_to(path, "top", i));
  }
  set_shapes(*input.mutable_input_param(), path_to(path, "input_param"));
  for (caffe::LayerParameter& layer : layers) net_.add_layer()->Swap(&layer);
  net_.clear_input();
  net_.clear_input_shape();
  net_.clear_input_dim();
}

void upgrade_type(caffe::SolverParameter& solver, Positions& positions, Mistakes& mistakes) {
  static constexpr const char* kTypes[] = {"SGD", "Nesterov", "AdaGrad", "RMSProp", "AdaDelta", "Adam", "SAG"};
  static_assert(std::size(kTypes) == caffe::SolverParameter::SolverType_MAX + 1);
  if (!solver.has_solver_type()) return;
  if (solver.has_type()) {
    mistakes.add({positions.name_place("solver_type"),
                  "'solver_type' and 'type' are both given",
                  "remove 'solver_type'",
                  {{positions.name_place("type"), "'type' is here"}}});
    return;
  }
  solver.set_type(kTypes[solver.solver_type()]);
  solver.clear_solver_type();
  positions.move("solver_type", "type");
}

}  // namespace

void upgrade_net(caffe::NetParameter& net, Positions& positions) {
  Mistakes mistakes;
  NetUpgrade(net, "", positions, mistakes).run();
  mistakes.throw_if_any(ExitCode::kNet);
}

void upgrade_solver(caffe::SolverParameter& solver, Positions& positions) {
  Mistakes mistakes;
  upgrade_type(solver, positions, mistakes);
  if (solver.has_net_param()) NetUpgrade(*solver.mutable_net_param(), "net_param", positions, mistakes).run();
  if (solver.has_train_net_param())
    NetUpgrade(*solver.mutable_train_net_param(), "train_net_param", positions, mistakes).run();
  for (int i = 0; i < solver.test_net_param_size(); ++i)
    NetUpgrade(*solver.mutable_test_net_param(i), path_to("", "test_net_param", i), positions, mistakes).run();
  mistakes.throw_if_any(ExitCode::kNet);
}

void restore_inputs(caffe::NetParameter& net, Positions& positions, bool dims) {
  if (net.layer_size() == 0 || net.layer(0).type() != "Input" || positions.known("layer[0].type")) return;
  const caffe::LayerParameter input = net.layer(0);
  const auto& shapes = input.input_param().shape();
  for (int i = 0; i < input.top_size(); ++i) {
    net.add_input(input.top(i));
    positions.copy(path_to("layer[0]", "top", i), path_to("", "input", i));
  }
  const bool four = std::all_of(shapes.begin(), shapes.end(), [](const auto& shape) { return shape.dim_size() == 4; });
  for (int i = 0; i < shapes.size() && (four || !dims); ++i) {
    const std::string shape = path_to("layer[0].input_param", "shape", i);
    if (!dims) {
      *net.add_input_shape() = shapes[i];
      positions.copy(shape, path_to("", "input_shape", i));
      continue;
    }
    for (int k = 0; k < 4; ++k) {
      positions.copy(path_to(shape, "dim", k), path_to("", "input_dim", 4 * i + k));
      net.add_input_dim(int32_t(shapes[i].dim(k)));
    }
  }
  net.mutable_layer()->DeleteSubrange(0, 1);
  positions.erase("layer[0]");
  for (int i = 0; i < net.layer_size(); ++i) positions.move(path_to("", "layer", i + 1), path_to("", "layer", i));
}

void set_snapshot_prefix(caffe::SolverParameter& solver, const std::string& path) {
  const std::filesystem::path file(path);
  std::error_code unknown;
  if (!solver.has_snapshot_prefix())
    solver.set_snapshot_prefix(std::filesystem::path(file).replace_extension().string());
  else if (std::filesystem::is_directory(solver.snapshot_prefix(), unknown))
    solver.set_snapshot_prefix(join_path(solver.snapshot_prefix(), file.stem().string()));
}

}  // namespace cortado
