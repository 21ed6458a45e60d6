#pragma once

#include <string>

namespace cortado {

/// A library of this project next to the program (companion_path()), loaded at run time because it depends on large
/// third-party libraries. It is never unloaded.
class CompanionLibrary {
 public:
  explicit CompanionLibrary(const std::string& file);

  /// Sets `function` to the symbol `name`, or to null if it is missing; why_not() then has the reason.
  template <typename Function>
  void find(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(symbol(name));
  }
  const std::string& why_not() const { return why_not_; }  ///< why the library cannot be used; "" if it can

 private:
  void* symbol(const char* name);

  std::string file_, why_not_;
  void* library_ = nullptr;
};

}  // namespace cortado
