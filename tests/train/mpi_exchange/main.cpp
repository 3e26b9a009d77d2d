// Run by tests/train/mpi_exchange_test.cpp under mpirun: what the devices of several processes exchange is what as many
// devices of one process do. Argument: devices of each process.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "engine/device/backend.hpp"
#include "engine/mpi/mpi_processes.hpp"

using namespace lockstep;
using device::Collective;

namespace {

using Vectors = std::vector<std::vector<float>>;

// Devices from `first` on, of which each sends numbers that no other does; sums of them are exact.
Vectors received(device::Backend& backend, Collective collective, std::int64_t n, int first) {
  std::vector<sync::DeviceVector> send, receive;
  std::vector<const void*> from;
  std::vector<void*> to;
  for (int d = 0; d < backend.devices(); ++d) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < n; ++i) values.push_back(static_cast<float>(1000 * (first + d) + i));
    send.emplace_back(backend.ops(), n, d);
    receive.emplace_back(backend.ops(), n, d);
    backend.ops().upload(n, values.data(), send.back().data());
    from.push_back(send.back().data());
    to.push_back(receive.back().data());
  }
  backend.exchange(collective, device::Precision::fp32, n, from, to);
  Vectors result;
  for (const sync::DeviceVector& vector : receive) result.push_back(vector.to_host());
  return result;
}

// What each device gets of the mean, then all of its vector after every other device's part has come.
Vectors parts_of(device::Backend& backend, std::int64_t n, int first, int all) {
  std::vector<sync::DeviceVector> send, receive;
  std::vector<const float*> from;
  std::vector<float*> to, whole;
  for (int d = 0; d < backend.devices(); ++d) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < n; ++i)
      values.push_back(static_cast<float>(1 + first + d) / static_cast<float>(3 + i));  // sums of them are rounded
    send.emplace_back(backend.ops(), n, d);
    receive.emplace_back(backend.ops(), std::max<std::int64_t>(1, sync::part_of(n, first + d, all).count), d);
    backend.ops().upload(n, values.data(), send.back().data());
    from.push_back(send.back().data());
    whole.push_back(send.back().data());
    to.push_back(receive.back().data());
  }
  backend.ops().average_parts(n, from, to);
  Vectors result;
  for (const sync::DeviceVector& vector : receive) result.push_back(vector.to_host());
  backend.ops().gather_parts(n, whole);
  for (std::size_t d = 0; d < send.size(); ++d) {
    const std::vector<float> gathered = send[d].to_host();
    result[d].insert(result[d].end(), gathered.begin(), gathered.end());
  }
  return result;
}

// Runs sums in parallel with other work: every process takes part until all have enough.
bool sums_go_on(device::Backend& backend, int rank) {
  const auto sums = backend.repeat_sums(100);
  if (!sums) return false;
  for (int time = 0; time < 3; ++time) {
    sums->start();
    const std::int64_t wanted = 5 * (rank + 1);  // the last process wants most
    while (sums->rounds() < wanted) std::this_thread::yield();
    sums->stop();
    if (backend.agreed(static_cast<double>(sums->rounds())) != static_cast<double>(sums->rounds())) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const int devices = std::atoi(argv[1]);
  const std::unique_ptr<sync::Processes> processes = mpi::start(argc, argv, 4);  // several blocks to a part
  const int all = devices * processes->count(), first = devices * processes->rank();
  const auto several = device::make_host_backend(devices, 1, processes.get());
  const auto alone = device::make_host_backend(all, 1);
  int failures = 0;
  for (const std::int64_t n : {std::int64_t{all}, std::int64_t{11} * all})
    for (const Collective collective : {Collective::all_reduce, Collective::reduce, Collective::broadcast,
                                        Collective::reduce_scatter, Collective::all_gather, Collective::all_to_all}) {
      const Vectors mine = received(*several, collective, n, first), expected = received(*alone, collective, n, 0);
      for (int d = 0; d < devices; ++d) {
        if (mine[static_cast<std::size_t>(d)] == expected[static_cast<std::size_t>(first + d)]) continue;
        std::printf("%s of %d numbers: device %d has others\n", to_string(collective).c_str(), static_cast<int>(n),
                    first + d);
        ++failures;
      }
    }
  // Sums over several devices of a process come first, so that only single devices have the bits of one process.
  for (const std::int64_t n :
       {std::int64_t{all}, std::int64_t{7} * all + 1, std::int64_t{11} * all - 1, std::int64_t{1}}) {
    const Vectors mine = parts_of(*several, n, first, all), expected = parts_of(*alone, n, 0, all);
    for (int d = 0; d < devices; ++d) {
      const std::vector<float>& own = mine[static_cast<std::size_t>(d)];
      const std::vector<float>& other = expected[static_cast<std::size_t>(first + d)];
      bool are_alike = own.size() == other.size();
      for (std::size_t i = 0; are_alike && i < own.size(); ++i)
        are_alike = devices == 1 ? own[i] == other[i] : std::abs(own[i] - other[i]) <= 1e-6F * std::abs(other[i]);
      if (are_alike) continue;
      std::printf("parts of %d numbers: device %d has others\n", static_cast<int>(n), first + d);
      ++failures;
    }
  }
  if (!sums_go_on(*several, processes->rank())) {
    std::printf("process %d: sums beside other work do not stop together\n", processes->rank());
    ++failures;
  }
  if (processes->rank() == 0 && failures == 0) std::printf("all alike\n");
  return failures > 0 ? 1 : 0;
}
