#pragma once
// Finds the lines of a script that start a training: launchers (srun, mpirun, torchrun, deepspeed, accelerate, python),
// the program and its arguments.
#include "sim/launch/formats.hpp"
#include "sim/launch/shell.hpp"

namespace lockstep::sim::launch {

struct LaunchLine {
  Place place;
  std::string program;            ///< "pretrain_gpt.py", or a module: "axolotl.cli.train"
  std::vector<Word> arguments;    ///< of the program
  LaunchSettings launchers;       ///< keys "torchrun.nnodes", "srun.ntasks"
  bool starts_processes = false;  ///< a launcher starts one process per GPU; otherwise srun's or mpirun's tasks do
  bool is_task = false;           ///< srun or mpirun starts the program or its launcher
  bool is_framework = false;      ///< the program is a framework's command, which starts its processes itself
  bool is_conditional = false;
  std::vector<std::string> notes;
  std::shared_ptr<const ShellVariables> shell = {};           ///< of the command
  std::shared_ptr<const std::vector<ShellCommand>> job = {};  ///< of the command
};

/// The lines of a script that start a Python program or the command of a training framework, in order.
std::vector<LaunchLine> launch_lines(const ShellScript& script);

/// Whether a word of the command may start a program or a launcher.
bool may_launch(const std::vector<Word>& words);

/// Returns the item of GPUs in "lscratch:100,gpu:a100:4"; "": there is none. `names_gpus`: "a100:4" is one too.
std::string gpu_item(const std::string& resources, bool names_gpus);

/// Returns the script's #SBATCH directives as settings with keys such as "sbatch.nodes".
LaunchSettings directive_settings(const std::vector<ShellCommand>& directives);
/// Returns the variables that the script exports as settings with keys such as "env.NCCL_IB_HCA".
LaunchSettings environment_settings(const ShellVariables& script);
/// Variables that SLURM sets according to the directives.
std::map<std::string, Word> slurm_environment(const std::vector<ShellCommand>& directives);

/// Keys have underscores and no leading hyphens. A word that belongs to no option has the key "argument"; a word such
/// as "trainer.devices=8" has the key "trainer.devices". `flags`: options without a value.
LaunchSettings argument_settings(const std::vector<Word>& arguments, const std::vector<std::string>& flags);

/// Reads nodes, GPUs per node, GPUs and the GPU's name from launchers, host lists, directives and the environment.
void read_machine(LaunchSettings& settings, const LaunchLine& line, const ShellScript& script, Facts& facts,
                  const Catalogue& catalogue, const ReadNamedFile& read_named);

}  // namespace lockstep::sim::launch
