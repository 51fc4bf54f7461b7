#include "stream.hpp"

namespace sw {

uint64_t cycle_ps(uint64_t line_gbps) {
  if (kIsWide) return 3103;
  return line_gbps > 10 ? 2560 : 6400;
}

WorldSpec base(const Options& options) {
  WorldSpec spec;
  spec.seed = options.seed;
  const uint64_t line_gbps = options.line_gbps ? options.line_gbps : kIsWide ? 100 : 10;
  spec.cycle_ps = cycle_ps(line_gbps);
  spec.line_bps = line_gbps * 1'000'000'000;
  spec.setup.secret[0] ^= options.seed;
  spec.setup.line_gbps = uint32_t(line_gbps);
  return spec;
}

bool start(World& world, uint64_t owner) {
  const uint64_t until = world.model().now_ns() + 5 * kSecond;
  world.open(owner);
  while (world.model().now_ns() < until && world.fault().empty()) {
    if (world.run(until, [&] { return world.standing() != SW_OPENING; }) &&
        world.standing() == SW_STREAMING)
      return true;
    if (world.standing() == SW_REFUSED) world.open(owner);
  }
  world.fail("no stream within 5 s: " + world.host_words());
  return false;
}

void finish(World& world) {
  world.driver().close();
  const uint64_t until = world.model().now_ns() + 20 * kSecond;
  world.run(until, [&] { return world.standing() != SW_STREAMING; });
  check_finished(world);
}

void check_finished(World& world) {
  if (world.standing() != SW_FINISHED) return world.fail("not finished: " + world.host_words());
  const std::string wrong = world.truth().compare(world.host(), world.counts());
  if (!wrong.empty()) world.fail(wrong);
  world.host_words();
}

}  // namespace sw
