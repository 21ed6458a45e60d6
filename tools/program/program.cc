#include "tools/program/program.h"

#include <fcntl.h>
#include <gflags/gflags.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>

#include "core/cpu/lesser_cpu.h"
#include "core/cpu/restart.h"
#include "core/files/mapped_file.h"
#include "core/log.h"
#include "core/process/process_limits.h"
#include "tools/output/terminal.h"
#include "tools/program/caffe_names.h"
#include "tools/program/failure.h"
#include "tools/program/help.h"

namespace cortado::tools {

namespace {

/// glog's own flags keep their meaning.
void apply_common_flags(const Arguments& arguments) {
  if (arguments.on("no-color")) forbid_colour();
  if (arguments.on("quiet")) set_log_level(Severity::kWarning);
  if (arguments.has("minloglevel")) set_log_level(Severity(std::min<int64_t>(2, arguments.integer("minloglevel"))));
  if (!arguments.has("log-dir") || arguments.on("logtostderr")) return;
  gflags::SetCommandLineOption("log_dir", arguments.text("log-dir").c_str());
  gflags::SetCommandLineOption("logtostderr", "false");
  const bool all = !arguments.has("alsologtostderr") || arguments.on("alsologtostderr");
  gflags::SetCommandLineOption("alsologtostderr", all ? "true" : "false");
  if (arguments.has("stderrthreshold"))
    gflags::SetCommandLineOption("stderrthreshold", std::to_string(arguments.integer("stderrthreshold")).c_str());
}

/// The name of log files. A program under the name of one of Caffe's uses that name.
std::string log_name(const std::string& program) {
  const std::string name = caffe_name_of(program);
  return name.empty() ? "cortado" : name;
}

/// Results that cannot be written are a failure, unless the reader closed the pipe (`cortado layers | head`).
int finish_output(int code) {
  errno = 0;
  std::cout.flush();
  if (std::cout.good() || errno == EPIPE || code != 0) return code;
  show_error("error: cannot write the results to standard output");
  return int(ExitCode::kIo);
}

/// The next opened file would get the number of a closed standard descriptor, and log lines would go into a dataset.
/// The placeholder can be neither read nor written, like a closed descriptor.
void reserve_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/// Restarts the program for the requested CPU level. Returns 0 if it already runs at that level, the exit code of an
/// error otherwise.
int restart(char** argv) {
  try {
    reexec_for_cpu_level(argv);
    return 0;
  } catch (const Error& error) {
    show_error(error.what());
    return int(error.code());
  }
}

/// Runs it and reports its exceptions. Returns the exit code.
int run_and_report(int (*run)(const std::string&, const std::vector<std::string>&), const std::string& name,
                   const std::vector<std::string>& words) {
  try {
    return run(name, words);
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

}  // namespace

int show_help(const std::string& text) {
  std::cout << text;
  return 0;
}

int run_command(const Command& command, const std::vector<std::string>& words) {
  try {
    const Arguments arguments = parse_flags(flags_of(command), command.operands, words);
    if (arguments.on("help")) return show_help(command_help(command, HelpLength::kFull));
    if (arguments.on("h")) return show_help(command_help(command, HelpLength::kShort));
    if (arguments.on("version")) return show_help(version_line() + "\n");
    apply_common_flags(arguments);
    return command.run(arguments);
  } catch (const Error& error) {
    show_error(error.what());
    if (error.code() == ExitCode::kUsage)
      show_error(usage_line(command) + "'cortado " + command.name + " --help' lists all flags");
    return int(error.code());
  }
}

int program_main(int argc, char** argv, int (*run)(const std::string&, const std::vector<std::string>&)) {
  end_on_lesser_cpus();
  reserve_descriptors();
  end_without_memory();
  guard_mapped_files();
  allow_many_files();
  if (const int code = restart(argv)) return code;
  // Without a log reader, or at the file size limit, a write must fail instead of ending a training.
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  const std::vector<std::string> words(argv + 1, argv + argc);
  start_logging(log_name(argv[0]).c_str());
  return finish_output(run_and_report(run, argv[0], words));
}

}  // namespace cortado::tools
