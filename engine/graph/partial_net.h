#pragma once

// A net whose text has errors is connected nevertheless, to find further errors. Those that only
// follow from errors of the text are not reported.

#include <map>
#include <string>
#include <vector>

#include "proto/files/read_text.h"

namespace cortado::graph {

/// Errors of a net: unknown types come first, because others may follow from them.
struct NetMistakes {
  static constexpr size_t kMaxReported = 50;  ///< by throw_if_any(), which adds the number of the rest

  std::vector<Diagnostic> types, rest;

  void add(const NetMistakes& more);  ///< skips those already present
  void throw_if_any(ExitCode code = ExitCode::kNet) const;
  bool empty() const { return types.empty() && rest.empty(); }
};

/// The diagnostic for a layer whose type is unknown or unavailable.
Diagnostic unknown_type(const std::string& layer, const std::string& type, const Place& place);

/// Layers by path ("layer[3]"), and which of them the errors of the text affect.
class PartialNet {
 public:
  explicit PartialNet(const NetFile& file);  ///< must outlive this object

  /// Whether some field of the layer could not be parsed, so that its options are incomplete.
  bool is_partial(const std::string& path) const { return layers_.contains(path); }
  /// The layer's type as written, which may be unknown; "" where it could not be parsed.
  std::string type_of(const std::string& path, const caffe::LayerParameter& layer) const;
  Place place_of_type(const std::string& path) const;
  /// Whether a missing blob may be the top of a partial layer.
  bool hides_tops() const { return hides_tops_; }

  /// Adds the errors of the text, in order. For a layer of unknown type, only that error is kept.
  void add_text(NetMistakes& found) const;

 private:
  struct Partial {
    const caffe::LayerParameter* layer;
    std::vector<const TextMistake*> mistakes;
  };

  const NetFile& file_;
  std::map<std::string, Partial> layers_;
  std::vector<const TextMistake*> outside_;  ///< not inside a layer
  bool hides_tops_ = false;
};

}  // namespace cortado::graph
