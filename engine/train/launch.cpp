#include "engine/train/launch.hpp"

#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#ifdef LOCKSTEP_WITH_MPI
#include "engine/mpi/mpi_processes.hpp"
#endif

namespace lockstep::train {
namespace {

int number_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

#ifdef LOCKSTEP_WITH_MPI
int bound_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                     : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}
#endif

}  // namespace

std::string binding_remark(int bound, int processors, int local_processes) {
  if (bound >= processors / local_processes) return "";
  return "each of the " + std::to_string(local_processes) + " processes here is bound to " + std::to_string(bound) +
         " of " + std::to_string(processors) +
         " processors, on which it also prepares its input; mpirun --bind-to none";
}

int launched_processes() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (number_in(variable) > 0) return number_in(variable);
  }
  // A job's script has SLURM_NTASKS as well, but only its tasks have PMIX_RANK.
  if (std::getenv("PMIX_RANK") != nullptr && number_in("SLURM_NTASKS") > 0) return number_in("SLURM_NTASKS");
  return 1;
}

std::unique_ptr<sync::Processes> join_processes(int& argc, char**& argv) {
  if (launched_processes() == 1) return std::make_unique<sync::Processes>();
#ifdef LOCKSTEP_WITH_MPI
  std::unique_ptr<sync::Processes> processes = mpi::start(argc, argv);
  const std::string remark =
      binding_remark(bound_processors(), static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), processes->local_count());
  if (processes->local_rank() == 0 && !remark.empty()) std::fprintf(stderr, "%s\n", remark.c_str());
  return processes;
#else
  static_cast<void>(argc);
  static_cast<void>(argv);
  throw std::runtime_error("started as one of " + std::to_string(launched_processes()) +
                           " processes, but this build has no MPI (CMake found none)");
#endif
}

void forget_launcher() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string name(*entry, std::string(*entry).find('='));
    for (const char* prefix : {"OMPI_", "PMIX_", "PMI_"}) {
      if (name.rfind(prefix, 0) == 0) names.push_back(name);
    }
  }
  for (const std::string& name : names) ::unsetenv(name.c_str());
}

}  // namespace lockstep::train
