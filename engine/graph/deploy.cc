// The predictions of a net are what its losses compare with labels. A traversal backward from them over the layers of
// phase TEST keeps what they need: labels, losses, scores and branches that end in them are dropped. A blob computed in
// place has several values of one name. The traversal follows the file's order, so each is found at its producer.
#include "graph/deploy.h"

#include <algorithm>
#include <set>

#include "graph/deploy_sources.h"
#include "graph/graph.h"
#include "layers/registry.h"
#include "layers/type_names.h"

namespace cortado::graph {

namespace {

using caffe::LayerParameter;

/// An output blob, as it is before layer `at` (an index into the selected ones) runs.
struct Prediction {
  std::string blob;
  size_t at = 0;
  const LayerParameter* loss = nullptr;  ///< its reader; null: none that matters
};

bool has_loss_weight(const LayerParameter& layer) {
  return std::ranges::any_of(layer.loss_weight(), [](float weight) { return weight != 0; });
}

bool is_loss(const LayerParameter& layer) {
  const LayerType* type = find_layer_type(layer.type());
  return type && (type->loss || (type->loss_by_weight && has_loss_weight(layer)));
}

double weight_of(const LayerParameter& loss) { return loss.loss_weight_size() > 0 ? double(loss.loss_weight(0)) : 1; }

/// The type of layer that turns the loss's input into predictions (Softmax, Sigmoid, DetectionOutput), or "".
std::string answer_of(const LayerParameter* loss) {
  const LossRole* role = loss == nullptr ? nullptr : find_loss_role(loss->type());
  return role == nullptr ? "" : role->answer;
}

/// Options of a DetectionOutput that matches the loss, with SSD's usual thresholds.
void set_detection_options(const caffe::MultiBoxLossParameter& loss, caffe::DetectionOutputParameter& options) {
  constexpr int kCandidates = 400, kDetections = 200;
  constexpr float kOverlap = 0.45f, kLeastScore = 0.01f;
  options.set_num_classes(loss.num_classes());
  options.set_share_location(loss.share_location());
  options.set_background_label_id(int(loss.background_label_id()));
  options.set_code_type(loss.code_type());
  if (loss.encode_variance_in_target()) options.set_variance_encoded_in_target(true);
  if (loss.has_objectness_score()) options.set_objectness_score(loss.objectness_score());
  options.mutable_nms_param()->set_nms_threshold(kOverlap);
  options.mutable_nms_param()->set_top_k(kCandidates);
  options.set_keep_top_k(kDetections);
  options.set_confidence_threshold(kLeastScore);
}

/// Removes training options: learning rates (names of shared weights stay), fillers, and phase rules.
void strip(LayerParameter& layer) {
  layer.clear_include();
  layer.clear_exclude();
  layer.clear_phase();
  layer.clear_loss_weight();
  layer.clear_propagate_down();
  bool shares = false;
  for (caffe::ParamSpec& param : *layer.mutable_param()) {
    caffe::ParamSpec kept;
    if (param.has_name()) kept.set_name(param.name());
    shares = shares || param.has_name();
    param = kept;
  }
  if (!shares) layer.clear_param();
  if (const LayerType* type = find_layer_type(layer.type()); type && type->fillers_choose_weights) return;
  std::vector<const google::protobuf::FieldDescriptor*> options;
  layer.GetReflection()->ListFields(layer, &options);
  for (const auto* field : options) {
    if (field->is_repeated() || field->message_type() == nullptr) continue;
    google::protobuf::Message& group = *layer.GetReflection()->MutableMessage(&layer, field);
    std::vector<const google::protobuf::FieldDescriptor*> fields;
    group.GetReflection()->ListFields(group, &fields);
    for (const auto* one : fields)
      if (!one->is_repeated() && one->message_type() == caffe::FillerParameter::descriptor())
        group.GetReflection()->ClearField(&group, one);
    if (!fields.empty() && group.ByteSizeLong() == 0) layer.GetReflection()->ClearField(&layer, field);
  }
}

class Deployment {
 public:
  Deployment(const NetFile& file, const DeployOptions& options) : file_(file), options_(options) {
    select(caffe::TEST, layers_);
    if (layers_.empty()) throw Error(ExitCode::kNet, file.positions.file() + ": the net has no layer in phase TEST");
  }

