#!/usr/bin/env bash
# Makes sure that what the given parts need is there, and says what it installs and why.
#
#   tools/setup.sh PART...    of: linker, tshark, valgrind, instructions, python, package, notebooks,
#                             picture, cross, dpdk, firmware, rtl, deny, fuzz, futuresdr, gnuradio,
#                             mutants, namespaces, nightly, prometheus, roce, soapy, web, wire
#
# Only apt needs root. A part that cannot be installed is reported, and set-up goes on. Steps that
# need the part then fail, or report that they skip. Only Rust itself is required.
set -euo pipefail
cd "$(dirname "$0")/.."
# Words are printed by us and by apt in one language.
export LC_ALL=C.UTF-8

say() { printf 'set-up: %s\n' "$*"; }

# Runs a command as root, without a password prompt if there is no terminal.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null && [ -t 0 ]; then
        sudo "$@"
    elif command -v sudo >/dev/null; then
        sudo -n "$@"
    else
        return 1
    fi
}

# install_apt PACKAGE WHY
install_apt() {
    if ! command -v apt-get >/dev/null; then
        say "missing: $1 ($2); there is no apt-get here, install it by hand"
        return 0
    fi
    say "installing the package $1: $2"
    local get=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -y)
    # Lists may be absent or old; a package that installs without an update needs none.
    if as_root "${get[@]}" --no-install-recommends install "$1" >/dev/null 2>&1; then return 0; fi
    if as_root "${get[@]}" update >/dev/null 2>&1 &&
        as_root "${get[@]}" --no-install-recommends install "$1" >/dev/null; then return 0; fi
    say "missing: $1 ($2); it needs root: apt-get install $1"
}

rust() {
    if ! command -v cargo >/dev/null; then
        say "Rust is required and there is no cargo on PATH"
        exit 1
    fi
    # rustup's minimal profile leaves them out.
    local component
    for component in fmt clippy; do
        if ! cargo "$component" --version >/dev/null 2>&1; then
            say "installing cargo $component: it checks the source"
            rustup component add "${component/#fmt/rustfmt}" || say "missing: cargo $component"
        fi
    done
}

linker() {
    command -v cc >/dev/null || install_apt build-essential "rustc links with cc"
}

valgrind_() {
    command -v valgrind >/dev/null || install_apt valgrind "tests run programs in C under it, and count instructions"
}

# The compiler whose instructions are counted, with a libc of its own.
instructions() {
    local check=(python3 bench/instructions/instructions.py --can-run) version target why
    "${check[@]}" >/dev/null && return 0
    version=$(sed -n 's/^TOOLCHAIN = "\(.*\)"/\1/p' "${check[1]}")
    target=$(sed -n 's/^TARGET = "\(.*\)"/\1/p' "${check[1]}")
    if command -v rustup >/dev/null; then
        local toolchain=()
        case $(rustc --version) in
            "rustc $version "*) ;;
            *) toolchain=(--toolchain "$version") ;;
        esac
        say "installing Rust $version with its library for $target: instructions are counted with it"
        { [ "${#toolchain[@]}" = 0 ] ||
            rustup toolchain install "$version" --profile minimal >/dev/null 2>&1; } &&
            rustup target add "$target" "${toolchain[@]}" >/dev/null 2>&1
    fi
    why=$("${check[@]}") || say "missing: $why; instructions are not counted"
}

tshark_() {
    command -v tshark >/dev/null || install_apt tshark "tests read captures with it"
}

# venv REQUIREMENTS STAMP: installs what the file lists into .venv, once for each of its versions
venv() {
    local stamp=.venv/$2
    if cmp -s "$1" "$stamp"; then return 0; fi
    if ! command -v python3 >/dev/null; then
        install_apt python3 "checks are written in it"
        command -v python3 >/dev/null || return 0
    fi
    say "installing into .venv: $(grep -v '^#' "$1" | paste -sd' ')"
    if ! python3 -c 'import ensurepip' 2>/dev/null; then
        install_apt python3-venv "Debian's Python makes no virtual environment without it"
    fi
    if python3 -m venv .venv && .venv/bin/pip install -q --disable-pip-version-check -r "$1"; then
        cp "$1" "$stamp"
    else
        say "missing: the Python packages of $1; what needs them is skipped, or fails and says so"
    fi
}

python() {
    venv tools/requirements.txt requirements.txt
}

# What builds the Python package, and checks it.
package() {
    venv python/requirements.txt package-requirements.txt
}

# What reads the terminal of the demonstration.
picture() {
    venv tools/picture-requirements.txt picture-requirements.txt
}

