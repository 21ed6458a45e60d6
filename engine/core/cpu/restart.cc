#include "core/cpu/restart.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "core/error.h"
#include "core/files/file.h"
#include "core/process/program_path.h"

namespace cortado {

namespace {

constexpr const char* kVariable = "CORTADO_CPU_LEVEL";

/// The value of `--cpu-level`, in any spelling that the flag parser accepts; null if absent.
const char* level_flag(char** argv) {
  for (char** word = argv; *word; ++word) {
    std::string name = *word;
    name = name.substr(0, name.find('='));
    std::ranges::replace(name, '_', '-');
    if (name != "--cpu-level" && name != "-cpu-level") continue;
    return name.size() < std::string(*word).size() ? *word + name.size() + 1 : *(word + 1);
  }
  return nullptr;
}

/// The requested level: `--cpu-level=LEVEL` in the arguments, else CORTADO_CPU_LEVEL. An invalid flag is left to the
/// flag parser; an invalid environment variable throws Error(kUsage).
std::optional<IsaLevel> asked_isa(char** argv) {
  if (const char* flag = level_flag(argv)) return isa_level_named(flag);
  const char* variable = std::getenv(kVariable);
  if (!variable || !*variable) return std::nullopt;
  const std::optional<IsaLevel> level = isa_level_named(variable);
  if (!level)
    throw Error(ExitCode::kUsage, std::string(kVariable) + "='" + variable + "' is not a CPU level",
                "use one of v2, v3, v4, amx");
  return level;
}

/// The value of ONEDNN_MAX_CPU_ISA for a level; null if unlimited.
const char* onednn_isa(IsaLevel level) {
  switch (level) {
    case IsaLevel::kV2:
      return "SSE41";
    case IsaLevel::kV3:
      return "AVX2";
    case IsaLevel::kV4:
      return "AVX512_CORE_BF16";
    default:
      return nullptr;
  }
}

/// The main program: this one, or the one in the parent folder if this one is in a level's folder.
std::string first_program() {
  const std::string self = program_path(), folder = folder_of(self);
  const std::string above = join_path(folder_of(folder), file_name_of(self));
  return isa_level_named(file_name_of(folder)) && file_exists(above) ? above : self;
}

std::string path_at_level(const std::string& program, IsaLevel level) {
  return join_path(join_path(folder_of(program), name_of(level)), file_name_of(program));
}

void check_asked(IsaLevel level) {
  const std::string text = "CPU level " + name_of(level);
  if (level > machine_isa())
    throw Error(ExitCode::kDevice,
                text + " (" + meaning_of(level) + ") is above the level of this CPU, " + name_of(machine_isa()));
  if (std::ranges::count(built_isas(), level) == 0)
    throw Error(ExitCode::kUsage, text + " is not in this build, whose level is " + name_of(kCompiledIsa),
                "build with -DCORTADO_CPU_LEVELS=all for all levels");
}

/// Sets a variable unless the user has set it.
void set_default(const char* name, const char* value) { setenv(name, value, 0); }

/// The highest level up to `most` that has a program; the level of this program if none.
IsaLevel best_isa(IsaLevel most) {
  IsaLevel best = kCompiledIsa;
  for (const IsaLevel level : built_isas())
    if (level <= most) best = level;
  return best;
}

/// Executes another program in place of this one. Returns if that fails or if it is the same program.
void exec_program(const std::string& program, char** argv) {
  std::error_code unknown;
  if (!std::filesystem::equivalent(program, program_path(), unknown)) execv(program.c_str(), argv);
}

}  // namespace

std::vector<IsaLevel> built_isas() {
  const std::string program = first_program();
  std::vector<IsaLevel> levels;
  for (const IsaLevel level : kIsaLevels)
    if (level == kCompiledIsa || file_exists(path_at_level(program, level))) levels.push_back(level);
  return levels;
}

void reexec_for_cpu_level(char** argv) {
  const std::optional<IsaLevel> asked = asked_isa(argv);
  if (asked) {
    check_asked(*asked);
    setenv(kVariable, name_of(*asked).c_str(), 1);
    if (const char* isa = onednn_isa(*asked)) set_default("ONEDNN_MAX_CPU_ISA", isa);
  }
  const IsaLevel best = best_isa(asked.value_or(machine_isa()));
  if (best != kCompiledIsa) exec_program(path_at_level(first_program(), best), argv);
}

}  // namespace cortado
