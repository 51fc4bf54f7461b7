use super::*;

/// The small table is what it was when it was last looked at; a change is to be understood, and
/// then this text follows.
#[test]
fn small_table_is_as_it_was() {
    let mut table = vec![];
    repair(&RepairOptions::small(), &mut table).expect("a vector takes all");
    let table = String::from_utf8(table).expect("figures are text");
    assert_eq!(table, include_str!("small.txt"), "{table}");
}

#[test]
fn figures_that_must_hold_hold_on_a_small_scale() {
    // Goodput takes minutes at any scale: `sim figures`.
    let parts = FigurePart::ALL.into_iter().filter(|it| *it != FigurePart::Goodput);
    let all =
        figures(&parts.collect::<Vec<_>>(), 100_000, &mut io::sink()).expect("a sink takes all");
    let failed: Vec<_> = all.iter().filter(|figure| !figure.holds()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn csv_and_drawing_have_every_row() {
    let options = RepairOptions {
        losses_ppm: vec![0, 10_000],
        rtts: vec![Nanos::from_micros(100)],
        windows_percent: vec![250],
        repairs: 10,
        ..RepairOptions::new()
    };
    let rows = repair(&options, &mut io::sink()).expect("a sink takes all");
    let (mut csv, mut svg) = (vec![], vec![]);
    write_csv(&rows, &mut csv).expect("a vector takes all");
    write_svg(&rows, &mut svg).expect("a vector takes all");
    let csv = String::from_utf8(csv).expect("figures are text");
    assert_eq!(csv.lines().count(), 1 + rows.len());
    let svg = String::from_utf8(svg).expect("a drawing is text");
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    assert_eq!(svg.matches("<polyline").count(), 3);
}
