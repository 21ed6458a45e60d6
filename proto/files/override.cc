// Values are parsed by TextReader, from the text with everything else blanked, so that errors have positions in the
// text as the user typed it.
#include "proto/files/override.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "proto/files/relative_paths.h"
#include "proto/text/scalar.h"
#include "proto/text/text_mistake.h"
#include "proto/text/text_reader.h"
#include "proto/upgrade/upgrade.h"

namespace cortado {

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::vector<std::string> names_in(const Message& message, const FieldDescriptor* list) {
  std::vector<std::string> names;
  const FieldDescriptor* name = list->message_type() ? list->message_type()->FindFieldByName("name") : nullptr;
  if (name == nullptr || name->cpp_type() != FieldDescriptor::CPPTYPE_STRING) return names;
  const Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < reflection.FieldSize(message, list); ++i) {
    const Message& element = reflection.GetRepeatedMessage(message, list, i);
    names.push_back(element.GetReflection()->GetString(element, name));
  }
  return names;
}

/// Sets one value in a message.
class Setter {
 public:
  Setter(const OverridePath& path, const std::string& text, const Positions& places, Message& root,
         Positions& positions, const std::string& paths_from)
      : path_(path),
        text_(text),
        places_(places),
        positions_(positions),
        paths_from_(paths_from),
        enclosing_{&root},
        message_(&root) {}

  void run() {
    for (size_t i = 0; i + 1 < path_.steps.size(); ++i) descend(path_.steps[i]);
    set(path_.steps.back());
  }

 private:
  [[noreturn]] void fail(Position position, std::string message, std::string hint = {}) const {
    throw Error(ExitCode::kNet, Diagnostic{places_.at(position), std::move(message), std::move(hint), {}});
  }

  const FieldDescriptor* field_of(const OverrideStep& step) const {
    const FieldDescriptor* field = message_->GetDescriptor()->FindFieldByName(step.name);
    if (field == nullptr) {
      const std::string where = where_.empty() ? path_.root : "'" + where_ + "'";
      fail(step.position, "unknown field '" + step.name + "' in " + where, suggest_field(step.name, enclosing_));
    }
    if (step.has_element && !field->is_repeated())
      fail(step.element_position, "'" + step.name + "' is one value, not a list");
    return field;
  }

  /// The index of the element that the brackets select, by number or by name.
  int element_of(const OverrideStep& step, const FieldDescriptor* field) const {
    const int count = message_->GetReflection()->FieldSize(*message_, field);
    const std::string list =
        "'" + step.name + "' has " + std::to_string(count) + (count == 1 ? " element" : " elements");
    const bool number = step.element.find_first_not_of("0123456789") == std::string::npos;
    const std::vector<std::string> names = names_in(*message_, field);
    std::vector<int> called;
    for (size_t i = 0; i < names.size(); ++i)
      if (names[i] == step.element) called.push_back(int(i));
    if (called.size() == 1) return called[0];
    if (called.size() > 1)
      fail(step.element_position,
           std::to_string(called.size()) + " elements of '" + step.name + "' are named '" + step.element + "'",
           "select one by number: " + step.name + "[" + std::to_string(called[0]) + "] or " + step.name + "[" +
               std::to_string(called[1]) + "]");
    if (number && step.element.size() < 9 && std::stoi(step.element) < count) return std::stoi(step.element);
    if (number) fail(step.element_position, list + ", numbered from 0");
    fail(step.element_position, "no element of '" + step.name + "' is named '" + step.element + "'",
         did_you_mean(step.element, names));
  }

  void descend(const OverrideStep& step) {
    const FieldDescriptor* field = field_of(step);
    const Reflection& reflection = *message_->GetReflection();
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
      fail(step.position, "'" + step.name + "' is " + kind_of(field) + " and has no fields");
    if (field->is_repeated() && !step.has_element)
      fail(step.position, "'" + step.name + "' is a list: select an element",
           "write " + step.name + "[0]" +
               (names_in(*message_, field).empty() ? ""
                                                   : " or " + step.name + "[" + names_in(*message_, field)[0] + "]"));
    const int element = field->is_repeated() ? element_of(step, field) : -1;
    where_ = path_to(where_, step.name, element);
    if (element < 0 && !reflection.HasField(*message_, field)) {
      Positions made = places_;  // place of the message, for errors about missing fields
      made.add(step.name, step.position, step.position);
      positions_.take(made, step.name, where_);
    }
    message_ = element >= 0 ? reflection.MutableRepeatedMessage(message_, field, element)
                            : reflection.MutableMessage(message_, field);
    enclosing_.push_back(message_);
  }

