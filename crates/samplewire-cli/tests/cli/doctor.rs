//! Diagnoses of this host and of recorded trees, by the command.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use samplewire_testing::skip;
use serde_json::Value;

use crate::harness::{folder, run, text};

const GOOD: &str = include_str!("../../src/doctor/tests/good.tree");

/// The good tree in a folder of its own.
fn good_tree(name: &str) -> PathBuf {
    let root = folder(name);
    for file in GOOD.split("== ").skip(1) {
        let (path, text) = file.split_once('\n').expect("a path and a text");
        write(&root, path, text);
    }
    root
}

fn write(root: &Path, path: &str, text: impl AsRef<[u8]>) {
    let place = root.join(path.trim_start_matches('/'));
    fs::create_dir_all(place.parent().expect("below the root")).unwrap();
    fs::write(place, text).unwrap();
}

/// All files below a folder.
fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_slice(&run(arguments).expect(0).stdout).unwrap()
}

#[test]
fn record_of_this_host_gives_the_same_findings_and_names_no_machine() {
    let folder = folder("doctor-record");
    let tree = folder.join("tree");
    let begun = Instant::now();
    let live = json(&["doctor", "--json", "--record", text(&tree)]);
    assert!(begun.elapsed().as_secs_f64() < 2.0, "{:?}", begun.elapsed());
    let recorded = json(&["doctor", "--json", "--root", text(&tree)]);
    assert_eq!(live["checks"], recorded["checks"]);
    let files = files(&tree);
    assert!(files.len() > 30, "{files:?}");
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let interfaces = fs::read_dir("/sys/class/net").unwrap().map(|it| it.unwrap().path());
    let addresses: Vec<_> = interfaces
        .filter_map(|path| fs::read_to_string(path.join("address")).ok())
        .map(|address| address.trim().to_owned())
        .filter(|address| address.len() == 17 && address != "00:00:00:00:00:00")
        .collect();
    for (path, bytes) in files {
        let words = format!("{}\n{}", path.display(), String::from_utf8(bytes).unwrap());
        for address in &addresses {
            assert!(
                !words.contains(address) && !words.contains(&address.replace(':', "")),
                "{words}"
            );
        }
        assert!(host.trim().len() < 4 || !words.contains(host.trim()), "{words}");
    }
    // A record is never written over another.
    run(&["doctor", "--record", text(&tree)]).expect_error(1, &["File exists"]);
}

#[test]
fn good_tree_has_no_finding_and_thresholds_set_the_exit_status() {
    let root = good_tree("doctor-good");
    let arguments = ["doctor", "10.0.0.2", "--root", text(&root), "--fail-on"];
    let ran = run(&[&arguments[..], &["severe=0,finding=0,unread=0"]].concat()).expect(0);
    assert!(ran.text().contains("findings: 0"), "{}", ran.text());
    write(&root, "/ethtool/eth0/rings", "rx_max 8192\ntx_max 8192\nrx 256\ntx 4096\n");
    write(&root, "/proc/loadavg", "0.1 0.1 0.1 many/412 5120\n");
    run(&[&arguments[..], &["finding=1"]].concat()).expect(0);
    run(&[&arguments[..], &["severe=0"]].concat())
        .expect_error(4, &["threshold  severe: 1, limit 0"]);
    run(&[&arguments[..], &["unread=0"]].concat()).expect_error(4, &["unread: 1, limit 0"]);
    run(&[&arguments[..], &["gap=0"]].concat()).expect_error(1, &["severe, finding, unread"]);
    let ran = run(&arguments[..4]).expect(0);
    for words in ["ethtool -G eth0 rx 1024", "unexpected value `many`", "keep"] {
        assert!(ran.text().contains(words), "no `{words}` in\n{}", ran.text());
    }
}

