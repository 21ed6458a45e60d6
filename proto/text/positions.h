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

/// A position in a text, counted from 1; line 0 is unknown.
struct Position {
  int line = 0;
  int column = 0;  ///< in bytes; a tab is one
};

/// The positions of all fields of a message: maps a field's path to the places of its name and of its value.
///
/// A path names fields from the message down: "layer[3].convolution_param.kernel_size[0]". Repeated fields have an
/// index, singular ones do not. Positions remain valid without the text, and follow when old fields are converted.
/// Fields may come from several texts.
class Positions {
 public:
  Positions() = default;
  /// For the text of the file `file` (under 4 GiB); a message that was not read from text has only a file.
  explicit Positions(std::string file, std::string_view text = {});

  const std::string& file() const { return file_; }

  /// The place of the value of the field at `path` (for a message its name, because its value starts with a brace), or
  /// of the nearest known message around it, or of the file.
  Place place(std::string_view path) const;
  /// The place of the field's name.
  Place name_place(std::string_view path) const;
  /// The place of a position in this file, with its line.
  Place at(Position position) const;
  bool known(std::string_view path) const;

  /// Adds the position of a field. Fields beyond kMax are not stored: their place is that of the message around them.
  void add(const std::string& path, Position name, Position value);

  /// Copies the places of `from` and everything below it to `to`. Does nothing if `from` is unknown.
  void copy(const std::string& from, const std::string& to);
  void copy_node(const std::string& from, const std::string& to);  ///< only the field itself
  void move(const std::string& from, const std::string& to);       ///< copies, then erases `from`
  void erase(const std::string& path);                             ///< with everything below it
  /// Copies the places of `from` in `other`, which is of another text, to `to`, with everything below it.
  void take(const Positions& other, const std::string& from, const std::string& to);
  /// The positions of one message: `path` becomes the root ("net_param" of a solver).
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
  std::vector<std::shared_ptr<const Source>> sources_;  // shared between copies; the first is that of file_
  Node root_;
  size_t size_ = 0;
};

/// "prefix.name", or "name" at the root; with an index, "prefix.name[index]".
std::string path_to(const std::string& prefix, std::string_view name, int index = -1);

}  // namespace cortado
