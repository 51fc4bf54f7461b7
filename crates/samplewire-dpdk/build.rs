//! With the feature `dpdk`: compiles the shim with the flags of the installed DPDK, and links what it needs.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "dpdk")]
    dpdk::build();
}

#[cfg(feature = "dpdk")]
mod dpdk {
    use std::process::Command;

    pub(super) fn build() {
        println!("cargo::rerun-if-changed=shim/shim.c");
        for name in ["PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR"] {
            println!("cargo::rerun-if-env-changed={name}");
        }
        if let Err(reason) = try_build() {
            println!("cargo::error={reason}");
        }
    }

    fn try_build() -> Result<(), String> {
        pkg_config(&["--atleast-version=22.11"])?;
        let mut shim = cc::Build::new();
        shim.file("shim/shim.c").std("gnu11").warnings(true);
        // The crate of this name drops `-include` and `-march`, which DPDK's headers need.
        for flag in pkg_config(&["--cflags"])?.split_whitespace() {
            // Warnings in DPDK's own headers are not ours.
            match flag.strip_prefix("-I") {
                Some(folder) => shim.flag("-isystem").flag(folder),
                None => shim.flag(flag),
            };
        }
        shim.try_compile("samplewire_dpdk_shim").map_err(|error| error.to_string())?;
        let libraries = pkg_config(&["--libs"])?;
        for word in libraries.split_whitespace() {
            if let Some(folder) = word.strip_prefix("-L") {
                println!("cargo::rustc-link-search=native={folder}");
            }
            // Of some sixty. The drivers are loaded as EAL starts.
            if let Some(library) = word.strip_prefix("-l").filter(|it| NEEDED.contains(it)) {
                println!("cargo::rustc-link-lib=dylib={library}");
            }
        }
        Ok(())
    }

    /// Asks pkg-config about DPDK.
    fn pkg_config(arguments: &[&str]) -> Result<String, String> {
        let ran = Command::new("pkg-config").args(arguments).arg("libdpdk").output();
        let ran = ran.map_err(|error| format!("pkg-config: {error}: {ADVICE}"))?;
        if !ran.status.success() {
            return Err(format!("pkg-config finds no libdpdk of version 22.11 or later: {ADVICE}"));
        }
        String::from_utf8(ran.stdout).map_err(|error| error.to_string())
    }

    const ADVICE: &str = "the feature `dpdk` needs Debian's libdpdk-dev (tools/setup.sh dpdk)";

    const NEEDED: [&str; 5] = ["rte_eal", "rte_ethdev", "rte_mbuf", "rte_mempool", "rte_ring"];
}
