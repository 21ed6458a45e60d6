#include "tools/options/like_net.h"

#include <algorithm>

#include "core/files/file.h"
#include "graph/graph.h"
#include "layers/registry.h"
#include "tools/options/net_file.h"
#include "tools/options/run_options.h"

namespace cortado::tools {

namespace {

/// Whether the layer reads images of a dataset or list, but not windows or videos.
bool reads_images(const caffe::LayerParameter& layer) {
  return reads_records(layer.type()) && (layer.has_data_param() || layer.has_image_data_param());
}

/// The data layer of the testing phase, else of the training phase; -1: none.
int data_layer_of(const NetFile& file, caffe::NetState state) {
  for (const caffe::Phase phase : {caffe::TEST, caffe::TRAIN}) {
    state.set_phase(phase);
    const caffe::NetState merged = graph::merge_states(file.net.state(), state);
    for (int i = 0; i < file.net.layer_size(); ++i)
      if (reads_images(file.net.layer(i)) && graph::selected(file.net.layer(i), merged)) return i;
  }
  return -1;
}

/// Whether both have a layer with weights of the same name.
bool are_related(const caffe::NetParameter& a, const caffe::NetParameter& b) {
  for (const caffe::LayerParameter& x : a.layer())
    for (const caffe::LayerParameter& y : b.layer())
      if (x.name() == y.name() && x.type() == y.type() && (x.has_convolution_param() || x.has_inner_product_param()))
        return true;
  return false;
}

/// "deploy.prototxt" is next to "train_val.prototxt"; "lenet.prototxt" and "lenet_deploy.prototxt" are next to
/// "lenet_train_test.prototxt".
std::vector<std::string> names_beside(const std::string& model) {
  constexpr std::string_view kEnding = ".prototxt", kDeploy = "deploy";
  std::string stem = file_name_of(model);
  if (stem.ends_with(kEnding)) stem.resize(stem.size() - kEnding.size());
  const size_t deploy = stem.find(kDeploy);
  std::vector<std::string> names;
  for (const char* kind : {"train_val", "train_test"}) {
    std::string name = stem;
    names.push_back((deploy == std::string::npos ? stem + "_" + kind : name.replace(deploy, kDeploy.size(), kind)) +
                    std::string(kEnding));
  }
  names.push_back("train_val.prototxt");
  return names;
}

LikeNet read_like_net(const std::string& path, const caffe::NetState& state) {
  LikeNet like{path, open_net(path)};
  like.layer = data_layer_of(*like.file, state);
  return like;
}

}  // namespace

std::vector<std::string> LikeNet::sources() const {
  std::vector<std::string> sources = {data().data_param().source()};
  for (const caffe::LayerParameter& other : file->net.layer())
    if (reads_records(other.type()) && other.data_param().source() != sources[0])
      sources.push_back(other.data_param().source());
  std::erase(sources, "");
  return sources;
}

std::optional<LikeNet> find_like_net(const Arguments& arguments, const InferenceNet& net) {
  const std::string named = arguments.text("like");
  const caffe::NetState state = state_of(arguments, caffe::TEST);
  if (named == "none") return {};
  if (!named.empty()) {
    LikeNet like = read_like_net(named, state);
    if (like.layer >= 0) return like;
    throw usage_error("--like=" + named + ": the net has no Data, ImageData or AnnotatedData layer",
                      "name the net that was trained");
  }
  const std::string model = arguments.text("model");
  if (net.trained)
    if (const int layer = data_layer_of(*net.trained, state); layer >= 0)
      return LikeNet{model, net.trained, layer, true};
  for (const std::string& name : names_beside(model)) {
    const std::string path = join_path(folder_of(model), name);
    if (name == file_name_of(model) || !file_exists(path)) continue;
    LikeNet like = read_like_net(path, state);
    like.found = true;
    if (like.layer >= 0 && are_related(net.file->net, like.file->net)) return like;
  }
  return {};
}

}  // namespace cortado::tools