# What executes the tutorial's notebooks.
notebooks() {
    venv python/notebooks/requirements.txt notebooks-requirements.txt
}

# Other processors: one with an operating system, whose tests QEMU runs, and one with none.
cross() {
    local target
    for target in aarch64-unknown-linux-gnu thumbv7em-none-eabihf; do
        if [ -d "$(rustc --print sysroot)/lib/rustlib/$target" ]; then continue; fi
        say "installing Rust's library for $target: the code is compiled for it"
        rustup target add "$target" >/dev/null 2>&1 || say "missing: Rust's library for $target"
    done
    command -v aarch64-linux-gnu-gcc >/dev/null ||
        install_apt gcc-aarch64-linux-gnu "tests for aarch64 are linked with it"
    # The compiler alone makes the folder.
    [ -e /usr/aarch64-linux-gnu/lib/crti.o ] ||
        install_apt libc6-dev-arm64-cross "tests for aarch64 are linked with it"
    command -v qemu-aarch64 >/dev/null || install_apt qemu-user "runs tests for aarch64"
}

# Rust's library for the NIC's soft processors.
firmware() {
    local target=riscv32im-unknown-none-elf
    [ -d "$(rustc --print sysroot)/lib/rustlib/$target" ] && return 0
    say "installing Rust's library for $target: the firmware is built with it"
    rustup target add "$target" >/dev/null 2>&1 ||
        say "missing: Rust's library for $target; the firmware is not built"
}

rtl() {
    # Verilator writes C++, and its wrapper is in Perl.
    command -v c++ >/dev/null || install_apt build-essential "Verilator's models are C++"
    command -v make >/dev/null || install_apt make "Verilator's models are built with it"
    command -v perl >/dev/null || install_apt perl "Verilator is started by it"
    python3 -c 'import tkinter' 2>/dev/null || install_apt python3-tk "Vivado's scripts run in its Tcl"
    command -v iverilog >/dev/null || install_apt iverilog "the RTL is compiled and replayed in it"
    venv rtl/requirements.txt rtl-requirements.txt
}

# cargo_tool CRATE VERSION WHY
cargo_tool() {
    local have
    have=$(sed -n "s/^\"$1 \([0-9.]*\) .*/\1/p" .tools/.crates.toml 2>/dev/null || true)
    if [ "$have" = "$2" ]; then return 0; fi
    say "building $1 $2 into .tools, once, some minutes: $3"
    cargo install -q --locked --root .tools --version "$2" "$1" || say "missing: $1"
}

deny() {
    cargo_tool cargo-deny 0.20.2 "licences, banned crates and sources"
}

mutants() {
    cargo_tool cargo-mutants 27.1.0 "lists the mutants of the engine"
}

# Rust's nightly, for Miri, ThreadSanitizer and the instrumentation of libFuzzer.
nightly() {
    if cargo +nightly miri --version >/dev/null 2>&1 &&
        [ -d "$(rustc +nightly --print sysroot)/lib/rustlib/src/rust/library" ]; then
        return 0
    fi
    if ! command -v rustup >/dev/null; then
        say "missing: Rust's nightly with miri and rust-src; there is no rustup here"
        return 0
    fi
    say "installing Rust's nightly with miri and rust-src: they check threads and unsafe code"
    rustup toolchain install nightly --profile minimal --component miri,rust-src >/dev/null 2>&1 ||
        say "missing: Rust's nightly with miri and rust-src; what needs them is skipped"
}

fuzz() {
    nightly
    cargo_tool cargo-fuzz 0.13.2 "runs the fuzz targets"
    command -v c++ >/dev/null || install_apt build-essential "libFuzzer is C++"
}

# Network namespaces, for tests that send raw packets.
namespaces() {
    command -v tc >/dev/null || install_apt iproute2 "makes network namespaces and loses packets"
    command -v ethtool >/dev/null || install_apt ethtool "switches offloads of devices"
    command -v dnsmasq >/dev/null || install_apt dnsmasq-base "gives a board's processor an address"
}

# DPDK with its drivers: some 200 small packages.
dpdk() {
    namespaces
    command -v cc >/dev/null || install_apt build-essential "a shim over DPDK is C"
    command -v pkg-config >/dev/null || install_apt pkg-config "says where DPDK is"
    command -v ping >/dev/null || install_apt iputils-ping "tests ping an address of ours"
    pkg-config --exists libdpdk 2>/dev/null ||
        install_apt libdpdk-dev "the link over DPDK is built with it"
}