  Deployed run() {
    find_predictions();
    name_outputs();
    walk();
    assemble();
    return std::move(out_);
  }

 private:
  const LayerParameter& layer(size_t i) const { return file_.net.layer(layers_[i]); }

  void select(caffe::Phase phase, std::vector<int>& layers) const {
    caffe::NetState over = options_.state;
    over.set_phase(phase);
    const caffe::NetState state = merge_states(file_.net.state(), over);
    for (int i = 0; i < file_.net.layer_size(); ++i)
      if (selected(file_.net.layer(i), state)) layers.push_back(i);
  }

  /// The last layer before `at` that writes the blob, or -1.
  int maker_of(const std::string& blob, size_t at) const {
    for (size_t i = at; i-- > 0;)
      if (std::find(layer(i).top().begin(), layer(i).top().end(), blob) != layer(i).top().end()) return int(i);
    return -1;
  }

  /// Whether the layer reads a dataset or is a DummyData. Input layers and other constants are kept as they are.
  bool is_data(size_t i) const {
    const LayerKind kind = kind_of(layer(i).type());
    return layer(i).bottom_size() == 0 && kind != LayerKind::kInput && kind != LayerKind::kConstant;
  }

  bool is_input(size_t i) const { return kind_of(layer(i).type()) == LayerKind::kInput; }

  bool is_computed(const std::string& blob, size_t at) const {
    const int maker = maker_of(blob, at);
    return maker >= 0 && !is_data(size_t(maker));
  }

  /// The predictions among the loss's bottoms: those that its role names, or else the first computed one.
  std::vector<std::string> compared_by(const LayerParameter& loss, size_t at) const {
    std::vector<std::string> blobs;
    const LossRole* role = find_loss_role(loss.type());
    for (const int i : role == nullptr ? std::vector<int>() : role->judged)
      if (i < loss.bottom_size() && is_computed(loss.bottom(i), at)) blobs.push_back(loss.bottom(i));
    for (const std::string& bottom : loss.bottom())
      if (blobs.empty() && is_computed(bottom, at)) blobs.push_back(bottom);
    return blobs;
  }

  /// The labels of the loss: its other bottoms. Losses with the same target are alternatives.
  static std::string target_of(const LayerParameter& loss, const std::vector<std::string>& compared) {
    std::string target;
    for (const std::string& bottom : loss.bottom())
      if (std::find(compared.begin(), compared.end(), bottom) == compared.end()) target += bottom + "\n";
    return target;
  }

  void find_predictions() {
    if (!options_.outputs.empty()) return take_outputs_asked_for();
    std::vector<Prediction> losses;
    for (size_t i = 0; i < layers_.size(); ++i)
      if (is_loss(layer(i))) losses.push_back({"", i, &layer(i)});
    if (losses.empty()) {
      std::vector<int> training;
      select(caffe::TRAIN, training);
      for (const int i : training)
        if (is_loss(file_.net.layer(i))) losses.push_back({"", layers_.size(), &file_.net.layer(i)});
    }
    take_main_losses(losses);
    for (size_t i = 0; i < layers_.size() && predictions_.empty(); ++i)
      if (kind_of(layer(i).type()) == LayerKind::kScore && layer(i).bottom_size() > 0)
        predictions_.push_back({layer(i).bottom(0), i});
    if (predictions_.empty()) take_composed_losses();
    if (predictions_.empty()) take_ends();
  }

  /// For losses composed of several layers, the last of which has a loss weight (a Reduction of differences, say):
  /// their inputs that are computed without labels. A layer without labels is not a loss, whatever its weight.
  void take_composed_losses() {
    const std::vector<bool> labelled = layers_with_labels();
    std::set<int> seen;
    for (size_t i = 0; i < layers_.size(); ++i)
      if (has_loss_weight(layer(i)) && labelled[i])
        for (const std::string& bottom : layer(i).bottom()) take_unlabelled(bottom, i, labelled, seen);
  }

