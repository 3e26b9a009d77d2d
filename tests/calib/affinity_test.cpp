// Threads are bound to processors near the devices that they feed.
#include "engine/device/affinity.hpp"

#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::device;

namespace {

std::vector<int> allowed() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> processors;
  for (int p = 0; p < CPU_SETSIZE; ++p)
    if (CPU_ISSET(p, &set)) processors.push_back(p);
  return processors;
}

/// A kernel's folder of devices.
struct Sysfs {
  void add(const std::string& pci, const std::string& list) const {
    const std::filesystem::path device = std::filesystem::path(folder.path("")) / "bus/pci/devices" / pci;
    std::filesystem::create_directories(device);
    std::ofstream(device / "local_cpulist") << list << "\n";
  }
  TemporaryFolder folder;
};

/// What `body` leaves of a thread of its own: bindings end with it.
void on_a_thread(const std::function<void()>& body) {
  std::thread(body).join();
}

}  // namespace

TEST_CASE("Processors are read as the kernel lists them") {
  CHECK(processors_of("0-3,8") == std::vector<int>{0, 1, 2, 3, 8});
  CHECK(processors_of("5\n") == std::vector<int>{5});
  CHECK(processors_of("0-1,0") == std::vector<int>{0, 1});
  for (const char* wrong : {"", "x", "3-1", "1-", "-1", "0,,2", "99999", "1 2"}) {
    INFO(wrong);
    CHECK(processors_of(wrong).empty());
  }
}

TEST_CASE("Next to several devices are the processors of each, where the kernel tells of all") {
  const Sysfs sysfs;
  sysfs.add("0000:1b:00.0", "0-1,4");
  sysfs.add("0000:9b:00.0", "2,4");
  const std::string root = sysfs.folder.path("");
  CHECK(processors_near({"0000:1b:00.0"}, root) == std::vector<int>{0, 1, 4});
  CHECK(processors_near({"0000:1b:00.0", "0000:9b:00.0"}, root) == std::vector<int>{0, 1, 2, 4});
  CHECK(processors_near({"0000:1b:00.0", "0000:aa:00.0"}, root).empty());
}

TEST_CASE("A thread is bound next to its devices, and those that it starts with it") {
  const std::vector<int> before = allowed();
  const Sysfs sysfs;
  sysfs.add("near", std::to_string(before.front()));
  sysfs.add("all", "0-1023");
  const std::string root = sysfs.folder.path("");
  std::vector<int> bound, inherited, all, again;
  std::string remark, remark_of_all, remark_again;
  on_a_thread([&] {
    remark_of_all = bind_near({"all"}, root);
    all = allowed();
    remark = bind_near({"near"}, root);
    bound = allowed();
    on_a_thread([&] { inherited = allowed(); });
    remark_again = bind_near({"all"}, root);  // what is bound stays
    again = allowed();
  });
  CHECK(all == before);
  CHECK(remark_of_all.empty());
  const bool is_whole = static_cast<long>(before.size()) == sysconf(_SC_NPROCESSORS_ONLN) && before.size() > 1;
  if (!is_whole) {
    CHECK(remark.empty());
    return;
  }
  CHECK_THAT(remark, Contains("threads on the 1 processor next to its GPUs, of " + std::to_string(before.size())));
  CHECK(bound == std::vector<int>{before.front()});
  CHECK(inherited == bound);
  CHECK(again == bound);
  CHECK(remark_again.empty());
  CHECK(allowed() == before);
}

TEST_CASE("Threads that a launcher bound far from their GPUs are told how to mend it") {
  const Sysfs sysfs;
  sysfs.add("far", "1023");
  std::string remark;
  on_a_thread([&] { remark = bind_near({"far"}, sysfs.folder.path("")); });
  CHECK_THAT(remark, Contains("none of which is next to its GPUs") && Contains("mpirun --bind-to none"));
}
