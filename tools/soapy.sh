#!/usr/bin/env bash
# The module for SoapySDR, built in out/soapy-PROFILE against what cargo has built:
#
#   tools/soapy.sh build BUILT            BUILT is the folder with libsamplewire_c.a, .../PROFILE
#   tools/soapy.sh test BUILT [--all]     and its tests; those through GNU Radio where that is there.
#                                         --all: also those that wait long
#   tools/soapy.sh install BUILT PREFIX   into PREFIX/lib/SoapySDR/modules0.8; DESTDIR goes before
set -euo pipefail
what=$1
built=$(realpath "$2")
cd "$(dirname "$0")/.."
folder=$PWD/out/soapy-$(basename "$built")
modules=lib/SoapySDR/modules0.8

configure() {
    local type=RelWithDebInfo
    [ "$(basename "$built")" != debug ] || type=Debug
    cmake -S soapy -B "$folder" -DCMAKE_BUILD_TYPE=$type -DSAMPLEWIRE_BUILT="$built" "$@" >/dev/null
    cmake --build "$folder" --parallel "$(nproc)" -- --quiet
}

case $what in
build) configure -DSAMPLEWIRE_TESTS=OFF ;;
test)
    configure -DSAMPLEWIRE_TESTS=ON
    slow=(--label-exclude slow)
    [ "${3:-}" != --all ] || slow=()
    ctest --test-dir "$folder" --parallel 4 --output-on-failure --no-label-summary "${slow[@]}"
    # Debian's GNU Radio is for Debian's Python.
    if /usr/bin/python3 -c 'from gnuradio import soapy' 2>/dev/null; then
        /usr/bin/python3 soapy/tests/gnuradio_flowgraphs.py "$built/samplewire" "$folder"
    else
        echo "skipped: GNU Radio through SoapySDR: the package gnuradio is not installed"
    fi
    ;;
install)
    prefix=${DESTDIR:-}$(realpath -m "$3")
    configure -DSAMPLEWIRE_TESTS=OFF
    install -d "$prefix/$modules"
    install -s -m 644 "$folder/libSoapySamplewire.so" "$prefix/$modules"
    echo "installed SoapySamplewire in $prefix/$modules"
    case $prefix in
    /usr | /usr/local) ;;
    *) echo "SoapySDR finds it with SOAPY_SDR_PLUGIN_PATH=$prefix/$modules" ;;
    esac
    ;;
*) echo "$what is none of build, test, install" >&2 && exit 2 ;;
esac
