#!/usr/bin/env bash
# Installs the C interface: install_ffi.sh BUILT PREFIX, where BUILT is the folder in which cargo put
# libsamplewire_c.so. What is installed finds itself and may be moved; DESTDIR is put before PREFIX.
set -euo pipefail
built=$(realpath "$1")
cd "$(dirname "$0")/.."
prefix=${DESTDIR:-}$(realpath -m "$2")
crate=crates/samplewire-ffi
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -1)
# The first number that is not zero is what may break programs; build.rs says the same.
soname=libsamplewire.so.0

install -d "$prefix/lib/pkgconfig" "$prefix/lib/cmake/samplewire" "$prefix/include"
install -m 644 $crate/include/samplewire.h $crate/include/samplewire.hpp "$prefix/include"
install -m 755 "$built/libsamplewire_c.so" "$prefix/lib/libsamplewire.so.$version"
install -m 644 "$built/libsamplewire_c.a" "$prefix/lib/libsamplewire.a"
ln -sf "libsamplewire.so.$version" "$prefix/lib/$soname"
ln -sf $soname "$prefix/lib/libsamplewire.so"
for template in samplewire.pc samplewire-config.cmake samplewire-config-version.cmake; do
    case $template in
    *.pc) to=$prefix/lib/pkgconfig ;;
    *) to=$prefix/lib/cmake/samplewire ;;
    esac
    sed "s/@VERSION@/$version/g" "$crate/pkg/$template.in" >"$to/$template"
    chmod 644 "$to/$template"
done
echo "installed samplewire $version for C and C++ in $prefix"
