// Sample formats by Soapy's names and by Samplewire's numbers, and channels apart and interleaved.
#pragma once

#include <samplewire.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace soapy_samplewire {

struct Format {
    const char *soapy;
    sw_format wire;
    /// Of one sample of one channel.
    std::size_t bytes;
    bool is_complex;
};

/// The format of a stream's number; throws for one that this version does not know.
const Format &format_of(std::uint32_t wire);

/// What a stream of `native` can be had as: all of its kind, complex or real.
std::vector<std::string> formats_for(const Format &native);

/// Of those the one called `name`; throws and names them where there is none.
const Format &format_called(const std::string &name, const Format &native);

/// Changes formats and takes channels apart or together, in pieces that stay in the cache.
class Shuffle {
  public:
    /// `picked` are the positions of the channels that a program has, in its order, among the
    /// `channels` on the wire.
    Shuffle(const Format &native, const Format &program, std::size_t channels,
            std::vector<std::size_t> picked);

    /// `count` samples of all channels at `wire`, into the program's buffers behind `offset`
    /// samples.
    void apart(const void *wire, std::size_t count, void *const *buffers, std::size_t offset);

    /// The other way. All channels must be picked.
    void together(const void *const *buffers, std::size_t offset, std::size_t count, void *wire);

    /// Whether a program can have the wire's memory itself.
    bool is_plain() const { return channels_ == 1 && native_.wire == program_.wire; }

  private:
    const Format &native_;
    const Format &program_;
    std::size_t channels_;
    std::vector<std::size_t> picked_;
    /// A piece of all channels in the program's format.
    std::vector<std::byte> piece_;
};

} // namespace soapy_samplewire
