#include "sim/replay/meetings.hpp"

#include <utility>

#include "engine/base/index.hpp"
#include "sim/replay/copies.hpp"

namespace lockstep::sim {
namespace {

namespace sg4 = simgrid::s4u;

std::vector<sg4::Host*> hosts_of(const Cluster& cluster, const Program& program) {
  std::vector<sg4::Host*> hosts;
  for (int gpu = 0; gpu < program.gpus; ++gpu) hosts.push_back(cluster.gpu_host(gpu));
  std::unordered_map<const sg4::Host*, bool> is_known;
  const auto add = [&](sg4::Host* host) {
    if (is_known.emplace(host, true).second) hosts.push_back(host);
  };
  for (const Work::Source source : input_sources(program))
    for (int gpu = 0; gpu < program.fed_gpus; ++gpu) {
      const Cluster::Ends ends = ends_of_copy(cluster, source, gpu);
      add(ends.from);
      if (source == Work::Source::file_server) add(ends.to);
    }
  return hosts;
}

}  // namespace

Meetings::Meetings(const Cluster& cluster, const Program& program)
    : gpus_(program.gpus), hosts_(hosts_of(cluster, program)), flows_(cluster, hosts_) {
  if (!has_input_on_links(program)) return;
  for (std::size_t host = 0; host < hosts_.size(); ++host)
    number_of_host_.emplace(hosts_[host], static_cast<int>(host));
}

void Meetings::post(int stream, int src, int dst, bool is_send, std::int64_t bytes, double most_bytes_per_s,
                    Round& round) {
  round.add();
  std::deque<Post>& posts = posts_[(static_cast<std::uint64_t>(stream * gpus_ + src)) * at(gpus_) + at(dst)];
  const Post mine{is_send, bytes, most_bytes_per_s, &round};
  if (posts.empty() || posts.front().is_send == is_send) {
    posts.push_back(mine);
    return;
  }
  const Post other = posts.front();
  posts.pop_front();
  const Post& sender = is_send ? mine : other;
  flows_.send(
      src, dst, double(sender.bytes),
      [a = mine.round, b = other.round] {
        a->end_one();
        b->end_one();
      },
      sender.most_bytes_per_s);
}

void Meetings::carry(const Cluster::Ends& ends, std::int64_t bytes, const sg4::SemaphorePtr& wake) {
  flows_.send(number_of_host_.at(ends.from), number_of_host_.at(ends.to), double(bytes), [wake] { wake->release(); });
  wake->acquire();
}

}  // namespace lockstep::sim
