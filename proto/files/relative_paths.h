#pragma once

// Paths in nets and solvers. As in Caffe they are relative to the folder where the program runs, unless the file says
// relative_to_file: then they are relative to the file's folder, so that a project can be copied or moved. Reading a
// file resolves its paths and clears relative_to_file, so no other code needs to know of it.

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>

#include "core/files/file.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// Whether the field, which is a text, holds a path or the beginning of paths.
bool is_path_field(const google::protobuf::FieldDescriptor& field);

/// Resolves the paths of the file `name`, if it says relative_to_file, and clears that field.
void resolve_paths(caffe::NetParameter& net, const std::string& name);
void resolve_paths(caffe::SolverParameter& solver, const std::string& name);

/// Prepends the folder to the relative paths in any part of a net or solver.
void resolve_paths_from(const std::string& folder, google::protobuf::Message& message);

/// `path` as a file in `folder` with relative_to_file names it: relative, or absolute if they have only the root in
/// common. The folder need not exist.
std::string path_from_folder(const std::string& folder, const std::string& path);

/// path_from_folder() of all paths in the message.
void make_paths_relative(google::protobuf::Message& message, const std::string& folder);

/// For a file that is written under another name: keeps the meaning of its paths, and relative_to_file.
template <typename File>
void move_paths(File& message, const std::string& from, const std::string& to) {
  if (!message.relative_to_file()) return;
  resolve_paths(message, from);
  make_paths_relative(message, folder_of(to));
  message.set_relative_to_file(true);
}

}  // namespace cortado
