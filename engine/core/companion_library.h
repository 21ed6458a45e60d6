#pragma once

#include <string>

namespace cortado {

/// A library of our own beside the program (companion_path()) that brings large ones along, and so is loaded when
/// something wants it. It stays loaded.
class CompanionLibrary {
 public:
  explicit CompanionLibrary(const std::string& file);

  /// Sets `function` to the one of this name; where there is none, to null, and why_not() says so.
  template <typename Function>
  void find(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(symbol(name));
  }
  const std::string& why_not() const { return why_not_; }  ///< it cannot be used; "": it can

 private:
  void* symbol(const char* name);

  std::string file_, why_not_;
  void* library_ = nullptr;
};

}  // namespace cortado
