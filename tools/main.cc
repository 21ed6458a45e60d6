// The program: finds the command, reads its flags, runs it, and turns every way of failing into text and an exit code.
#include <fcntl.h>
#include <gflags/gflags.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>

#include "core/log.h"
#include "core/restart.h"
#include "tools/caffe_names.h"
#include "tools/command.h"
#include "tools/failure.h"
#include "tools/help.h"
#include "tools/terminal.h"

namespace cortado::tools {

namespace {

int show_help(const std::string& text) {
  std::cout << text;
  return 0;
}

/// Every flag that any command knows, none of them required: enough to tell values from operands before the command is
/// known.
std::vector<Flag> every_flag() {
  std::vector<Flag> out = common_flags();
  for (const Command& command : all_commands()) out.insert(out.end(), command.flags.begin(), command.flags.end());
  for (Flag& flag : out) flag.required = false;
  return out;
}

/// glog's own flags keep their meaning; it made them with gflags.
void apply_common_flags(const Arguments& arguments) {
  if (arguments.on("no-color")) forbid_colour();
  if (arguments.on("quiet")) set_log_level(Severity::kWarning);
  if (arguments.has("minloglevel")) set_log_level(Severity(std::min<int64_t>(2, arguments.integer("minloglevel"))));
  if (!arguments.has("log-dir")) return;
  gflags::SetCommandLineOption("log_dir", arguments.text("log-dir").c_str());
  gflags::SetCommandLineOption("logtostderr", "false");
  gflags::SetCommandLineOption("alsologtostderr", "true");
}

int run_command(const Command& command, const std::vector<std::string>& words) {
  try {
    const Arguments arguments = parse_flags(flags_of(command), command.operands, words);
    if (arguments.on("help")) return show_help(command_help(command));
    apply_common_flags(arguments);
    return command.run(arguments);
  } catch (const Error& error) {
    show_error(error.what());
    if (error.code() == ExitCode::kUsage)
      show_error(usage_line(command) + "'cortado " + command.name + " --help' says more");
    return int(error.code());
  }
}

int run_words(std::vector<std::string> words) {
  const std::vector<Flag> flags = every_flag();
  const size_t at = first_operand(flags, words);
  if (at < words.size()) {
    const Command& command = command_named(words[at]);
    words.erase(words.begin() + int64_t(at));
    return run_command(command, words);
  }
  const Arguments arguments = parse_flags(flags, {}, words);
  if (arguments.on("version")) return show_help(version_line() + "\n");
  if (words.empty() || arguments.on("help")) return show_help(program_help());
  throw usage_error("a command is missing: cortado COMMAND [flags]");
}

int run_program(const std::string& name, const std::vector<std::string>& words) {
  try {
    int code = 0;
    for (const std::vector<std::string>& line : translate_caffe_call(name, words))
      if (code == 0) code = run_words(line);
    return code;
  } catch (const Error& error) {
    show_error(error.what());
    if (error.code() == ExitCode::kUsage) show_error("'cortado --help' lists the commands");
    return int(error.code());
  } catch (...) {
    const Failure failure = current_failure();
    show_error(failure.text);
    return failure.code;
  }
}

/// Results that could not be written are a failure, unless the reader only had enough (`cortado layers | head`).
int finish_output(int code) {
  errno = 0;
  std::cout.flush();
  if (std::cout.good() || errno == EPIPE || code != 0) return code;
  show_error("error: cannot write the results to standard output");
  return int(ExitCode::kIo);
}

}  // namespace

}  // namespace cortado::tools

/// A descriptor that is closed would go to the first file that is opened, and log lines into a dataset. What takes its
/// place can be neither read nor written, as before.
static void reserve_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

static bool ended_here = false;

/// OpenMP's library calls exit(1) where the system gives it no more threads or no memory; it has said so.
static void explain_foreign_exit() {
  if (ended_here) return;
  cortado::tools::show_error(
      "error: a library ended the program for want of threads or memory\n"
      "hint: fewer --threads, or higher limits: `ulimit -u` counts threads, `ulimit -v` their memory");
  _exit(int(cortado::ExitCode::kDevice));
}

/// What is wrong with the wish for a level, if anything; else the program is the right one.
static int restart(char** argv) {
  using namespace cortado;
  try {
    restart_for_this_machine(argv);
    return 0;
  } catch (const Error& error) {
    tools::show_error(error.what());
    return int(error.code());
  }
}

int main(int argc, char** argv) {
  using namespace cortado;
  reserve_descriptors();
  if (const int code = restart(argv)) return code;
  // A log without a reader, or a file that may not grow, must not end a training: its write fails then.
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  std::atexit(explain_foreign_exit);
  const std::vector<std::string> words(argv + 1, argv + argc);
  start_logging("cortado");
  const int code = tools::finish_output(tools::run_program(argv[0], words));
  ended_here = true;
  return code;
}
