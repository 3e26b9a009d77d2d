#include "sim/collective/parameter_server.hpp"

#include <numeric>

#include "sim/collective/adam.hpp"
#include "sim/collective/best_scheme.hpp"
#include "sim/collective/one_bit.hpp"
#include "sim/collective/sufficient_factors.hpp"
#include "tests/catch.hpp"

using namespace lockstep::sim;

namespace {

using Bytes = std::vector<std::int64_t>;

std::int64_t sum(const Bytes& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

Bytes received_by_rank(const Plan& plan) {
  Bytes received(static_cast<std::size_t>(plan.ranks), 0);
  for (const Phase& phase : plan.phases)
    for (const Transfer& t : phase.transfers) received[static_cast<std::size_t>(t.dst)] += t.bytes * phase.rounds;
  return received;
}

}  // namespace

TEST_CASE("parameter server: key-value pairs go to servers in turn and add up to the layer") {
  // With 3 servers and pairs of 10, a layer of 25 gives pairs of 10, 10 and 5 to servers 0, 1 and 2. The next one, of
  // 32, continues at server 0 with 10, 10, 10 and 2, the last again on server 0. The next begins at server 1.
  ShardDealer dealer(3);
  CHECK(dealer.deal_pairs(25, 10) == Bytes{10, 10, 5});
  CHECK(dealer.deal_pairs(32, 10) == Bytes{12, 10, 10});
  CHECK(dealer.deal_tensor(100) == Bytes{0, 100, 0});
  CHECK(dealer.deal_tensor(7) == Bytes{0, 0, 7});
}

TEST_CASE("parameter server: every gradient reaches every server once, whoever serves") {
  for (int workers : {1, 2, 3, 4, 8, 16})
    for (int of_node : {1, 2, 4}) {
      if (workers > of_node && workers % of_node != 0) continue;
      for (int servers : {0, 1, 2, 3}) {
        const bool separate = servers == 3;
        const Roles roles =
            separate ? separate_servers(workers, of_node, servers) : co_located_servers(workers, of_node, servers);
        INFO(workers << " workers in nodes of " << of_node << ", " << servers << (separate ? " separate" : ""));
        REQUIRE(roles.workers == workers);
        ShardDealer dealer(static_cast<int>(roles.servers.size()));
        const Bytes shares = dealer.deal_pairs(1'000'003, 1000);
        REQUIRE(sum(shares) == 1'000'003);
        const Plan push = push_gradients(roles, shares);
        const Bytes received = received_by_rank(push);
        // Per leader, a server gets one share: it receives it, or the share stays on the leader that is that server. A
        // leader also receives whole gradients of its node's other workers.
        for (std::size_t s = 0; s < roles.servers.size(); ++s) {
          const int rank = roles.servers[s];
          std::int64_t applied = received[static_cast<std::size_t>(rank)];
          for (int node = 0; node < roles.nodes(); ++node)
            if (roles.leader(node) == rank) applied += shares[s] - 1'000'003 * (roles.workers_of_node(node) - 1);
          CHECK(applied == shares[s] * roles.nodes());
        }
        for (const Phase& phase : push.phases)
          for (const Transfer& t : phase.transfers) CHECK(t.reduces);
        // The pull is the reverse of the push.
        const Plan pull = pull_parameters(roles, shares);
        CHECK(pull.bytes_sent_by_rank() == received);
        CHECK(received_by_rank(pull) == push.bytes_sent_by_rank());
      }
    }
}

TEST_CASE("parameter server worked by hand: 4 workers in 2 nodes and 2 servers of their own") {
  // Nodes have 2 GPUs. Workers are 0 1 | 2 3; servers are the first GPUs of the next nodes, 4 and 6; GPUs 5 and 7 are
  // idle.
  const Roles roles = separate_servers(4, 2, 2);
  CHECK(roles.ranks == 8);
  CHECK(roles.servers == std::vector<int>{4, 6});
  // 30 bytes, 20 of them on the first server. 1 and 3 send 30 to 0 and 2, which send 20 to 4 and 10 to 6.
  const Plan push = push_gradients(roles, {20, 10});
  REQUIRE(push.phases.size() == 2);
  CHECK(push.bytes_sent_by_rank() == Bytes{30, 30, 30, 30, 0, 0, 0, 0});
  CHECK(received_by_rank(push) == Bytes{30, 0, 30, 0, 40, 0, 20, 0});
  CHECK(push.messages() == 2 + 4);
}

TEST_CASE("parameter server: co-located servers are as balanced as the pairs") {
  // 4 workers, each with a server; 8 pairs of 100: two on every server. A node pushes 3/4 of 800 bytes and receives 200
  // from each of 3 others.
  const Roles roles = co_located_servers(4, 1, 0);
  const Plan push = push_gradients(roles, ShardDealer(4).deal_pairs(800, 100));
  CHECK(push.bytes_sent_by_rank() == Bytes(4, 600));
  CHECK(received_by_rank(push) == Bytes(4, 600));
  // If the whole tensor is on one server, 3 x 800 bytes arrive there.
  const Plan tensor = push_gradients(roles, ShardDealer(4).deal_tensor(800));
  CHECK(received_by_rank(tensor) == Bytes{2400, 0, 0, 0});
}

TEST_CASE("sufficient factors worked by hand: three workers of one layer") {
  // K = 2 samples, I = 3, O = 5: each worker sends 2 (3 + 5) numbers of 4 bytes, 64 bytes, to each of 2 others.
  // Multiplying the factors of the 2 others takes 2 x 3 x 5 x 2 x 2 = 120 FLOP.
  CHECK(factor_bytes(2, 3, 5, 4) == 64);
  CHECK(reconstruction_flop(2, 3, 5, 3) == 120);
  const Plan plan = broadcast_factors(co_located_servers(3, 1, 0), 64);
  REQUIRE(plan.phases.size() == 1);
  CHECK(plan.bytes_sent_by_rank() == Bytes(3, 128));
  CHECK(received_by_rank(plan) == Bytes(3, 128));
}

TEST_CASE("sufficient factors: every worker of every node ends with those of all others") {
  // Nodes 0 1 | 2 3, 10 bytes each. 1 -> 0 and 3 -> 2 send 10. 0 and 2 exchange 20. Each sends its worker the 30 of the
  // three others.
  const Plan plan = broadcast_factors(co_located_servers(4, 2, 0), 10);
  REQUIRE(plan.phases.size() == 3);
  CHECK(received_by_rank(plan) == Bytes{10 + 20, 30, 10 + 20, 30});
}

TEST_CASE("Adam: the owner's load grows with the workers, the others' does not") {
  // Factors have 10 bytes and the matrix 100. The owner is server 1. It receives 10 from each of P - 1 others, and
  // sends 100 to each.
  for (int workers : {2, 4, 8}) {
    const Roles roles = co_located_servers(workers, 1, 0);
    Bytes matrix(static_cast<std::size_t>(workers), 0);
    matrix[1] = 100;
    CHECK(received_by_rank(push_factors(roles, 10, 1))[1] == 10 * (workers - 1));
    const Bytes sent = pull_parameters(roles, matrix).bytes_sent_by_rank();
    CHECK(sent[1] == 100 * (workers - 1));
    CHECK(sum(sent) == sent[1]);
  }
}

TEST_CASE("1 bit: an element takes a bit and a column two means") {
  // 10 elements in 2 columns: 2 bytes of bits (10 rounded up to 16) and 2 x 2 x 4 of means.
  CHECK(one_bit_bytes(10, 2) == 18);
  // A large matrix shrinks by nearly 32.
  CHECK(4.0 * 25088 * 4096 / static_cast<double>(one_bit_bytes(25088 * 4096, 4096)) > 31.9);
  // 5 passes of 4 bytes, and the bits. The owner has 2 more passes per worker. The way back has 1 pass and the bits.
  CHECK(quantise_memory_bytes(80) == 5 * 320 + 10);
  CHECK(serve_quantised_memory_bytes(80, 3) == 2 * 3 * 320 + 5 * 320 + 10);
  CHECK(dequantise_memory_bytes(80) == 320 + 10);
}

TEST_CASE("the better scheme by Poseidon's Table 1") {
  // The paper's example is 4096 x 4096, K = 32, 8 workers and servers. Server: 2 x 4096^2 x 14 / 8 = 58.7 M numbers;
  // factors: 2 x 32 x 7 x 8192 = 3.67 M; Adam's owner: 7 x (4096^2 + 32 x 8192) = 119.3 M.
  const SchemeCost cost = scheme_cost(4096, 4096, 32, 8, 8);
  CHECK(cost.server == Approx(58.72e6).epsilon(1e-3));
  CHECK(cost.factors == Approx(3.67e6).epsilon(1e-3));
  CHECK(cost.adam == Approx(119.28e6).epsilon(1e-3));
  CHECK(cost.takes_factors());
  // GoogLeNet's 1024 x 1000 at a batch of 128 on 16 nodes needs 3.84 M numbers by server, 7.77 M by factors.
  CHECK(!scheme_cost(1024, 1000, 128, 16, 16).takes_factors());
}

TEST_CASE("the counts of Table 1 are what the plans carry") {
  // A node is both worker and server. Sent and received numbers of 4 bytes are added: push and pull of M N over P
  // servers, and factors to and from P - 1 others.
  const int p = 8, m = 4096, n = 1024, k = 32;
  const Roles roles = co_located_servers(p, 1, 0);
  const Bytes shares = ShardDealer(p).deal_pairs(std::int64_t{4} * m * n, 4096);
  const Plan push = push_gradients(roles, shares), pull = pull_parameters(roles, shares);
  const SchemeCost cost = scheme_cost(m, n, k, p, p);
  const std::int64_t by_server = push.bytes_sent_by_rank()[3] + received_by_rank(push)[3] +
                                 pull.bytes_sent_by_rank()[3] + received_by_rank(pull)[3];
  CHECK(static_cast<double>(by_server) / 4 == cost.server);
  const Plan factors = broadcast_factors(roles, factor_bytes(k, m, n, 4));
  CHECK(static_cast<double>(factors.bytes_sent_by_rank()[3] + received_by_rank(factors)[3]) / 4 == cost.factors);
}