#[test]
fn undo_restores_every_byte_of_a_tree() {
    let root = good_tree("doctor-undo");
    let bad = [
        ("/proc/sys/net/core/rmem_max", "212992\n"),
        ("/proc/sys/net/ipv4/udp_mem", "500\t700\t1000\n"),
        ("/sys/kernel/mm/transparent_hugepage/defrag", "[always] defer madvise never\n"),
        ("/ethtool/eth0/rings", "rx_max 8192\ntx_max 8192\nrx 256\ntx 64"),
        ("/ethtool/eth0/flow_hash", "ports 0\nrules 0\n"),
        (
            "/ethtool/eth0/features",
            "rx-checksum off\nrx-gro-list on\nrx-gro off\ntx-udp-segmentation off\n",
        ),
    ];
    for (path, text) in bad {
        write(&root, path, text);
    }
    let before = files(&root);
    let work = folder("doctor-undo-work");
    let doctor = |arguments: &[&str]| {
        let arguments = [&["doctor", "--root", text(&root)], arguments].concat();
        let ran = Command::new(env!("CARGO_BIN_EXE_samplewire"))
            .args(arguments)
            .current_dir(&work)
            .output()
            .unwrap();
        assert!(ran.status.success(), "{ran:?}");
        String::from_utf8(ran.stdout).unwrap() + std::str::from_utf8(&ran.stderr).unwrap()
    };
    assert!(doctor(&["10.0.0.2", "--fix"]).contains("# sysctl -w net.core.rmem_max="));
    assert_eq!(files(&root), before, "--fix alone only prints");
    assert!(!work.join("samplewire-undo.json").exists());
    doctor(&["10.0.0.2", "--fix", "--yes"]);
    assert!(doctor(&["10.0.0.2"]).contains("findings: 0"), "{}", doctor(&["10.0.0.2"]));
    let changed = files(&root);
    assert_eq!(changed.iter().filter(|(path, bytes)| before[*path] != **bytes).count(), bad.len());
    let undone = doctor(&["--undo", "samplewire-undo.json"]);
    assert!(undone.contains("ethtool -G eth0 rx 256"), "{undone}");
    assert_eq!(files(&root), before);
}

