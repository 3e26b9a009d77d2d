#include "sim/replay/copies.hpp"

namespace lockstep::sim::replay {

Cluster::Ends ends_of_copy(const Cluster& cluster, Work::Source source, int gpu) {
  return source == Work::Source::file_server ? cluster.file_read_ends(gpu) : cluster.host_copy_ends(gpu);
}

std::vector<Route> routes_of_copies(const Program& program, Work::Source source, const Cluster& cluster) {
  std::vector<Route> routes;
  for (int gpu = 0; gpu < program.fed_gpus; ++gpu) {
    const Cluster::Ends ends = ends_of_copy(cluster, source, gpu);
    routes.push_back(cluster.message_route(ends.from, ends.to));
  }
  return routes;
}

std::int64_t bytes_of_copy(const Program& program, Work::Source source) {
  for (const Work& work : program.work)
    if (work.source == source) return work.bytes;
  return 0;
}

}  // namespace lockstep::sim::replay
