#pragma once

// Rewrites a net for another fork of Caffe: it then has only layer types, fields and enum values of that fork, so that
// the fork itself, and programs that read its language, can run it. A layer that the fork lacks becomes a composition
// of layers that it has, which computes the same up to rounding; docs/classic-caffe.md lists them. A layer without a
// composition is refused.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "proto/cortado.pb.h"
#include "proto/weights/write_weights.h"

namespace cortado::dialect {

/// The forks; their values are bits of the tables.
enum class Target : unsigned { kBvlc = 1, kSsd = 2, kNvcaffe = 4 };

/// The values of a flag --dialect: "own", which rewrites nothing, then the forks.
std::vector<std::string> target_names();
/// Nothing for "own". Throws Error(kUsage) for a name that is unknown.
std::optional<Target> target_named(const std::string& name);
/// For messages: "BVLC Caffe 1.0".
std::string title_of(Target target);
/// The form of weights files that the fork reads.
WeightsTarget weights_form(Target target);

/// A net with its weights. If `weights_known` is false, they were not read: layers that need others are refused.
struct Subject {
  caffe::NetParameter net;
  std::vector<LayerWeights> weights = {};
  bool weights_known = true;
};

struct Rewritten {
  caffe::NetParameter net;
  std::vector<LayerWeights> weights;
  std::vector<std::string> warnings;  ///< compositions that are not exact
  int rewritten = 0;                  ///< the number of layers that became others
};

/// The place of layer `index` of the subject's net, in its file.
using PlaceOf = std::function<Place(int index, const std::string& field)>;

/// The net in the dialect. Throws Error(kNet) with every layer that cannot be written in it, and why.
Rewritten rewrite(Subject subject, Target target, const PlaceOf& place_of);

}  // namespace cortado::dialect