  void take_unlabelled(const std::string& blob, size_t at, const std::vector<bool>& labelled, std::set<int>& seen) {
    const int maker = maker_of(blob, at);
    if (maker < 0 || is_data(size_t(maker)) || !seen.insert(maker).second) return;
    if (!labelled[size_t(maker)]) return predictions_.push_back({blob, at});
    for (const std::string& bottom : layer(size_t(maker)).bottom())
      take_unlabelled(bottom, size_t(maker), labelled, seen);
  }

  bool is_label(size_t i, int k, bool has_data) const {
    const std::string& top = layer(i).top(k);
    if (!is_data(i)) return false;
    if (top.find("label") != std::string::npos || top.find("target") != std::string::npos) return true;
    return k > 0 && !(has_data && constant_of(layer(i), k));
  }

  /// For each layer whether it depends on labels: the second and later tops of data layers, and tops named so. Among
  /// other data a constant is not a label.
  std::vector<bool> layers_with_labels() const {
    bool has_data = false;
    for (size_t i = 0; i < layers_.size(); ++i)
      has_data |= is_input(i) || (is_data(i) && layer(i).top_size() > 0 && !constant_of(layer(i), 0));
    std::vector<bool> labelled(layers_.size());
    std::set<std::string> labels;
    for (size_t i = 0; i < layers_.size(); ++i) {
      const auto& bottoms = layer(i).bottom();
      labelled[i] = std::ranges::any_of(bottoms, [&](const std::string& blob) { return labels.contains(blob); });
      for (int k = 0; k < layer(i).top_size(); ++k) {
        const std::string& top = layer(i).top(k);
        if (labelled[i] || is_label(i, k, has_data))
          labels.insert(top);
        else
          labels.erase(top);
      }
    }
    return labelled;
  }

  void take_main_losses(const std::vector<Prediction>& losses) {
    std::map<std::string, const Prediction*> best;
    for (const Prediction& loss : losses) {
      const auto compared = compared_by(*loss.loss, loss.at);
      const auto [place, added] = best.emplace(target_of(*loss.loss, compared), &loss);
      if (!added && weight_of(*loss.loss) >= weight_of(*place->second->loss)) place->second = &loss;
    }
    for (const Prediction& loss : losses) {
      const auto compared = compared_by(*loss.loss, loss.at);
      if (best.at(target_of(*loss.loss, compared)) != &loss)
        out_.notes.push_back("'" + loss.loss->name() + "' (" + loss.loss->type() + ", weight " + number(*loss.loss) +
                             ") has the labels of '" + best.at(target_of(*loss.loss, compared))->loss->name() +
                             "' and is left out");
      else
        for (const std::string& blob : compared) predictions_.push_back({blob, loss.at, loss.loss});
    }
  }

  static std::string number(const LayerParameter& loss) {
    std::string text = std::to_string(weight_of(loss));
    text.erase(text.find_last_not_of('0') + 1);
    return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
  }

  void take_outputs_asked_for() {
    for (const std::string& blob : options_.outputs) {
      Prediction wanted{blob, layers_.size()};
      if (maker_of(blob, layers_.size()) < 0)
        throw Error(ExitCode::kUsage, file_.positions.file() + ": no layer of phase TEST makes '" + blob + "'");
      for (size_t i = 0; i < layers_.size(); ++i)
        if (const auto compared = is_loss(layer(i)) ? compared_by(layer(i), i) : std::vector<std::string>();
            std::find(compared.begin(), compared.end(), blob) != compared.end())
          wanted = {blob, i, &layer(i)};
      predictions_.push_back(wanted);
    }
  }

  /// For a net without losses: the blobs that no layer reads.
  void take_ends() {
    std::set<std::string> read;
    for (size_t i = layers_.size(); i-- > 0;) {
      for (const std::string& top : layer(i).top())
        if (!read.contains(top) && !is_data(i)) predictions_.push_back({top, layers_.size()});
      for (const std::string& top : layer(i).top()) read.insert(top);  // earlier writers of the name are not ends
      for (const std::string& bottom : layer(i).bottom()) read.insert(bottom);
    }
    std::reverse(predictions_.begin(), predictions_.end());
    if (predictions_.empty())
      throw Error(ExitCode::kNet, file_.positions.file() + ": cannot determine what the net predicts",
                  "name its outputs with --output=BLOB");
  }

