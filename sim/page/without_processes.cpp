// Replaces engine/base/process_pool.cpp in the page, which cannot start processes. Pieces of work run one after the
// other in this thread. Errors have the same text as those of a child process.
#include "engine/base/process_pool.hpp"

#include <stdexcept>

namespace lockstep {

std::vector<std::string> in_processes(std::size_t count, int, const std::function<std::string(std::size_t)>& work,
                                      const std::string&) {
  std::vector<std::string> results;
  for (std::size_t i = 0; i < count; ++i) {
    try {
      results.push_back(work(i));
    } catch (const std::exception& error) {
      throw std::runtime_error(error.what());
    }
  }
  return results;
}

std::vector<std::string> in_shared_processes(std::size_t count, int jobs,
                                             const std::function<std::string(std::size_t)>& work,
                                             const std::string& what) {
  return in_processes(count, jobs, work, what);
}

}  // namespace lockstep
