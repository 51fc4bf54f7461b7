//! Programs in C and C++, compiled against what `make install-ffi` installs, run as they are and, where
//! it is there, under valgrind.

use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use samplewire_c::{
    SW_TEXT_BYTES, sw_device_free, sw_device_get_address, sw_device_new, sw_device_options,
    sw_device_options_init, sw_result,
};
use samplewire_testing::skip;

#[test]
fn received_samples_are_checked_in_c() {
    Program::c("receive").run_also_under_valgrind(&[]);
}

#[test]
fn aligned_streams_are_checked_in_c() {
    Program::c("aligned").run_also_under_valgrind(&[]);
}

#[test]
fn wrong_arguments_are_named_in_c() {
    Program::c("arguments").run_also_under_valgrind(&[]);
}

#[test]
fn waits_are_cancelled_in_c() {
    Program::c("cancel").run_also_under_valgrind(&[]);
}

#[test]
fn device_that_closes_is_reported_in_c() {
    Program::c("dies").run_also_under_valgrind(&[]);
}

#[test]
fn device_that_is_killed_is_reported_in_c() {
    Program::c("dies").run(&["kill"]);
}

#[test]
fn sent_samples_are_checked_in_c() {
    let program = Program::c("transmit");
    program.run_also_under_valgrind(&[folder("transmit").to_str().expect("it is UTF-8")]);
}

#[test]
fn wrapper_works_in_cpp() {
    let Some(program) = Program::cpp("wrapper") else { return };
    program.run_also_under_valgrind(&[folder("wrapper").to_str().expect("it is UTF-8")]);
}

#[test]
fn code_of_the_manual_works_in_c() {
    Program::c("manual").run_also_under_valgrind(&[]);
}

#[test]
fn static_library_is_complete() {
    let prefix = installed();
    let source = crate_root().join("tests/c/arguments.c");
    let to = folder("static").join("arguments");
    let mut cc = Command::new("cc");
    cc.args(C_FLAGS).arg(source).arg("-o").arg(&to).arg("-I").arg(prefix.join("include"));
    cc.arg(prefix.join("lib/libsamplewire.a"));
    succeed(cc.args(["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc"]));
    Program { path: to }.run(&[]);
}

#[test]
fn example_is_built_by_pkg_config_and_receives() {
    if !has("pkg-config") {
        return;
    }
    let example = crate_root().join("examples/receive.c");
    let to = folder("example").join("receive");
    let mut shell = Command::new("sh");
    // The line of the example, with the flags of the tests.
    shell.arg("-c").arg("cc $FLAGS \"$1\" $(pkg-config --cflags --libs samplewire) -o \"$2\"");
    shell.arg("sh").args([&example, &to]).env("FLAGS", C_FLAGS.join(" "));
    succeed(shell.env("PKG_CONFIG_PATH", installed().join("lib/pkgconfig")));
    with_device(5_000, |address| {
        let output = Program { path: to.clone() }.run(&[address]);
        assert!(output.ends_with("5000 samples, 0 missing\n"), "{output}");
    });
}

#[test]
fn example_is_built_by_cmake() {
    if !has("cmake") {
        return;
    }
    let root = folder("cmake");
    let example = crate_root().join("examples/receive.c");
    let lists = format!(
        "cmake_minimum_required(VERSION 3.16)\nproject(example C)\n\
         find_package(samplewire 0.1 REQUIRED)\nforeach(kind samplewire static)\n\
         add_executable(with_${{kind}} {})\n\
         target_link_libraries(with_${{kind}} samplewire::${{kind}})\nendforeach()\n",
        example.display()
    );
    std::fs::write(root.join("CMakeLists.txt"), lists).expect("the folder is ours");
    let prefix = format!("-DCMAKE_PREFIX_PATH={}", installed().display());
    succeed(
        Command::new("cmake").arg("-S").arg(&root).arg("-B").arg(root.join("build")).arg(prefix),
    );
    succeed(Command::new("cmake").arg("--build").arg(root.join("build")));
    for kind in ["with_samplewire", "with_static"] {
        with_device(5_000, |address| {
            let output = Program { path: root.join("build").join(kind) }.run(&[address]);
            assert!(output.ends_with("5000 samples, 0 missing\n"), "{output}");
        });
    }
}