# A guest whose kernel has Soft-RoCE: Debian's packages, unpacked into .tools.
roce() {
    namespaces
    command -v qemu-system-x86_64 >/dev/null ||
        install_apt qemu-system-x86 "runs a guest, whose kernel has Soft-RoCE"
    local check=(python3 tools/guest/packages.py) why
    "${check[@]}" --can-run >/dev/null && return 0
    say "unpacking Debian's kernel and verbs into .tools/guest, once: a guest runs them"
    why=$("${check[@]}") || say "missing: $why; what needs a guest is skipped"
}

# The same, and peers for them.
wire() {
    namespaces
    command -v clang >/dev/null || install_apt clang "compiles the XDP program that loses packets"
    command -v iperf3 >/dev/null || install_apt iperf3 "TCP to compare with"
    command -v srt-file-transmit >/dev/null || install_apt srt-tools "SRT to compare with"
    [ -e /usr/include/uuid/uuid.h ] || install_apt uuid-dev "Aeron is built with it"
    [ -e /usr/include/bsd/bsd.h ] || install_apt libbsd-dev "Aeron is built with it"
    venv bench/requirements.txt bench-requirements.txt
}

# A browser, and what drives it.
web() {
    command -v chromium >/dev/null || install_apt chromium "the web page is tested in it"
    venv tools/web-requirements.txt web-requirements.txt
    cmp -s tools/web/package.json .tools/web/package.json && [ -d .tools/web/node_modules ] && return 0
    command -v npm >/dev/null || install_apt npm "installs what checks the scripts of the page"
    command -v npm >/dev/null || return 0
    say "installing TypeScript and ESLint into .tools/web: they check the scripts of the page"
    mkdir -p .tools/web
    cp tools/web/package.json .tools/web
    npm install --silent --no-audit --no-fund --prefix .tools/web >/dev/null 2>&1 ||
        say "missing: TypeScript and ESLint; the scripts of the page are not checked"
}

# A server that reads metrics: Debian's package, unpacked. Installed it would start, and listen.
prometheus() {
    python3 tools/prometheus/check.py --can-run >/dev/null && return 0
    say "unpacking Debian's prometheus into .tools/prometheus: it evaluates the queries and alerts"
    local folder=.tools/prometheus get=(apt-get -qq)
    mkdir -p $folder
    # apt drops its rights for a download only where others can write.
    chmod 777 $folder
    { (cd $folder && "${get[@]}" download prometheus) ||
        { as_root "${get[@]}" update && (cd $folder && "${get[@]}" download prometheus); }; } >/dev/null 2>&1 &&
        dpkg -x $folder/prometheus_*.deb $folder ||
        say "missing: prometheus; queries and alerts are not evaluated"
    chmod 755 $folder
    rm -f $folder/*.deb
}

# A runtime to compare with.
gnuradio() {
    command -v g++ >/dev/null || install_apt build-essential "a chain in GNU Radio is C++"
    command -v pkg-config >/dev/null || install_apt pkg-config "says where GNU Radio is"
    pkg-config --exists gnuradio-blocks 2>/dev/null ||
        install_apt gnuradio-dev "a runtime to compare with"
}

# The same; nothing to do if rustup installs a folder's toolchain automatically.
futuresdr() {
    local folder=bench/peers/futuresdr
    (cd $folder && cargo --version >/dev/null 2>&1) && return 0
    if ! command -v rustup >/dev/null; then
        say "missing: the nightly that FutureSDR is built with; there is no rustup here"
        return 0
    fi
    local channel
    channel=$(sed -n 's/^channel = "\(.*\)"/\1/p' $folder/rust-toolchain.toml)
    say "installing Rust's $channel: FutureSDR, a runtime to compare with, is built with it"
    rustup toolchain install "$channel" --profile minimal >/dev/null 2>&1 ||
        say "missing: Rust's $channel; FutureSDR is left out"
}

# What the module for SoapySDR is built with, and is tried by.
soapy() {
    command -v c++ >/dev/null || install_apt build-essential "the module for SoapySDR is C++"
    command -v cmake >/dev/null || install_apt cmake "SoapySDR's modules are built with it"
    [ -e /usr/include/SoapySDR/Device.hpp ] ||
        install_apt libsoapysdr-dev "the module for SoapySDR is built with it"
    command -v SoapySDRUtil >/dev/null || install_apt soapysdr-tools "finds and probes devices"
}

rust
for part in "$@"; do
    case $part in
        linker | instructions | python | package | notebooks | picture) "$part" ;;
        cross | dpdk | firmware | rtl | deny | fuzz | futuresdr | gnuradio | mutants) "$part" ;;
        namespaces | nightly | prometheus | roce | soapy | web | wire) "$part" ;;
        tshark) tshark_ ;;
        valgrind) valgrind_ ;;
        *) say "no part is called $part" && exit 2 ;;
    esac
done
