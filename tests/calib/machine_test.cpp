// What a machine has, from a PCI tree of files and a library that answers as NVML does.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "calib/facts.hpp"
#include "calib/topology/machine.hpp"
#include "calib/topology/pci.hpp"
#include "engine/device/backend.hpp"
#include "engine/nvml/nvml.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;
namespace fs = std::filesystem;

namespace {

const std::string kFakeNvml = LOCKSTEP_FAKE_NVML;

// A device below a path of bridges, as /sys shows it.
void add_device(const TemporaryFolder& sysfs, const std::string& path, const std::string& vendor,
                const std::string& device_class, const std::string& node = "", const std::string& speed = "",
                const std::string& width = "") {
  const fs::path folder = fs::path(sysfs.path("devices")) / path;
  fs::create_directories(folder);
  const auto write = [&](const char* name, const std::string& text) {
    if (!text.empty()) std::ofstream(folder / name) << text << "\n";
  };
  write("vendor", vendor);
  write("device", "0x2330");
  write("class", device_class);
  write("numa_node", node);
  write("max_link_speed", speed);
  write("max_link_width", width);
  const fs::path all = sysfs.path("bus/pci/devices");
  fs::create_directories(all);
  fs::create_directory_symlink(folder, all / folder.filename());
}

// A machine with two sockets. On the first, GPU 1b and a NIC are below one switch, and GPU 43 is below another port of
// that switch's upper bridge. On the second, GPU c1 and a NIC have separate ports.
void add_machine(const TemporaryFolder& sysfs) {
  const std::string upper = "pci0000:15/0000:15:01.0/0000:16:00.0/";
  add_device(sysfs, upper + "0000:17:00.0/0000:18:00.0/0000:19:00.0/0000:1b:00.0", "0x10de", "0x030200", "0",
             "32.0 GT/s PCIe", "16");
  add_device(sysfs, upper + "0000:17:00.0/0000:18:00.0/0000:19:01.0/0000:1c:00.0", "0x15b3", "0x020700", "0",
             "32.0 GT/s PCIe", "16");
  add_device(sysfs, upper + "0000:17:01.0/0000:40:00.0/0000:41:00.0/0000:43:00.0", "0x10de", "0x030200", "0",
             "32.0 GT/s PCIe", "16");
  add_device(sysfs, "pci0000:c0/0000:c0:01.0/0000:c1:00.0", "0x10de", "0x030200", "1", "32.0 GT/s PCIe", "16");
  add_device(sysfs, "pci0000:c0/0000:c0:02.0/0000:c2:00.0", "0x8086", "0x020000", "1", "5.0 GT/s PCIe", "8");
  add_device(sysfs, "pci0000:15/0000:15:02.0/0000:90:00.0", "0x10de", "0x068000", "0");
  fs::create_directories(fs::path(sysfs.path("bus/pci/devices/0000:1c:00.0/infiniband/mlx5_0")));
}

struct Environment {
  Environment(const char* of_name, const char* value) : name(of_name) { ::setenv(name, value, 1); }
  ~Environment() { ::unsetenv(name); }
  const char* name;
};

const PciDevice& at(const std::vector<PciDevice>& devices, std::string_view address) {
  for (const PciDevice& device : devices)
    if (device.address == address) return device;
  throw std::runtime_error("no " + std::string(address));
}

}  // namespace

