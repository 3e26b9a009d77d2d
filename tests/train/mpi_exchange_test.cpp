// Exchanges of processes over MPI, in a separate program under mpirun.
#include <cstdlib>
#include <iostream>
#include <utility>

#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/cli/mpi_launcher.hpp"
#include "tests/cli/process.hpp"

namespace lockstep {

TEST_CASE("Devices of several processes exchange what devices of one process do, and sum beside other work") {
#ifndef LOCKSTEP_MPI_EXCHANGE
  std::cout << "skipped (mpi): this build has no MPI, or no mpirun was found" << std::endl;
#else
  for (const auto& [processes, devices] : {std::pair{"2", "1"}, std::pair{"3", "2"}}) {
    TemporaryFolder folder;
    const std::string out = folder.path("out.txt");
    const std::string command = tests::mpi_environment() + "'" LOCKSTEP_MPIEXEC "' -n " + processes +
                                " '" LOCKSTEP_MPI_EXCHANGE "' " + devices + " >'" + out + "' 2>&1 </dev/null";
    const int status = std::system(command.c_str());
    INFO(processes << " processes of " << devices << " devices: " << tests::slurp(out));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(tests::slurp(out).find("all alike\n") != std::string::npos);
  }
#endif
}

}  // namespace lockstep
