#pragma once
// Starts several processes in tests.
#include <string>

namespace lockstep::tests {

/// Returns the beginning of a shell command, before mpirun. Open MPI then runs as root and with more processes than
/// cores; other launchers ignore these variables. Memory that Open MPI itself never frees is not reported as a leak.
inline std::string mpi_environment() {
  return "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "
         "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_mpi_yield_when_idle=1 "
         "OMPI_MCA_btl=self,tcp,vader OMPI_MCA_btl_base_warn_component_unused=0 "
         "ASAN_OPTIONS=\"$ASAN_OPTIONS:detect_leaks=0\" ";
}

/// Returns the beginning of a process's shell script. Process `rank` writes its process id to the file "victim"; then
/// every process executes the program that follows. All processes run one script, because several programs of one
/// launcher (":") crash Open MPI 5.0.7 if /sys is not mounted.
inline std::string exec_with_victim(int rank) {
  return "[ \"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" != " + std::to_string(rank) + " ] || echo $$ >victim; exec ";
}

}  // namespace lockstep::tests
