#include "formats.hpp"

#include <SoapySDR/Formats.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

namespace soapy_samplewire {

namespace {

const std::array<Format, 7> FORMATS = {{
    {SOAPY_SDR_CF32, SW_FORMAT_FC32, 8, true},
    {SOAPY_SDR_CS16, SW_FORMAT_SC16, 4, true},
    {SOAPY_SDR_CS8, SW_FORMAT_SC8, 2, true},
    {SOAPY_SDR_CU8, SW_FORMAT_UC8, 2, true},
    {SOAPY_SDR_F32, SW_FORMAT_RF32, 4, false},
    {SOAPY_SDR_S16, SW_FORMAT_R16, 2, false},
    {SOAPY_SDR_S8, SW_FORMAT_R8, 1, false},
}};

/// Samples of all channels in a piece.
constexpr std::size_t PIECE_SAMPLES = 2048;

void convert(const void *from, const Format &from_format, std::size_t count, void *to,
             const Format &to_format) {
    if (from_format.wire == to_format.wire) {
        std::memcpy(to, from, count * to_format.bytes);
    } else if (sw_convert(from, from_format.wire, count, to, count * to_format.bytes,
                          to_format.wire) != SW_RESULT_OK) {
        throw std::logic_error(sw_last_error());
    }
}

/// Copies `count` values of `Bytes` bytes that stand `from_step` and `to_step` values apart.
template <std::size_t Bytes>
void stride(const std::byte *from, std::size_t from_step, std::byte *to, std::size_t to_step,
            std::size_t count) {
    for (std::size_t i = 0; i < count; i++) {
        std::memcpy(to + i * to_step * Bytes, from + i * from_step * Bytes, Bytes);
    }
}

void stride_of(std::size_t bytes, const std::byte *from, std::size_t from_step, std::byte *to,
               std::size_t to_step, std::size_t count) {
    switch (bytes) {
    case 1: return stride<1>(from, from_step, to, to_step, count);
    case 2: return stride<2>(from, from_step, to, to_step, count);
    case 4: return stride<4>(from, from_step, to, to_step, count);
    default: return stride<8>(from, from_step, to, to_step, count);
    }
}

} // namespace

const Format &format_of(std::uint32_t wire) {
    for (const Format &format : FORMATS) {
        if (format.wire == wire) {
            return format;
        }
    }
    throw std::runtime_error("the device's sample format " + std::to_string(wire) +
                             " is unknown to this version");
}

std::vector<std::string> formats_for(const Format &native) {
    std::vector<std::string> names;
    for (const Format &format : FORMATS) {
        if (format.is_complex == native.is_complex) {
            names.emplace_back(format.soapy);
        }
    }
    return names;
}

const Format &format_called(const std::string &name, const Format &native) {
    std::uint32_t wire = 0;
    const bool is_format = sw_format_parse(name.c_str(), &wire) == SW_RESULT_OK;
    std::string known;
    for (const Format &format : FORMATS) {
        if (format.is_complex == native.is_complex) {
            if (is_format && wire == format.wire) {
                return format;
            }
            known += std::string(known.empty() ? "" : ", ") + format.soapy;
        }
    }
    throw std::invalid_argument("format \"" + name + "\" is not offered: the device sends " +
                                native.soapy + ", which can be had as " + known);
}

Shuffle::Shuffle(const Format &native, const Format &program, std::size_t channels,
                 std::vector<std::size_t> picked)
    : native_(native), program_(program), channels_(channels), picked_(std::move(picked)),
      piece_(channels == 1 ? 0 : PIECE_SAMPLES * channels * program.bytes) {}

void Shuffle::apart(const void *wire, std::size_t count, void *const *buffers,
                    std::size_t offset) {
    const auto *from = static_cast<const std::byte *>(wire);
    if (channels_ == 1) {
        auto *to = static_cast<std::byte *>(buffers[0]) + offset * program_.bytes;
        return convert(from, native_, count, to, program_);
    }
    for (std::size_t done = 0; done < count;) {
        const std::size_t now = std::min(count - done, PIECE_SAMPLES);
        convert(from + done * channels_ * native_.bytes, native_, now * channels_, piece_.data(),
                program_);
        for (std::size_t i = 0; i < picked_.size(); i++) {
            auto *to = static_cast<std::byte *>(buffers[i]) + (offset + done) * program_.bytes;
            stride_of(program_.bytes, piece_.data() + picked_[i] * program_.bytes, channels_, to, 1,
                      now);
        }
        done += now;
    }
}

void Shuffle::together(const void *const *buffers, std::size_t offset, std::size_t count,
                       void *wire) {
    auto *to = static_cast<std::byte *>(wire);
    if (channels_ == 1) {
        const auto *from = static_cast<const std::byte *>(buffers[0]) + offset * program_.bytes;
        return convert(from, program_, count, to, native_);
    }
    for (std::size_t done = 0; done < count;) {
        const std::size_t now = std::min(count - done, PIECE_SAMPLES);
        for (std::size_t i = 0; i < picked_.size(); i++) {
            const auto *from =
                static_cast<const std::byte *>(buffers[i]) + (offset + done) * program_.bytes;
            stride_of(program_.bytes, from, 1, piece_.data() + picked_[i] * program_.bytes,
                      channels_, now);
        }
        convert(piece_.data(), program_, now * channels_, to + done * channels_ * native_.bytes,
                native_);
        done += now;
    }
}

} // namespace soapy_samplewire
