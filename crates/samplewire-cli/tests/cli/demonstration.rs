//! The demonstration: its account holds, and its output suits a file.

use crate::harness::run;

#[test]
fn account_of_the_demonstration_holds() {
    for delivery in ["complete", "deadline:2ms", "best-effort"] {
        let arguments = ["demo", "--seconds", "1.2", "--rate", "2M", "--delivery", delivery];
        let ran = run(&arguments).expect(0);
        let text = ran.text();
        assert!(text.contains("it holds: every index is delivered once"), "{text}");
        assert!(!text.contains('\x1b'), "escapes in what is no terminal: {text:?}");
        assert!(text.contains('▇') || text.contains('█'), "no spectrum in {text}");
        let is_complete = delivery == "complete";
        let row = |name: &str| -> u64 {
            let line = text.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
            line.rsplit(' ').next().unwrap().replace(',', "").parse().unwrap()
        };
        assert_eq!(row("together"), row("played by the device"));
        assert_eq!(row("repaired") == 0, delivery == "best-effort", "{text}");
        assert!(!is_complete || row("missing: deadline") == 0, "{text}");
        assert!(delivery != "best-effort" || row("missing: never asked") > 0, "{text}");
    }
}