  /// Uses the net's own activation layer where it has one; otherwise adds one in place of the loss.
  void name_outputs() {
    std::set<std::string> done;
    const auto made = std::count_if(predictions_.begin(), predictions_.end(),
                                    [](const Prediction& one) { return !answer_of(one.loss).empty(); });
    for (Prediction& prediction : predictions_) {
      const std::string type = answer_of(prediction.loss), blob = prediction.blob;
      if (type == type_names::kDetectionOutput) {
        if (done.insert(prediction.loss->name()).second) out_.outputs.push_back(name_detections(*prediction.loss));
        continue;
      }
      if (!done.insert(type + "\n" + blob).second) continue;
      if (const int there = type.empty() ? -1 : reader_of_type(type, blob); there >= 0) {
        prediction = {layer(size_t(there)).top(0), layers_.size()};
        out_.outputs.push_back(prediction.blob);
        continue;
      }
      out_.outputs.push_back(type.empty() ? blob : add_activation(prediction, type, made == 1));
    }
  }

  int reader_of_type(const std::string& type, const std::string& blob) const {
    for (size_t i = 0; i < layers_.size(); ++i)
      if (layer(i).type() == type && layer(i).bottom_size() == 1 && layer(i).bottom(0) == blob &&
          layer(i).top_size() == 1 && layer(i).top(0) != blob)
        return int(i);
    return -1;
  }

  std::string add_activation(const Prediction& prediction, const std::string& type, bool alone) {
    LayerParameter& added =
        add_layer(prediction.at, type, alone ? "prob" : "prob_" + prediction.blob, {prediction.blob});
    constexpr int kUsualAxis = 1;
    const auto axis = find_loss_role(prediction.loss->type())->axis;
    if (type == type_names::kSoftmax && axis && axis(*prediction.loss) != kUsualAxis)
      added.mutable_softmax_param()->set_axis(axis(*prediction.loss));
    return added.top(0);
  }

  /// Adds a layer before `at`. It and its top are called `name`, with underscores appended until that is unique.
  LayerParameter& add_layer(size_t at, const std::string& type, std::string name,
                            const std::vector<std::string>& bottoms) {
    const auto has_name = [&](const LayerParameter& one) {
      return one.name() == name || std::count(one.top().begin(), one.top().end(), name) > 0;
    };
    const auto taken = [&] {
      for (size_t i = 0; i < layers_.size(); ++i)
        if (has_name(layer(i))) return true;
      return std::ranges::any_of(made_, [&](const auto& made) { return std::ranges::any_of(made.second, has_name); });
    };
    while (taken()) name += "_";
    LayerParameter& added = made_[at].emplace_back();
    added.set_name(name);
    added.set_type(type);
    for (const std::string& bottom : bottoms) added.add_bottom(bottom);
    added.add_top(name);
    return added;
  }

  /// The output blob for a MultiBoxLoss: that of the net's DetectionOutput for the same offsets, or of an added one.
  std::string name_detections(const LayerParameter& loss) {
    size_t at = 0;
    for (const Prediction& prediction : predictions_)
      if (prediction.loss == &loss) at = prediction.at;
    for (size_t i = 0; i < layers_.size(); ++i) {
      const LayerParameter& one = layer(i);
      if (one.type() != type_names::kDetectionOutput || one.bottom_size() == 0 || one.bottom(0) != loss.bottom(0))
        continue;
      for (Prediction& prediction : predictions_)
        if (prediction.loss == &loss) prediction = {one.top(0), layers_.size(), &loss};
      return one.top(0);
    }
    return add_detections(loss, at);
  }

