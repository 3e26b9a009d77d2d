// The time that SimGrid itself takes for messages: no cluster, program or plan of Lockstep. GPUs of one ring send to
// their neighbours, round after round, over a private link out and one in. `fast` needs no SimGrid.
//
//   build/bench_simgrid GPUS ROUNDS
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "sim/messages/simgrid_compat.hpp"

namespace {

namespace sg4 = simgrid::s4u;
namespace compat = lockstep::sim::messages::compat;

constexpr double kBandwidth_bytes_per_s = 12e9;
constexpr std::uint64_t kMessage_bytes = 1'000'000;

// The settings of fidelity `message` (sim/messages/engine.cpp).
void configure() {
  sg4::Engine::set_config("network/model:CM02");
  sg4::Engine::set_config("network/optim:Lazy");
  sg4::Engine::set_config("network/crosstraffic:no");
  sg4::Engine::set_config("network/TCP-gamma:1e30");
  sg4::Engine::set_config("contexts/stack-size:64");
}

std::vector<sg4::Host*> make_hosts(int gpus) {
  sg4::NetZone* const star = compat::add_star_zone(compat::root_zone(), "fabric");
  std::vector<sg4::Host*> hosts;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const std::string name = std::to_string(gpu);
    hosts.push_back(compat::add_host(star, "gpu" + name, 1));
    const sg4::LinkInRoute out(compat::add_link(star, "out" + name, kBandwidth_bytes_per_s)->set_latency(1e-6));
    const sg4::LinkInRoute in(compat::add_link(star, "in" + name, kBandwidth_bytes_per_s)->set_latency(1e-6));
#if SIMGRID_VERSION >= 40000
    star->add_route(hosts.back(), nullptr, {out}, false);
    star->add_route(nullptr, hosts.back(), {in}, false);
#else
    star->add_route(hosts.back()->get_netpoint(), nullptr, nullptr, nullptr, {out}, false);
    star->add_route(nullptr, hosts.back()->get_netpoint(), nullptr, nullptr, {in}, false);
#endif
  }
  star->seal();
  return hosts;
}

// Each round it starts a message to the next GPU, receives one from the previous GPU, and waits for both. The delay
// before the first round, different for each GPU, keeps messages from ending together, as jitter does.
void run_gpu(int gpu, int gpus, int rounds) {
  static char payload;
  void* received = nullptr;
  sg4::Mailbox* const next = sg4::Mailbox::by_name(std::to_string((gpu + 1) % gpus));
  sg4::Mailbox* const own = sg4::Mailbox::by_name(std::to_string(gpu));
  sg4::this_actor::sleep_for(1e-6 * (gpu * 7919 % gpus));
  for (int round = 0; round < rounds; ++round) {
    const sg4::CommPtr sent = next->put_async(&payload, kMessage_bytes);
    own->get_init()->set_dst_data(&received, sizeof(void*))->wait();
    sent->wait();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int gpus = argc == 3 ? std::atoi(argv[1]) : 0, rounds = argc == 3 ? std::atoi(argv[2]) : 0;
  if (gpus < 2 || rounds < 1) {
    std::cerr << "usage: bench_simgrid GPUS ROUNDS\n";
    return 2;
  }
  sg4::Engine engine(&argc, argv);
  configure();
  const std::vector<sg4::Host*> hosts = make_hosts(gpus);
  for (int gpu = 0; gpu < gpus; ++gpu)
    compat::add_actor("gpu" + std::to_string(gpu), hosts[static_cast<std::size_t>(gpu)],
                      [gpu, gpus, rounds] { run_gpu(gpu, gpus, rounds); });
  const auto began = std::chrono::steady_clock::now();
  engine.run();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  const double messages = double(gpus) * rounds;
  std::cout << messages << " messages in " << seconds << " s, " << 1e6 * seconds / messages << " us each; "
            << sg4::Engine::get_clock() << " s simulated\n";
  return 0;
}
