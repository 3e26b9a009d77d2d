#pragma once
// How tests start several processes.
#include <string>

namespace lockstep::tests {

/// What a shell command begins with before mpirun itself. Open MPI's run as root and with more processes than cores;
/// other launchers do not know these variables. What Open MPI itself never frees is not this project's leak.
inline std::string mpi_environment() {
  return "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "
         "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_mpi_yield_when_idle=1 "
         "OMPI_MCA_btl=self,tcp,vader OMPI_MCA_btl_base_warn_component_unused=0 "
         "ASAN_OPTIONS=\"$ASAN_OPTIONS:detect_leaks=0\" ";
}

/// What a process's shell script begins with: that of `rank` leaves its process number in the file "victim", and all become
/// what follows. All processes have one script since several programs of one launcher (":") end in a fault of Open MPI 5.0.7
/// where /sys is not mounted.
inline std::string exec_with_victim(int rank) {
  return "[ \"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" != " + std::to_string(rank) + " ] || echo $$ >victim; exec ";
}

}  // namespace lockstep::tests
