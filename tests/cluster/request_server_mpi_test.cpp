#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/cluster/group.hpp>
#include <mgpu/cluster/request_server.hpp>

namespace mgpu::cluster {
namespace {

using Answers = std::vector<RequestServer::Answer>;

const auto kIdle = [] {};

TEST(RequestServerTest, EachRankGetsTheAnswerToItsRequest) {
  const Group world = Group::world();
  RequestServer server(world, [](int rank, const std::string& request) -> Answers {
    return {{rank, std::to_string(rank) + " said " + request}};
  });
  for (int i = 0; i < 20; ++i) {
    const std::string text = std::string(static_cast<std::size_t>(i * 1000), 'x');
    EXPECT_EQ(server.ask(text, kIdle), std::to_string(world.rank()) + " said " + text);
  }
  world.barrier();
}

TEST(RequestServerTest, AnAnswerMayComeAfterTheRequestsOfOthers) {
  const Group world = Group::world();
  std::map<int, std::string> asked;  // on rank 0
  RequestServer server(world, [&](int rank, const std::string& request) -> Answers {
    asked[rank] = request;
    Answers answers;
    if (static_cast<int>(asked.size()) < world.size()) return answers;
    std::string all;
    for (const auto& [from, text] : asked)
      all += text;
    for (const auto& [from, text] : asked)
      answers.push_back({from, all});
    asked.clear();
    return answers;
  });
  for (int round = 0; round < 10; ++round) {
    std::string expected;
    for (int rank = 0; rank < world.size(); ++rank)
      expected += std::to_string(rank * round) + ",";
    EXPECT_EQ(server.ask(std::to_string(world.rank() * round) + ",", kIdle), expected);
  }
  world.barrier();
}

TEST(RequestServerTest, Rank0LearnsThatItsHandlerFailed) {
  const Group world = Group::world();
  int num_asked = 0;  // on rank 0
  RequestServer server(world, [&](int /*rank*/, const std::string& /*request*/) -> Answers {
    if (++num_asked == world.size()) throw Error("the handler failed");
    return {};
  });
  class Enough : public Error {
  public:
    using Error::Error;
  };
  int polls = 0;
  const auto give_up = [&] {
    if (world.rank() != 0 && ++polls > 100) throw Enough("no answer");
  };
  EXPECT_THROW(server.ask("", give_up), Error);
  world.barrier();
}

}  // namespace
}  // namespace mgpu::cluster