/// A program of `tests/c`.
struct Program {
    path: PathBuf,
}

impl Program {
    fn c(name: &str) -> Self {
        Self::build(name, "c", Command::new("cc").args(C_FLAGS))
    }

    /// `None`, and a word, where there is no compiler for it.
    fn cpp(name: &str) -> Option<Self> {
        let flags = ["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", "-pthread"];
        has("c++").then(|| Self::build(name, "cpp", Command::new("c++").args(flags)))
    }

    fn build(name: &str, extension: &str, compiler: &mut Command) -> Self {
        let prefix = installed();
        // One for each that builds it: tests run at once.
        let thread = std::thread::current();
        let to = folder(thread.name().expect("tests have names")).join(name);
        compiler.arg(crate_root().join("tests/c").join(name).with_extension(extension));
        compiler.arg("-o").arg(&to).arg("-I").arg(prefix.join("include"));
        succeed(compiler.arg("-L").arg(prefix.join("lib")).arg("-lsamplewire"));
        Self { path: to }
    }

    fn run(&self, arguments: &[&str]) -> String {
        succeed(self.command(&self.path).args(arguments))
    }

    fn run_also_under_valgrind(&self, arguments: &[&str]) {
        self.run(arguments);
        if has("valgrind") {
            let mut valgrind = self.command(Path::new("valgrind"));
            valgrind.args(["-q", "--error-exitcode=9", "--leak-check=full", "--fair-sched=yes"]);
            valgrind.args(["--errors-for-leak-kinds=definite", "--show-leak-kinds=definite"]);
            succeed(valgrind.arg(&self.path).args(arguments));
        }
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("LD_LIBRARY_PATH", installed().join("lib"));
        command
    }
}

/// Runs with the address of a device that counts to `samples`.
fn with_device(samples: u64, work: impl Fn(&str)) {
    let mut options = std::mem::MaybeUninit::<sw_device_options>::uninit();
    let mut device = std::ptr::null_mut();
    let mut address = [0; SW_TEXT_BYTES];
    // SAFETY: each pointer is of a variable of this function, with the stated size, and the first
    // call sets the options.
    let address = unsafe {
        let init = sw_device_options_init(options.as_mut_ptr(), size_of::<sw_device_options>());
        assert_eq!(init, sw_result::Ok);
        (*options.as_mut_ptr()).samples = samples;
        assert_eq!(sw_device_new(options.as_ptr(), &raw mut device), sw_result::Ok);
        let result = sw_device_get_address(device, address.as_mut_ptr(), address.len());
        assert_eq!(result, sw_result::Ok);
        CStr::from_ptr(address.as_ptr())
    };
    work(address.to_str().expect("an address is text"));
    // SAFETY: the name of a device.
    assert_eq!(unsafe { sw_device_free(device) }, sw_result::Ok);
}

/// What is installed, once.
fn installed() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let prefix = folder("prefix");
        let built = std::env::current_exe().expect("it is known");
        let built = built.parent().expect("it is in a folder");
        let script = crate_root().join("../../tools/install_ffi.sh");
        succeed(Command::new(script).arg(built).arg(&prefix).env_remove("DESTDIR"));
        prefix
    })
}

/// An empty folder of this name.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("ffi-{name}"));
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("the folder is ours");
    }
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    folder
}

fn crate_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Whether a program is there; says so where it is not.
fn has(program: &str) -> bool {
    let has = Command::new(program).arg("--version").output().is_ok();
    if !has {
        skip(format_args!("there is no {program}"));
    }
    has
}

fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{command:?}: {}\n{out}{err}", output.status);
    out.into_owned()
}

const C_FLAGS: [&str; 7] =
    ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", "-pthread"];
