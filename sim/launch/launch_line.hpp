#pragma once
// Lines of a script that start a training: the launchers (srun, mpirun, torchrun, deepspeed, accelerate, python), the program
// and its arguments.
#include "sim/launch/formats.hpp"
#include "sim/launch/shell.hpp"

namespace lockstep::sim::launch {

struct LaunchLine {
  Place place;
  std::string program;            ///< "pretrain_gpt.py", or a module: "axolotl.cli.train"
  std::vector<Word> arguments;    ///< behind it
  LaunchSettings launchers;       ///< keys "torchrun.nnodes", "srun.ntasks"
  bool starts_processes = false;  ///< a launcher starts a process for each GPU; else each task of srun or mpirun is one
  bool is_framework = false;      ///< the program is a framework's own command, which starts its processes itself
  bool is_conditional = false;
  std::vector<std::string> notes;
};

/// The lines of a script that start a Python program or the command of a training framework, in order.
std::vector<LaunchLine> launch_lines(const ShellScript& script);

/// Returns the script's #SBATCH directives as settings with keys such as "sbatch.nodes".
LaunchSettings directive_settings(const std::vector<ShellCommand>& directives);
/// Returns the variables that the script exports as settings with keys such as "env.NCCL_IB_HCA".
LaunchSettings environment_settings(const ShellScript& script);
/// Variables that SLURM sets by the directives.
std::map<std::string, Word> slurm_environment(const std::vector<ShellCommand>& directives);

/// Keys with underscores, without the leading hyphens; a word that belongs to no option has the key "argument", and one such
/// as "trainer.devices=8" the key "trainer.devices". `flags`: options that take no value.
LaunchSettings argument_settings(const std::vector<Word>& arguments, const std::vector<std::string>& flags);

/// Nodes, GPUs per node, GPUs and the name of the GPU, from launchers, lists of hosts, directives and the environment.
void read_machine(LaunchSettings& settings, const LaunchLine& line, const ShellScript& script, Facts& facts,
                  const Catalogue& catalogue, const ReadNamedFile& read_named);

}  // namespace lockstep::sim::launch
