#pragma once

// Nets whose text has mistakes (NetFile::mistakes) are connected all the same, to find what else is wrong with them,
// and what of it follows from the mistakes of the text is not told.

#include <map>
#include <string>
#include <vector>

#include "proto/files/read_text.h"

namespace cortado::graph {

/// What is wrong with a net: first the types, for much else may follow from them.
struct NetMistakes {
  static constexpr size_t kMaxReported = 50;  ///< by throw_if_any(), which counts what is left

  std::vector<Diagnostic> types, rest;

  void add(const NetMistakes& more);  ///< without what is there already
  void throw_if_any(ExitCode code = ExitCode::kNet) const;
  bool empty() const { return types.empty() && rest.empty(); }
};

/// The mistake of a layer whose type is not there.
Diagnostic unknown_type(const std::string& layer, const std::string& type, const Place& place);

/// Layers by their paths ("layer[3]"), as the mistakes of the text leave them.
class PartialNet {
 public:
  explicit PartialNet(const NetFile& file);  ///< `file` outlives this

  /// Whether some field of the layer could not be read, so that its options mean nothing.
  bool is_partial(const std::string& path) const { return layers_.contains(path); }
  /// The layer's type as written, which may be no type of 2014; "" where it could not be read.
  std::string type_of(const std::string& path, const caffe::LayerParameter& layer) const;
  Place place_of_type(const std::string& path) const;
  /// Whether a blob that is missing may be the top of a partial layer.
  bool hides_tops() const { return hides_tops_; }

  /// Adds the mistakes of the text, in its order, to those of the net; of a layer of unknown type that alone.
  void add_text(NetMistakes& found) const;

 private:
  struct Partial {
    const caffe::LayerParameter* layer;
    std::vector<const TextMistake*> mistakes;
  };

  const NetFile& file_;
  std::map<std::string, Partial> layers_;
  std::vector<const TextMistake*> outside_;  ///< of all layers
  bool hides_tops_ = false;
};

}  // namespace cortado::graph