TEST_CASE("the PCI tree tells what lies between two devices, and what their links carry") {
  TemporaryFolder sysfs;
  add_machine(sysfs);
  const std::vector<PciDevice> devices = pci_devices(sysfs.path(""));
  REQUIRE(devices.size() == 6);
  const PciDevice& near = at(devices, "0000:1b:00.0");
  const PciDevice& nic = at(devices, "0000:1c:00.0");
  const PciDevice& second = at(devices, "0000:43:00.0");
  const PciDevice& far = at(devices, "0000:c1:00.0");
  const PciDevice& far_nic = at(devices, "0000:c2:00.0");
  CHECK(near.is_nvidia_gpu());
  CHECK_FALSE(nic.is_nvidia_gpu());
  CHECK(nic.is_nic());
  CHECK(nic.interfaces == std::vector<std::string>{"mlx5_0"});
  CHECK(at(devices, "0000:90:00.0").is_nvswitch());

  CHECK(pci_path(near, nic) == "PIX");     // ports 19:00 and 19:01 of the switch 18
  CHECK(pci_path(near, second) == "PXB");  // over 17:00 and 17:01
  CHECK(pci_path(far, far_nic) == "PHB");  // ports of one root complex
  CHECK(pci_path(near, far) == "SYS");     // NUMA nodes 0 and 1
  CHECK(pci_path(far, near) == "SYS");
  PciDevice elsewhere = far;
  elsewhere.numa_node = 0;
  CHECK(pci_path(near, elsewhere) == "NODE");

  // The links have 16 lanes x 32 GT/s x 128/130 / 8 = 63.0 GB/s and 8 lanes x 5 GT/s x 8/10 / 8 = 4 GB/s.
  CHECK(near.link_bandwidth() == Approx(63.015e9).epsilon(1e-4));
  CHECK(far_nic.link_bandwidth() == Approx(4e9));
  CHECK(at(devices, "0000:90:00.0").link_bandwidth() == 0);  // not told
  CHECK(pci_devices(sysfs.path("nowhere")).empty());
}

TEST_CASE("facts of a machine: NVLinks by NVML, NICs and paths by the PCI tree") {
  TemporaryFolder sysfs;
  add_machine(sysfs);
  const Json facts = machine_facts({sysfs.path(""), kFakeNvml});
  CHECK(facts.at("driver") == "570.86.15");
  REQUIRE(facts.at("gpus").size() == 3);
  const Json& gpu = facts.at("gpus")[0];
  CHECK(gpu.at("name") == "Planted H100");
  CHECK(gpu.at("uuid") == "GPU-0");
  CHECK(gpu.at("pci") == "0000:1b:00.0");
  CHECK(gpu.at("numa_node") == 0);
  CHECK(gpu.at("pcie_generation") == 5);
  CHECK(gpu.at("pcie_bandwidth").get<double>() == Approx(63.015e9).epsilon(1e-4));
  CHECK(gpu.at("highest_clock_hz") == 1.98e9);
  CHECK(gpu.at("power_limit_w") == Approx(700));
  REQUIRE(gpu.at("nvlinks").size() == 2);
  CHECK(gpu.at("nvlinks")[1] ==
        Json{{"number", 1}, {"version", "4.0"}, {"remote", "switch"}, {"remote_pci", "0000:91:00.0"}});
  CHECK_FALSE(facts.at("gpus")[2].contains("nvlinks"));
  CHECK(facts.at("nvswitches") == 1);

  const Json& links = facts.at("topology").at("links");
  CHECK(links.at("GPU0-GPU1") == "NV2");
  CHECK(links.at("GPU0-GPU2") == "SYS");
  CHECK(links.at("GPU0-NIC0") == "PIX");
  CHECK(links.at("GPU1-NIC0") == "PXB");
  CHECK(links.at("GPU2-NIC1") == "PHB");
  CHECK(facts.at("topology").at("peers") == Json{{"GPU0-GPU1", "ok"},
                                                 {"GPU0-GPU2", "disabled in the registry"},
                                                 {"GPU1-GPU2", "disabled in the registry"}});
  CHECK(gpus_text(facts) == "3 x Planted H100");
  const std::string text = facts_text(facts);
  CHECK(
      text.find("GPU0: Planted H100, 0000:1b:00.0, NUMA node 0, PCIe 5 x16, 63.0 GB/s one way, 1980 MHz of 1980 MHz") !=
      std::string::npos);
  CHECK(text.find("2 NVLinks 4.0 to switch") != std::string::npos);
  CHECK(text.find("NIC0: mlx5_0, 0000:1c:00.0") != std::string::npos);
}

