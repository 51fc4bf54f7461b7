# Every target sets up what it needs and says what it installs. `make help` lists them.

PYTHON ?= python3
MINUTES ?= 10
KILLS ?= 100
FLOOD_SECONDS ?= 60
SAMPLES ?= 100000000
PREFIX ?= /usr/local
TARGET_DIR = cargo metadata --no-deps --format-version 1 | $(PYTHON) -c \
    'import json, sys; print(json.load(sys.stdin)["target_directory"])'

.DEFAULT_GOAL := help
.PHONY: help demo picture board test instructions wheel notebooks rtl rtl-full synth lint bench wire fuzz concurrency soak
.PHONY: firmware rates firmware-check nic-bench arm attacks incast incast-roce roce mutants rtl-mutants soak-python kills doc link bench-soapy web-bench install-ffi install-soapy clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST)

demo: ## a device and a receiver in one command over loopback, with faults, for some seconds
	@tools/setup.sh linker
	cargo run --locked --profile demo -p samplewire-cli --no-default-features -- demo

picture: ## docs/demo.svg, drawn from a run of the demonstration
	@tools/setup.sh linker python picture
	cargo build --locked --profile demo -p samplewire-cli --no-default-features
	.venv/bin/python tools/demo_picture.py "$$($(TARGET_DIR))/demo/samplewire"

board: ## the RTL as a board on a TAP device until Ctrl-C; BOARD="--loss 0.01" gives it options
	@tools/setup.sh linker rtl
	@tools/board.sh $(BOARD)

test: ## everything that must hold, and what was skipped
	@tools/setup.sh linker
	@tools/test.sh --set-up tshark valgrind instructions python package cross firmware rtl namespaces dpdk roce nightly soapy web prometheus

instructions: ## instructions for each packet, block and opening; writes bench/instructions/table.md
	@tools/setup.sh linker valgrind instructions
	$(PYTHON) bench/instructions/instructions.py

wheel: ## the Python package, for every Python from 3.10 on; writes out/wheels
	@tools/setup.sh linker package
	.venv/bin/maturin build --release --manifest-path python/Cargo.toml --out out/wheels

notebooks: ## executes the tutorial's notebooks in Jupyter and keeps their outputs, a minute
	@tools/setup.sh linker python package notebooks
	@tools/package.sh python/notebooks/execute.py

soak-python: ## receiving and sending in Python for MINUTES (10), with no memory or thread left behind
	@tools/setup.sh linker package
	@tools/package.sh bench/soak_python.py --minutes $(MINUTES)

rtl: ## the part of test that is about the RTL
	@tools/setup.sh linker python rtl
	@tools/rtl.sh

rtl-full: ## the RTL's long matrix and proofs, hours
	@tools/setup.sh linker python rtl namespaces tshark
	@tools/rtl.sh --full

synth: ## the RTL's area, about half an hour; writes rtl/syn/area.md
	@tools/setup.sh rtl
	.venv/bin/python rtl/syn/synth.py

firmware: ## the programs of the NIC's processors; writes out/firmware
	@tools/setup.sh firmware
	@tools/firmware.sh

firmware-check: firmware ## the same on simulated processors: what they answer, and in how many cycles
	@tools/setup.sh python rtl
	@for cores in 1 2; do \
		$(MAKE) --silent --no-print-directory -f rtl/sim/Makefile CORES=$$cores nic_soc_frames && \
		.venv/bin/python firmware/nic/check.py $$cores || exit 1; done

nic-bench: firmware ## the simulated NIC with soft cores beside the figures of NIC_1.2, some minutes; writes docs/nic.md
	@tools/setup.sh python rtl
	.venv/bin/python bench/nic.py --write

lint: ## rustfmt, clippy, ruff, and the dependencies' licences, bans and advisories
	@tools/setup.sh linker python package deny rtl web
	@tools/lint.sh

web-bench: ## what the web page costs, paired with the same command without it, some minutes
	@tools/setup.sh linker web
	cargo build --release -p samplewire-cli -p samplewire-web --bins --examples
	.venv/bin/python tools/web/check.py --alone "$$($(TARGET_DIR))/release/examples/virtual_stream"
	$(PYTHON) bench/web.py "$$($(TARGET_DIR))/release"

bench: ## throughput against raw UDP, the runtime against FutureSDR and GNU Radio, some minutes
	@tools/setup.sh linker gnuradio futuresdr
	$(PYTHON) bench/run.py
	$(PYTHON) bench/runtime.py

wire: ## throughput over a wire that loses packets, against TCP, SRT, QUIC and Aeron; root, some minutes
	@tools/setup.sh linker wire
	$(PYTHON) bench/wire.py

rates: ## the sample rates that hold, by UDP and AF_XDP, beside UHD's; root, an hour or two
	@tools/setup.sh linker namespaces
	$(PYTHON) bench/rates.py

fuzz: ## each fuzz target for FUZZ_SECONDS (60)
	@tools/setup.sh linker fuzz
	@tools/fuzz.sh

mutants: ## which share of 200 mutants of the engine its tests catch, an hour or two; MUTANTS="--resume"
	@tools/setup.sh linker mutants
	$(PYTHON) tools/mutants.py $(MUTANTS)

