#include "tools/starter/starting_net.h"

#include <algorithm>
#include <filesystem>

#include "core/files/file.h"
#include "core/process/program_path.h"
#include "tools/options/flags.h"
#include "tools/options/net_file.h"

namespace cortado::tools {

namespace {

constexpr char kNet[] = "train_val.prototxt", kSolver[] = "solver.prototxt", kDeploy[] = "deploy.prototxt";
constexpr char kSmallForm[] = "fashion_mnist.prototxt";

}  // namespace

std::string models_folder() {
  const std::string here = folder_of(code_path());
  for (const char* place : {"models", "../models", "../share/cortado/models", "../../share/cortado/models",
                            "../../../share/cortado/models", "../../models", "../../../models", "../../../../models"}) {
    const std::string folder = join_path(here, place);
    if (file_exists(join_path(folder, std::string("lenet/") + kNet))) return folder;
  }
  return "";
}

namespace {

/// The folder with the net's files, and the net.
struct NetPlace {
  std::string name, folder, net;
  bool is_folder = false;  ///< given by its folder or its name in models/
};

NetPlace place_of(const std::string& from) {
  std::error_code ignored;
  const std::string given = without_trailing_slashes(from);
  if (std::filesystem::is_regular_file(given, ignored)) return {given, folder_of(given), given};
  if (file_exists(join_path(given, kNet))) return {file_name_of(given), given, join_path(given, kNet), true};
  const std::string known = join_path(models_folder(), given);
  if (given.find('/') == std::string::npos && file_exists(join_path(known, kNet)))
    return {given, known, join_path(known, kNet), true};
  const std::vector<std::string> names = known_starts("");
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  throw usage_error(
      "--from=" + from + " is neither a prototxt nor a net of models/",
      names.empty() ? "models/ was not found: give the path of a train_val.prototxt" : "choose one of " + list);
}

const caffe::LayerParameter* find_data_layer(const caffe::NetParameter& net) {
  for (const caffe::LayerParameter& layer : net.layer())
    if (layer.has_data_param() || layer.has_image_data_param()) return &layer;
  return nullptr;
}

int64_t batch_of_data(const caffe::LayerParameter& layer) {
  return layer.has_image_data_param() ? layer.image_data_param().batch_size() : layer.data_param().batch_size();
}

/// Height of the deploy net's input.
int deploy_side(const std::string& path) {
  if (!file_exists(path)) return 0;
  const NetFile file = read_net(path);
  for (const caffe::LayerParameter& layer : file.net.layer())
    if (layer.type() == "Input" && layer.input_param().shape_size() > 0 && layer.input_param().shape(0).dim_size() == 4)
      return int(layer.input_param().shape(0).dim(2));
  return 0;
}

Recipe recipe_of(const std::string& name, const std::string& path, int64_t batch) {
  Recipe recipe;
  if (batch > 0) recipe.batch = recipe.batch_at_once = batch;
  if (!file_exists(path)) return recipe;
  const caffe::SolverParameter solver = read_solver(path).solver;
  recipe.source = name + "'s solver";
  recipe.type = solver.type();
  if (solver.has_base_lr()) recipe.base_lr = solver.base_lr();
  if (solver.has_momentum()) recipe.momentum = solver.momentum();
  recipe.momentum2 = solver.momentum2();
  recipe.weight_decay = solver.weight_decay();
  recipe.batch *= std::max(1, solver.iter_size());
  return recipe;
}

}  // namespace

std::optional<KnownRecipe> recipe_for_net(const std::string& net_name) {
  if (net_name.empty()) return {};
  for (const std::string& name : known_starts("")) {
    const std::string folder = join_path(models_folder(), name);
    const std::string text = read_file(join_path(folder, kNet));
    if (text.find("\nname: \"" + net_name + "\"\n") == std::string::npos) continue;
    const NetFile file = read_net_from_text(text, name);
    const caffe::LayerParameter* data = find_data_layer(file.net);
    if (!data) continue;
    KnownRecipe known{name, recipe_of(name, join_path(folder, kSolver), batch_of_data(*data))};
    if (!known.recipe.source.empty()) return known;
  }
  return {};
}

std::string trained_weights(const std::string& from) {
  const NetPlace place = place_of(from);
  if (!place.is_folder) return "";
  const std::string file = join_path(place.folder, place.name + ".caffemodel");
  return file_exists(file) ? file : "";
}

std::vector<std::string> known_starts(const std::string& kind) {
  std::vector<std::string> names;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(models_folder(), failure)) {
    const std::string name = entry.path().filename(), net = join_path(entry.path(), kNet);
    const bool detects = name.starts_with("ssd"), other = name.starts_with("crnn");
    if (!file_exists(net) || other || (kind == "classifier" && detects) || (kind == "detector" && !detects)) continue;
    names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

StartingNet read_starting_net(const std::string& from, bool small_images) {
  const NetPlace place = place_of(from);
  const std::string small = join_path(place.folder, kSmallForm);
  StartingNet start;
  start.name = place.name;
  start.small_form = small_images && file_name_of(place.net) == kNet && file_exists(small);
  const auto whole = open_net(place.net);
  start.file = start.small_form ? open_net(small) : whole;
  const caffe::LayerParameter* data = find_data_layer(start.file->net);
  if (data) start.transform = data->transform_param();
  start.side = int(start.transform.crop_size());
  if (start.side == 0) start.side = start.small_form ? 28 : deploy_side(join_path(place.folder, kDeploy));
  const caffe::LayerParameter* recipe_data = find_data_layer(whole->net);
  start.recipe = recipe_of(place.name, join_path(place.folder, kSolver), recipe_data ? batch_of_data(*recipe_data) : 0);
  return start;
}

}  // namespace cortado::tools