TEST_CASE("of every kind of link the first pair of devices is found, in whatever order the devices are") {
  TemporaryFolder sysfs;
  add_machine(sysfs);
  const Json facts = machine_facts({sysfs.path(""), kFakeNvml});
  using Pairs = std::vector<std::vector<std::string>>;
  const auto pairs = [&](const std::vector<std::string>& ids, const Json& of) {
    Pairs all;
    for (const LinkedPair& pair : pair_of_each_link(of, ids))
      all.push_back({std::to_string(pair.from), std::to_string(pair.to), pair.link});
    return all;
  };
  CHECK(pairs({"GPU-0", "GPU-1", "GPU-2"}, facts) == Pairs{{"0", "1", "NV2"}, {"0", "2", "SYS"}});
  CHECK(pairs({"GPU-2", "GPU-1", "GPU-0"}, facts) == Pairs{{"0", "1", "SYS"}, {"1", "2", "NV2"}});
  CHECK(pairs({"GPU-1"}, facts).empty());
  CHECK(pairs({}, facts).empty());
  // Devices that NVML does not know (a share of a GPU, say) are joined by something all the same.
  CHECK(pairs({"MIG-0", "GPU-1", "GPU-0"}, facts) == Pairs{{"0", "1", ""}, {"1", "2", "NV2"}});
  CHECK(pairs({"GPU-0", "GPU-1", "GPU-2"}, Json::object()) == Pairs{{"0", "1", ""}});
}

TEST_CASE("without NVML the PCI tree still says which GPUs there are, and why no more") {
  TemporaryFolder sysfs;
  add_machine(sysfs);
  const std::string missing = sysfs.path("libnvidia-ml.so.1");
  const Json facts = machine_facts({sysfs.path(""), missing});
  CHECK(facts.at("nvml") == "no " + missing);
  CHECK(facts.at("gpus").size() == 3);
  CHECK(facts.at("topology").at("links").at("GPU0-GPU1") == "PXB");
  CHECK(facts.at("topology").at("links").at("GPU0-GPU2") == "SYS");
  CHECK(gpus_text(facts) == "3 of NVIDIA on the PCI bus (no " + missing + ")");
  {
    const Environment failing("FAKE_NVML_INIT", "9");
    CHECK(machine_facts({sysfs.path(""), kFakeNvml}).at("nvml") == "NVML: Driver Not Loaded");
  }
  TemporaryFolder nothing;
  const Json none = machine_facts({nothing.path(""), missing});
  CHECK(none == Json::object());
  CHECK(gpus_text(none) == "no NVIDIA GPU");
}

TEST_CASE("a clock counts as low when something holds it down that would not do so in training") {
  std::string why;
  const auto library = nvml::Library::open(why, kFakeNvml);
  REQUIRE(library);
  const auto ratio = [&](const char* reasons, const std::string& uuid) {
    const Environment set("FAKE_NVML_REASONS", reasons);
    const nvml::Clock clock = library->clock(uuid);
    return device::ClockState{clock.now_hz, clock.highest_hz, clock.is_held_down, clock.reasons}.ratio();
  };
  // GPU 1 is at 990 of 1980 MHz.
  CHECK(ratio("0x0", "GPU-1") == 1);
  CHECK(ratio("0x1", "GPU-1") == 1);     // idle
  CHECK(ratio("0x4", "GPU-1") == 1);     // at its power cap, as in training
  CHECK(ratio("0x24", "GPU-1") == 0.5);  // and too hot
  CHECK(ratio("0x40", "GPU-1") == 0.5);
  CHECK(ratio("0x80", "GPU-1") == 0.5);
  CHECK(ratio("0x40", "GPU-0") == 1);  // 1980 of 1980
  CHECK(ratio("0x40", "GPU-9") == 1);  // not there
  // A part of GPU 1, by CUDA's name for it and by NVML's.
  CHECK(library->known_id("GPU-part") == "MIG-part");
  CHECK(library->known_id("GPU-1") == "GPU-1");
  CHECK(library->known_id("GPU-9") == "GPU-9");
  CHECK(ratio("0x40", "GPU-part") == 0.5);
  CHECK(ratio("0x40", "MIG-part") == 0.5);
  {
    const Environment set("FAKE_NVML_REASONS", "0x24");
    const nvml::Clock clock = library->clock("GPU-1");
    CHECK(clock.now_hz == 990e6);
    CHECK(clock.highest_hz == 1980e6);
    CHECK(clock.reasons == std::vector<std::string>{"power cap", "thermal, software"});
    CHECK(library->clock("GPU-9").now_hz == 0);
  }
  {
    const Environment hot("FAKE_NVML_REASONS", "0x44");
    CHECK(library->gpus()[0].clock_reasons == std::vector<std::string>{"power cap", "thermal, hardware"});
  }
  CHECK(nvml::Library::open(why, "libc.so.6") == nullptr);
  CHECK(why == "libc.so.6 is no NVML");
}