#[test]
fn undo_files_with_other_places_change_nothing() {
    let root = good_tree("doctor-undo-hostile");
    let before = files(&root);
    let file = root.with_extension("json");
    let good = r#"{"place":{"file":"/proc/sys/net/core/rmem_max"},"old":"1","new":"2"}"#;
    for (place, words) in [
        (r#"{"file":"/etc/passwd"}"#, "no place that doctor sets"),
        (r#"{"file":"/proc/sys/../../etc/passwd"}"#, "no place that doctor sets"),
        (r#"{"card":{"interface":"a;b","parameter":"rings.rx"}}"#, "no place that doctor sets"),
        (r#"{"card":{"interface":"eth0","parameter":"reset"}}"#, "no place that doctor sets"),
        (r#"{"shell":"true"}"#, "unknown variant"),
    ] {
        let bad = format!(r#"{{"place":{place},"old":"1","new":"2"}}"#);
        fs::write(&file, format!(r#"{{"version":1,"tree":true,"settings":[{bad},{good}]}}"#))
            .unwrap();
        run(&["doctor", "--root", text(&root), "--undo", text(&file)]).expect_error(1, &[words]);
        assert_eq!(files(&root), before, "{place}");
    }
    fs::write(&file, format!(r#"{{"version":1,"tree":true,"settings":[{good}]}}"#)).unwrap();
    run(&["doctor", "--undo", text(&file)]).expect_error(1, &["name it with --root"]);
}

#[test]
fn hostile_trees_give_errors_that_name_the_file() {
    let root = good_tree("doctor-hostile");
    let place = |path: &str| root.join(path.trim_start_matches('/'));
    write(&root, "/proc/sys/net/core/rmem_max", "99999999999999999999999999999999999999x");
    write(&root, "/proc/sys/net/core/wmem_max", b"\xff\xfe\n");
    write(&root, "/proc/sys/net/core/optmem_max", "");
    fs::File::create(place("/proc/net/softnet_stat")).unwrap().set_len(1 << 40).unwrap();
    let secret = root.with_extension("secret");
    fs::write(&secret, "secret").unwrap();
    for (path, target) in [("/proc/net/snmp", &secret), ("/sys/class/net/eth0/statistics", &root)] {
        let place = place(path);
        let _ = fs::remove_file(&place);
        let _ = fs::remove_dir_all(&place);
        symlink(target, place).unwrap();
    }
    fs::remove_file(place("/proc/stat")).unwrap();
    assert!(Command::new("mkfifo").arg(place("/proc/stat")).status().unwrap().success());
    write(&root, "/proc/self/status", "CapEff:\t0\nCpus_allowed_list:\t0-4294967295\n");
    write(&root, "/proc/self/cgroup", "0::/../../../../etc\n");
    write(&root, "/ethtool/eth0/rings", "rx -1\nrx_max 1e999\ntx nan\n");
    write(&root, "/ethtool/eth0/statistics", "rx_drop\x1b[31m 18446744073709551616\n");
    write(&root, "/netfilter/chains", "1 drop \x1b[31mred\n");
    let ran = run(&["doctor", "10.0.0.2", "--root", text(&root)]).expect(0);
    for words in [
        "socket.rmem_max: /proc/sys/net/core/rmem_max: unexpected value `9999",
        "/proc/sys/net/core/wmem_max: not UTF-8",
        "/proc/sys/net/core/optmem_max: unexpected value ``",
        "/proc/net/softnet_stat: longer than",
        "/proc/net/snmp: a recorded tree has no symbolic links",
        "/sys/class/net/eth0/statistics/rx_dropped: a recorded tree has no symbolic links",
        "/proc/stat: not a regular file",
        "/proc/self/status: unexpected value `0-4294967295`",
        "not an absolute path without `..`",
        "/ethtool/eth0/rings: unexpected value",
        "/ethtool/eth0/statistics: unexpected value",
    ] {
        assert!(ran.text().contains(words), "no `{words}` in\n{}", ran.text());
    }
    assert!(!ran.text().contains('\x1b') && !ran.text().contains("secret"), "{}", ran.text());
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let empty = folder("doctor-empty");
    for (arguments, words) in [
        (&["--interface", "a;reboot"][..], "no interface name"),
        (&["--only", "socket.rmem"], "no check and no group"),
        (&["--root", "/no such folder"], "/no such folder"),
        (&["--yes"], "--fix"),
        (&["10.0.0.2", "--interface", "eth0"], "cannot be used with"),
    ] {
        run(&[&["doctor"], arguments].concat()).expect_error(1, &[words]);
    }
    // Nothing is readable, and nothing counts as good.
    let ran = run(&["doctor", "--root", text(&empty)]).expect(0);
    assert!(ran.text().contains("good: 0"), "{}", ran.text());
}

/// In a network namespace, whose settings end with it: two cards of one veth pair, one of them wrong.
#[test]
fn settings_of_a_namespace_are_corrected_and_restored() {
    let work = folder("doctor-namespace");
    let script = r#"
        set -e
        ip link add name near type veth peer name far && ip link set near up && ip link set far up || exit 77
        ip address add 10.9.0.1/24 dev near; ip address add 10.9.1.1/24 dev far
        command -v ethtool >/dev/null && ethtool -K near gro off || exit 77
        echo 1 > /proc/sys/net/ipv4/conf/near/rp_filter
        state() { cat /proc/sys/net/ipv4/conf/near/rp_filter; ethtool -k near; }
        state > before
        set -- --interface near --rate 400M --sample-bytes 4
        "$SAMPLEWIRE" doctor "$@" --only card.gro,path.rp_filter --fix --yes
        test "$(cat /proc/sys/net/ipv4/conf/near/rp_filter)" = 2
        ethtool -k near | grep -q '^generic-receive-offload: on'
        "$SAMPLEWIRE" doctor --undo samplewire-undo.json
        state > after
        cmp before after
    "#;
    let ran = Command::new("unshare")
        .args(["--user", "--map-root-user", "--net", "sh", "-c", script])
        .env("SAMPLEWIRE", env!("CARGO_BIN_EXE_samplewire"))
        .current_dir(&work)
        .output();
    let Ok(ran) = ran else { return skip("unshare is not installed") };
    let words = String::from_utf8_lossy(&ran.stderr);
    if ran.status.code() == Some(77) || words.contains("unshare: ") {
        return skip("no namespace, veth or ethtool here");
    }
    assert!(ran.status.success(), "{ran:?}");
}

#[test]
fn effect_of_a_setting_is_measured_over_an_own_pair() {
    let runs = |words: &[&str]| {
        let output = Command::new(words[0]).args(&words[1..]).output();
        output.is_ok_and(|output| output.status.success())
    };
    if !runs(&["unshare", "--net", "ip", "link"]) || !runs(&["ethtool", "--version"]) {
        skip("no network namespace can be made (needs iproute2, ethtool and CAP_SYS_ADMIN)");
        return;
    }
    let document = json(&["doctor", "--measure=1", "--only", "card.gro,path.mtu", "--json"]);
    let effects = document["effects"].as_array().unwrap();
    let checks: Vec<_> = effects.iter().map(|it| it["check"].as_str().unwrap()).collect();
    assert_eq!(checks, ["card.gro", "path.mtu"]);
    for effect in effects {
        assert_eq!((&effect["pairs"], &effect["why"]), (&1.into(), &Value::Null), "{effect}");
        assert!(effect["right_bps"].as_f64().unwrap() > 1e6, "{effect}");
        for ratio in ["rate", "cpu"] {
            let Value::Object(spread) = &effect[ratio] else { panic!("{effect}") };
            assert!(spread["median"].as_f64().unwrap() > 0.0, "{effect}");
            assert_eq!((&spread["least"], &spread["most"]), (&spread["median"], &spread["median"]));
        }
    }
    let wrong: &[&[&str]] = &[
        &["doctor", "--measure", "--only", "time"],
        &["doctor", "--measure=0"],
        &["doctor", "--measure", "--fix"],
    ];
    for words in wrong {
        run(words).expect_error(1, &["--measure"]);
    }
}