  void set(const OverrideStep& step) {
    const FieldDescriptor* field = field_of(step);
    const Reflection& reflection = *message_->GetReflection();
    if (step.name == "relative_to_file")
      fail(step.position, "relative_to_file is about the paths in the file, and cannot be set here",
           "set it in the file");
    if (path_.appends && (!field->is_repeated() || step.has_element))
      fail(step.position, "'" + step.name + "' is one value: += appends to lists", "use = to set it");
    const int element = step.has_element ? element_of(step, field) : -1;
    const int before = field->is_repeated() ? reflection.FieldSize(*message_, field) : 0;
    if (value_text().find_first_not_of(" \t\n") == std::string::npos) {
      if (path_.appends) fail(path_.value_position, "a value is missing: '" + step.name + "' takes " + kind_of(field));
      return element >= 0 ? remove_element(step, field, element, before) : clear(step, field, before);
    }
    const std::unique_ptr<Message> read(message_->New());
    const Positions found = read_value(step, field, *read);
    if (!paths_from_.empty()) resolve_paths_from(paths_from_, *read);
    if (element >= 0) return replace_element(step, field, element, *read, found);
    if (!path_.appends) clear(step, field, before);
    message_->MergeFrom(*read);
    if (!field->is_repeated()) return positions_.take(found, step.name, path_to(where_, step.name));
    const int first = path_.appends ? before : 0;
    for (int i = 0; i < reflection.FieldSize(*read, field); ++i)
      positions_.take(found, path_to("", step.name, i), path_to(where_, step.name, first + i));
  }

  void clear(const OverrideStep& step, const FieldDescriptor* field, int elements) {
    message_->GetReflection()->ClearField(message_, field);
    positions_.erase(path_to(where_, step.name));
    for (int i = 0; i < elements; ++i) positions_.erase(path_to(where_, step.name, i));
  }

  void remove_element(const OverrideStep& step, const FieldDescriptor* field, int element, int elements) {
    const Reflection& reflection = *message_->GetReflection();
    positions_.erase(path_to(where_, step.name, element));
    for (int i = element; i + 1 < elements; ++i) {
      reflection.SwapElements(message_, field, i, i + 1);
      positions_.move(path_to(where_, step.name, i + 1), path_to(where_, step.name, i));
    }
    reflection.RemoveLast(message_, field);
  }

  void replace_element(const OverrideStep& step, const FieldDescriptor* field, int element, const Message& read,
                       const Positions& found) {
    const Reflection& reflection = *message_->GetReflection();
    if (reflection.FieldSize(read, field) != 1) fail(path_.value_position, "expected one value, not a list");
    message_->MergeFrom(read);
    reflection.SwapElements(message_, field, element, reflection.FieldSize(*message_, field) - 1);
    reflection.RemoveLast(message_, field);
    positions_.take(found, path_to("", step.name, 0), path_to(where_, step.name, element));
  }

  std::string value_text() const { return text_.substr(path_.value, path_.end - path_.value); }

  /// Parses the value, which is not empty, into a message of the same type.
  Positions read_value(const OverrideStep& step, const FieldDescriptor* field, Message& read) const {
    const std::string value = value_text();
    const char first = value[value.find_first_not_of(" \t\n")];
    const bool text = field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
    const bool bare = text && first != '"' && first != '\'' && !(first == '[' && field->is_repeated());
    if (bare) return read_bare_text(step, field, value, read);
    Positions found = TextReader(with_all_else_blank(step), places_).read(read, true);
    std::vector<const FieldDescriptor*> set;
    read.GetReflection()->ListFields(read, &set);
    for (const FieldDescriptor* other : set)
      if (other != field) fail(path_.value_position, "expected one value, not another field");
    return found;
  }

