// Wrong arguments: each is an error that names it, and the device goes on.

#include "check.hpp"

namespace {

void device_is_made_or_says_why_not(const std::string &address) {
    check_throws("addr", [] { SoapySDR::Device::make("driver=samplewire,port=1"); });
    check_throws("no answer", [] { radio_at("127.0.0.1:9", ",timeout_ms=50"); });
    check_throws("port", [] { radio_at("127.0.0.1:99999"); });
    check_throws("window=0", [&] { radio_at(address, ",window=0"); });
    check_throws("sometimes", [&] { radio_at(address, ",delivery=sometimes"); });
    const auto found = SoapySDR::Device::enumerate("driver=samplewire,addr=" + address);
    CHECK_EQUAL(found.size(), 1U);
    CHECK(found[0].at("addr") == address);
    CHECK(SoapySDR::Device::enumerate("driver=samplewire,addr=127.0.0.1:9").empty());
    const std::string label = found[0].at("label");
    CHECK_EQUAL(SoapySDR::Device::enumerate(found[0]).size(), 1U);
    CHECK_EQUAL(SoapySDR::Device::enumerate("window=64,addr=" + address).size(), 1U);
    const std::string named = "driver=samplewire,addr=" + address + ",label=";
    CHECK_EQUAL(SoapySDR::Device::enumerate(named + label).size(), 1U);
    CHECK(SoapySDR::Device::enumerate(named + "another").empty());
    CHECK(SoapySDR::Device::enumerate("serial=17,addr=" + address).empty());
}

void what_there_is_not_is_named(SoapySDR::Device &radio) {
    check_throws("channel 7", [&] { radio.getSampleRate(SOAPY_SDR_RX, 7); });
    check_throws("channel 0", [&] { radio.getStreamFormats(SOAPY_SDR_TX, 0); });
    check_throws("direction 5", [&] { radio.getSampleRate(5, 0); });
    check_throws("2000000", [&] { radio.setSampleRate(SOAPY_SDR_RX, 0, 2e6); });
    check_throws("nan", [&] { radio.setSampleRate(SOAPY_SDR_RX, 0, 0.0 / 0.0); });
    radio.setSampleRate(SOAPY_SDR_RX, 0, 1e6);
    CHECK(radio.getSampleRate(SOAPY_SDR_RX, 0) == 1e6);
    check_throws("colour", [&] { radio.writeSetting("colour", "red"); });
    check_throws("12x", [&] { radio.writeSetting("window", "12x"); });
    check_throws("16777217", [&] { radio.writeSetting("window", "16777217"); });
    radio.writeSetting("window", "2048");
    CHECK(radio.readSetting("window") == "2048");
    check_throws("colour", [&] { radio.readSetting("colour"); });
    check_throws("did you mean \"window\"?", [&] { radio.writeSetting("widnow", "1"); });
    radio.writeSetting("timeout", "2s");
    CHECK(radio.readSetting("timeout_ms") == "2000" && radio.readSetting("timeout") == "2000");
    check_throws("timeout=soon: `soon`", [&] { radio.writeSetting("timeout", "soon"); });
    radio.writeSetting("delivery", "deadline:5ms");
    CHECK(radio.readSetting("delivery") == "deadline" && radio.readSetting("deadline_us") == "5000");
    radio.writeSetting("delivery", "complete");
    radio.writeSetting("deadline_us", "0");
    radio.writeSetting("mtu", "9000");
    CHECK(radio.readSetting("control") == "dcqcn" && radio.readSetting("control_rate") == "0");
    CHECK(radio.readSetting("link") == "udp");
    for (const char *name : {"auto", "xdp", "xdp-generic", "udp"}) {
        radio.writeSetting("link", name);
        CHECK(radio.readSetting("link") == name);
    }
    check_throws("link=raw is none of udp, auto, xdp, xdp-generic",
                 [&] { radio.writeSetting("link", "raw"); });
    CHECK(radio.readSetting("link") == "udp");
    CHECK(radio.readSetting("interface").empty());
    radio.writeSetting("interface", "eth1");
    CHECK(radio.readSetting("interface") == "eth1");
    radio.writeSetting("interface", "");
    CHECK(radio.readSetting("carriage") == "data" && radio.readSetting("verbs").empty());
    for (const char *name : {"rdma", "data"}) {
        radio.writeSetting("carriage", name);
        CHECK(radio.readSetting("carriage") == name);
    }
    check_throws("carriage=pigeon is none of data, rdma",
                 [&] { radio.writeSetting("carriage", "pigeon"); });
    CHECK(radio.readSetting("carriage") == "data");
    radio.writeSetting("verbs", "mlx5_0");
    CHECK(radio.readSetting("verbs") == "mlx5_0");
    radio.writeSetting("verbs", "");
    check_throws("control `cubic` is none of none, fixed, dcqcn",
                 [&] { radio.writeSetting("control", "cubic"); });
    check_throws("control_rate=1e6", [&] { radio.writeSetting("control_rate", "1e6"); });
    CHECK(radio.readSetting("control") == "dcqcn" && radio.readSetting("control_rate") == "0");
    check_throws("colour", [&] { radio.readSensor(SOAPY_SDR_RX, 0, "colour"); });
    CHECK(radio.readSensor(SOAPY_SDR_RX, 0, "received") == "0");
    check_throws("pps", [&] { radio.getHardwareTime("pps"); });
    check_throws("pps", [&] { radio.setHardwareTime(17, "pps"); });
}

void streams_are_set_up_as_they_can_be(SoapySDR::Device &radio) {
    const auto set_up = [&](const char *format, const std::vector<size_t> &channels,
                            const SoapySDR::Kwargs &args = {}) {
        return radio.setupStream(SOAPY_SDR_RX, format, channels, args);
    };
    check_throws("CS12", [&] { set_up("CS12", {0}); });
    check_throws("F32", [&] { set_up("F32", {0}); });
    for (const char *name : {"ci16_le", "sc16", "cf32", "fc32"}) {
        radio.closeStream(set_up(name, {0}));
    }
    check_throws("channel 2", [&] { set_up("CS16", {0, 2}); });
    check_throws("twice", [&] { set_up("CS16", {1, 1}); });
    check_throws("colour", [&] { set_up("CS16", {0}, {{"colour", "red"}}); });
    check_throws("WIRE=CS8", [&] { set_up("CS16", {0}, {{"WIRE", "CS8"}}); });
    check_throws("deadline_us", [&] { set_up("CS16", {0}, {{"delivery", "deadline"}}); });
    SoapySDR::Stream *stream = set_up("CS16", {0}, {{"WIRE", "CS16"}, {"window", "512"}});
    check_throws("set up already", [&] { set_up("CS16", {1}); });

    int flags = 0;
    long long time_ns = 0;
    std::vector<sc16> samples(100);
    void *buffers[] = {samples.data()};
    void *none[] = {nullptr};
    const auto read = [&](SoapySDR::Stream *from, void *const *to) {
        return radio.readStream(from, to, samples.size(), flags, time_ns, 1000);
    };
    CHECK_EQUAL(read(stream, buffers), SOAPY_SDR_TIMEOUT);
    CHECK_EQUAL(radio.activateStream(stream), 0);
    CHECK_EQUAL(read(stream, none), SOAPY_SDR_STREAM_ERROR);
    CHECK_EQUAL(read(stream, nullptr), SOAPY_SDR_STREAM_ERROR);
    CHECK_EQUAL(radio.writeStream(stream, buffers, 1, flags), SOAPY_SDR_NOT_SUPPORTED);
    size_t mask = 0;
    CHECK_EQUAL(radio.readStreamStatus(stream, mask, flags, time_ns), SOAPY_SDR_NOT_SUPPORTED);
    CHECK_EQUAL(radio.deactivateStream(stream), 0);
    CHECK_EQUAL(radio.deactivateStream(stream), 0);
    CHECK_EQUAL(read(stream, buffers), SOAPY_SDR_TIMEOUT);
    radio.closeStream(stream);
    CHECK_EQUAL(read(stream, buffers), SOAPY_SDR_STREAM_ERROR);
    CHECK_EQUAL(read(nullptr, buffers), SOAPY_SDR_STREAM_ERROR);
    CHECK_EQUAL(radio.activateStream(stream), SOAPY_SDR_STREAM_ERROR);
    radio.closeStream(stream);

    stream = set_up("CS16", {0}, {{"interface", "sw-none"}});
    CHECK_EQUAL(radio.activateStream(stream), SOAPY_SDR_STREAM_ERROR);
    radio.closeStream(stream);
    stream = set_up("CS16", {0}, {{"interface", "lo"}});
    CHECK_EQUAL(radio.activateStream(stream), 0);
    CHECK_EQUAL(radio.deactivateStream(stream), 0);
    radio.closeStream(stream);
}

} // namespace

int main() {
    const Emulated emulated(2, false);
    const std::string address = emulated.device->address();
    device_is_made_or_says_why_not(address);
    const Radio radio = radio_at(address);
    what_there_is_not_is_named(*radio);
    streams_are_set_up_as_they_can_be(*radio);
}
