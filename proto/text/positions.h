#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace cortado {

/// A place in a text, counted from 1; line 0 is no place.
struct Position {
  int line = 0;
  int column = 0;  ///< in bytes; a tab is one
};

/// Where every field of a message was written: from a field's path to the place of its name and of its value.
///
/// A path names fields from the message down: "layer[3].convolution_param.kernel_size[0]". Repeated fields carry an
/// index, singular ones do not. Positions stay valid after the text is gone, and are carried along when old fields
/// become new ones. Fields may come from several texts.
class Positions {
 public:
  Positions() = default;
  /// Of the text of the file `file` (under 4 GiB); a message that was not read from text has only a file.
  explicit Positions(std::string file, std::string_view text = {});

  const std::string& file() const { return file_; }

  /// The value of the field at `path` (a message's name, since its value starts with a brace), or of the nearest
  /// message around it that is known, or the file as a whole.
  Place place(std::string_view path) const;
  /// As `place`, but the field's name.
  Place name_place(std::string_view path) const;
  /// The place of a position in this file, with its line.
  Place at(Position position) const;
  bool known(std::string_view path) const;

  /// Remembers where a field is. After kMax fields more are forgotten: their place is then that of what is around
  /// them.
  void add(const std::string& path, Position name, Position value);

  /// Gives `to` and everything below it the places of `from`, which keeps its own. Nothing happens where `from` is
  /// unknown.
  void copy(const std::string& from, const std::string& to);
  void copy_node(const std::string& from, const std::string& to);  ///< itself alone
  void move(const std::string& from, const std::string& to);       ///< and forgets the old
  void erase(const std::string& path);                             ///< with everything below it
  /// Gives `to` and everything below it the places that `from` has in `other`, which is of another text.
  void take(const Positions& other, const std::string& from, const std::string& to);
  /// The same for one message below: `path` becomes the root ("net_param" of a solver).
  Positions below(const std::string& path) const;

 private:
  static constexpr size_t kMax = size_t(1) << 18;

  struct Source {
    std::string file, text;
    std::vector<uint32_t> line_starts;
  };

  struct Node {
    Position name, value;
    uint32_t source = 0;  // into sources_
    std::map<std::string, Node, std::less<>> children;
  };

  static void set_source(Node& node, uint32_t source);
  Place at(Position position, uint32_t source) const;
  const Node* find(std::string_view path) const;
  const Node& nearest_known(std::string_view path) const;
  Node& make(const std::string& path);

  std::string file_;
  std::vector<std::shared_ptr<const Source>> sources_;  // shared by copies; the first is that of file_
  Node root_;
  size_t size_ = 0;
};

/// "prefix.name", or "name" at the root; with an index, "prefix.name[index]".
std::string path_to(const std::string& prefix, std::string_view name, int index = -1);

}  // namespace cortado