rtl-mutants: ## which share of 200 mutants of the RTL proofs and cocotb tests catch, hours; MUTANTS="--resume"
	@tools/setup.sh linker python rtl
	.venv/bin/python rtl/mutants.py $(MUTANTS)

arm: ## kernels, pools and protocol on aarch64 in QEMU, minutes
	@tools/setup.sh linker cross
	@tools/arm.sh

concurrency: ## loom, Miri and ThreadSanitizer on all that threads share, some minutes
	@tools/setup.sh linker nightly
	@tools/concurrency.sh

soak: ## the simulator on all cores for MINUTES (10), or until HOSTILE packets; every index accounted for
	@tools/setup.sh linker
	cargo run --quiet --release -p samplewire-cli -- sim soak \
	    $(if $(HOSTILE),--hostile $(HOSTILE),--duration $(MINUTES)min)

incast: ## congestion control: the cases of tools/incast.py simulated, then devices and a board on one switch; root
	@tools/setup.sh linker rtl
	cargo build --release -p samplewire-cli
	$(PYTHON) tools/incast.py "$$($(TARGET_DIR))/release/samplewire"
	$(PYTHON) bench/incast.py "$$($(TARGET_DIR))/release/samplewire"
	$(PYTHON) bench/incast.py "$$($(TARGET_DIR))/release/samplewire" --devices 16 --jain 0.97
	$(PYTHON) bench/incast.py "$$($(TARGET_DIR))/release/samplewire" --roce
	$(PYTHON) bench/incast.py "$$($(TARGET_DIR))/release/samplewire" --roce --proxy-cnp
	$(PYTHON) bench/incast.py "$$($(TARGET_DIR))/release/samplewire" --roce --devices 16 --jain 0.97
	make -f rtl/sim/Makefile W=64 board
	$(PYTHON) bench/incast.py "$$($(TARGET_DIR))/release/samplewire" --devices 2 --boards 1 --slow 200 --seconds 40
	make -f rtl/sim/Makefile CARRIAGE=rdma board
	$(PYTHON) bench/incast.py "$$($(TARGET_DIR))/release/samplewire" --roce --devices 2 --boards 1 --slow 200 --seconds 40 --jain 0.95

attacks: ## raw packets against a device and a receiver, with a flood of FLOOD_SECONDS (60); root
	@tools/setup.sh linker namespaces
	cargo build --release -p samplewire-cli
	$(PYTHON) tools/attacks/check.py "$$($(TARGET_DIR))/release/samplewire" --flood $(FLOOD_SECONDS)

roce: ## a guest in QEMU whose kernel has Soft-RoCE, behind samplewire switch; root, minutes; ROCE="--short"
	@tools/setup.sh linker roce
	cargo build --release -p samplewire-cli
	$(PYTHON) tools/guest/check.py "$$($(TARGET_DIR))/release/samplewire" $(ROCE)

incast-roce: ## RoCE senders share the port of a guest, which has Soft-RoCE, in slow motion; root
	@tools/setup.sh linker roce
	cargo build --release -p samplewire-cli
	$(PYTHON) bench/incast_roce.py "$$($(TARGET_DIR))/release/samplewire"
	$(PYTHON) bench/incast_roce.py "$$($(TARGET_DIR))/release/samplewire" --senders 16 --jain 0.97

kills: ## a recording through KILLS (100) kills of its recorder and its device, some minutes
	@tools/setup.sh linker
	SAMPLEWIRE_KILLS=$(KILLS) cargo test --quiet -p samplewire-cli --test cli -- kills --nocapture

link: ## a ZMQ radio link over two bridges and a bad wire, SAMPLES (100000000) each way, some minutes
	@tools/setup.sh linker
	SAMPLEWIRE_LINK_SAMPLES=$(SAMPLES) cargo test --quiet -p samplewire-cli --test cli -- \
	    long_link --ignored --nocapture

doc: ## the libraries' documentation, in target/doc
	@tools/setup.sh linker
	@# Beside the command, libraries have the features of the workspace, which clippy has checked.
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --lib --no-deps

install-ffi: ## the C and C++ interface into PREFIX (/usr/local): library, headers, pkg-config, CMake
	@tools/setup.sh linker
	cargo build --release -p samplewire-ffi
	@tools/install_ffi.sh "$$($(TARGET_DIR))/release" "$(PREFIX)"

install-soapy: ## the module for SoapySDR into PREFIX (/usr/local)
	@tools/setup.sh linker soapy
	cargo build --release -p samplewire-ffi
	@tools/soapy.sh install "$$($(TARGET_DIR))/release" "$(PREFIX)"

bench-soapy: ## GNU Radio behind SoapySDR at 50 MS/s for a minute, overflows counted
	@tools/setup.sh linker soapy
	cargo build --release -p samplewire-ffi -p samplewire-cli
	@tools/soapy.sh build "$$($(TARGET_DIR))/release"
	$(PYTHON) bench/soapy.py "$$($(TARGET_DIR))/release/samplewire" out/soapy-release

clean: ## removes what was built; .venv and .tools stay
	cargo clean
	rm -rf out