  Positions read_bare_text(const OverrideStep& step, const FieldDescriptor* field, const std::string& value,
                           Message& read) const {
    const Reflection& reflection = *read.GetReflection();
    Positions found = places_;
    if (field->is_repeated())
      reflection.AddString(&read, field, value);
    else
      reflection.SetString(&read, field, value);
    found.add(path_to("", step.name, field->is_repeated() ? 0 : -1), step.position, path_.value_position);
    return found;
  }

  /// "name: value" at its own lines and columns, everything else blank.
  std::string with_all_else_blank(const OverrideStep& step) const {
    std::string blank = text_.substr(0, path_.end);
    for (size_t i = 0; i < path_.value; ++i)
      if (blank[i] != '\n' && (i < path_.last_name || i >= path_.last_name + step.name.size())) blank[i] = ' ';
    blank[path_.value - 1] = ':';
    return blank;
  }

  const OverridePath& path_;
  const std::string& text_;
  const Positions& places_;
  Positions& positions_;
  const std::string& paths_from_;
  std::vector<const Message*> enclosing_;
  Message* message_;
  std::string where_;
};

/// Whether it sets one of the old fields for inputs: input, input_shape, input_dim.
bool is_of_inputs(const OverridePath& path) {
  return path.root == "net" && std::string_view(path.steps[0].name).starts_with("input");
}

}  // namespace

Overrides::Overrides(const std::vector<std::string>& texts, PythonTypes types)
    : types_(std::move(types)), texts_(texts) {
  for (const std::string& text : texts) text_ += text + "\n";
  places_ = Positions("--set", text_);
  size_t begin = 0;
  int line = 1;
  for (const std::string& text : texts) {
    paths_.push_back(read_override_path(text_, begin, begin + text.size(), line, places_));
    begin += text.size() + 1;
    line += 1 + int(std::count(text.begin(), text.end(), '\n'));
  }
}

bool Overrides::has(const std::string& root) const {
  return std::any_of(paths_.begin(), paths_.end(), [&root](const OverridePath& path) { return path.root == root; });
}

void Overrides::apply(const std::function<bool(const OverridePath&)>& which, Message& message, Positions& positions,
                      const std::string& paths_from) const {
  Mistakes mistakes;
  for (const OverridePath& path : paths_) {
    if (!which(path)) continue;
    try {
      Setter(path, text_, places_, message, positions, paths_from).run();
    } catch (const Error& error) {
      mistakes.add(error);
    }
  }
  std::vector<std::string> missing;
  if (mistakes.empty()) message.FindInitializationErrors(&missing);
  for (const std::string& field : missing)
    mistakes.add({positions.place(field), "'" + field.substr(field.rfind('.') + 1) + "' is missing here", {}, {}});
  mistakes.throw_if_any(ExitCode::kNet);
}

void Overrides::apply(NetFile& file) const {
  types_.apply(file);
  if (!has("net")) return;
  if (std::any_of(paths_.begin(), paths_.end(), is_of_inputs)) {
    const auto is_dim = [](const OverridePath& path) {
      return is_of_inputs(path) && path.steps[0].name == "input_dim";
    };
    restore_inputs(file.net, file.positions, std::any_of(paths_.begin(), paths_.end(), is_dim));
    apply(is_of_inputs, file.net, file.positions, file.paths_from);
    upgrade_net(file.net, file.positions);
  }
  apply([](const OverridePath& path) { return path.root == "net" && !is_of_inputs(path); }, file.net, file.positions,
        file.paths_from);
  upgrade_net(file.net, file.positions);
}

void Overrides::apply(SolverFile& file) const {
  if (!has("solver")) return;
  // The type may be overridden in either form: a solver_type in --set replaces the file's type.
  for (const OverridePath& path : paths_)
    if (path.root == "solver" && path.steps[0].name == "solver_type") file.solver.clear_type();
  apply([](const OverridePath& path) { return path.root == "solver"; }, file.solver, file.positions, file.paths_from);
  upgrade_solver(file.solver, file.positions);
  set_snapshot_prefix(file.solver, file.positions.file());
}

}  // namespace cortado