  /// Adds a DetectionOutput that reads offsets, class scores and priors.
  std::string add_detections(const LayerParameter& loss, size_t at) {
    const caffe::MultiBoxLossParameter& options = loss.multibox_loss_param();
    const std::string& scores = loss.bottom(1);
    std::string answers;
    if (options.conf_loss_type() == caffe::MultiBoxLossParameter::LOGISTIC) {
      answers = add_layer(at, type_names::kSigmoid, scores + "_sigmoid", {scores}).top(0);
    } else {
      LayerParameter& reshape = add_layer(at, type_names::kReshape, scores + "_reshape", {scores});
      for (const int64_t dim : {int64_t(0), int64_t(-1), int64_t(options.num_classes())})
        reshape.mutable_reshape_param()->mutable_shape()->add_dim(dim);
      const std::string rows = reshape.top(0);
      LayerParameter& softmax = add_layer(at, type_names::kSoftmax, scores + "_softmax", {rows});
      softmax.mutable_softmax_param()->set_axis(2);
      const std::string odds = softmax.top(0);
      answers = add_layer(at, type_names::kFlatten, scores + "_flatten", {odds}).top(0);
    }
    std::vector<std::string> bottoms = {loss.bottom(0), answers, loss.bottom(2)};
    for (int i = 4; i < loss.bottom_size(); ++i) bottoms.push_back(loss.bottom(i));  // RefineDet's anchors
    LayerParameter& output = add_layer(at, type_names::kDetectionOutput, "detection_out", bottoms);
    set_detection_options(options, *output.mutable_detection_output_param());
    return output.top(0);
  }

  void walk() {
    std::set<std::string> needed;
    kept_.assign(layers_.size(), {});
    for (size_t i = layers_.size();; --i) {
      for (const Prediction& prediction : predictions_)
        if (prediction.at == i) needed.insert(prediction.blob);
      if (i == 0) break;
      std::vector<std::string>& tops = kept_[i - 1];
      for (const std::string& top : layer(i - 1).top())
        if (needed.contains(top)) tops.push_back(top);
      if (tops.empty()) continue;
      for (const std::string& top : tops) needed.erase(top);
      needed.insert(layer(i - 1).bottom().begin(), layer(i - 1).bottom().end());
    }
    find_training_data(needed);
  }

  /// A net written only for training has no data layers in phase TEST: it gets the inputs of phase TRAIN.
  void find_training_data(const std::set<std::string>& missing) {
    std::vector<int> training;
    if (!missing.empty()) select(caffe::TRAIN, training);
    for (const int i : training)
      for (const std::string& top : file_.net.layer(i).top())
        if (file_.net.layer(i).bottom_size() == 0 && missing.contains(top)) training_.emplace_back(i, top);
  }

  void assemble() {
    out_.net.set_name(file_.net.name());
    DeploySources sources(file_, options_.shapes, options_.trained);
    for (const auto& [index, top] : training_) sources.need(index, top);
    for (size_t i = 0; i < layers_.size(); ++i)
      for (const std::string& top : kept_[i])
        if (is_data(i) || is_input(i)) sources.need(layers_[i], top);
    for (const auto& [index, top] : training_) sources.add_for_data(index, top, out_.net);
    for (size_t i = 0; i <= layers_.size(); ++i) {
      for (const LayerParameter& made : made_[i]) *out_.net.add_layer() = made;
      if (i < layers_.size() && !kept_[i].empty()) add_kept(i, sources);
    }
    sources.finish(out_.net);
    out_.inputs = sources.inputs();
  }

  void add_kept(size_t i, DeploySources& sources) {
    if (is_data(i)) {
      for (const std::string& top : kept_[i]) sources.add_for_data(layers_[i], top, out_.net);
      return;
    }
    LayerParameter copy = layer(i);
    strip(copy);
    if (is_input(i)) return sources.add_input_layer(std::move(copy), out_.net);
    *out_.net.add_layer() = std::move(copy);
  }

  const NetFile& file_;
  const DeployOptions& options_;
  std::vector<int> layers_;  ///< of phase TEST, as indices into the file's layers
  std::vector<Prediction> predictions_;
  std::map<size_t, std::vector<LayerParameter>> made_;  ///< by index into layers_: added before that layer
  std::vector<std::vector<std::string>> kept_;          ///< per layer of layers_: the needed tops
  std::vector<std::pair<int, std::string>> training_;   ///< needed tops of phase TRAIN: the file's layer, the top
  Deployed out_;
};

}  // namespace

Deployed make_deploy_net(const NetFile& file, const DeployOptions& options) { return Deployment(file, options).run(); }

}  // namespace cortado::graph
