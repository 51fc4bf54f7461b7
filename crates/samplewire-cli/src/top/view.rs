//! The content of the screen.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Block, Paragraph, Row, Sparkline, SparklineBar, Table, TableState, Wrap};

use super::history::Shown;
use super::ports::{PORTS_SHOWN_MAX, ShownPort};
use super::survey::Key;
use super::words::{HEADS, cause_words, cells, other_words, peer_words, stream_words};
use crate::figures::measured;

/// The state to draw.
#[derive(Debug, Default)]
pub(super) struct Screen {
    pub(super) streams: Vec<Shown>,
    /// Ports of switches.
    pub(super) ports: Vec<ShownPort>,
    /// Processes that answered.
    pub(super) processes: usize,
    pub(super) errors: Vec<String>,
    /// No process has answered yet.
    pub(super) is_asking: bool,
    /// Only the streams of some devices are shown.
    pub(super) is_filtered: bool,
    /// The stream whose details are shown; else the first.
    pub(super) selected: Option<Key>,
}

impl Screen {
    /// The position of the stream whose details are shown.
    fn at(&self) -> usize {
        let is_it = |key: &Key| self.streams.iter().position(|shown| shown.facts.key == *key);
        self.selected.as_ref().and_then(is_it).unwrap_or(0)
    }

    /// Selects the stream `steps` further down.
    pub(super) fn select(&mut self, steps: isize) {
        let last = self.streams.len().saturating_sub(1);
        let at = self.at().saturating_add_signed(steps).min(last);
        self.selected = self.streams.get(at).map(|shown| shown.facts.key.clone());
    }

    /// Draws everything.
    pub(super) fn draw(&self, frame: &mut Frame<'_>) {
        let [title, body, ports, errors] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Fill(1),
            Constraint::Length(self.ports.len().min(PORTS_SHOWN_MAX) as u16),
            Constraint::Length(self.errors.len().min(ERRORS_MAX) as u16),
        ])
        .areas(frame.area());
        self.draw_title(frame, title);
        let lines: Vec<Line<'_>> =
            self.errors.iter().take(ERRORS_MAX).map(|error| Line::from(error.as_str())).collect();
        frame.render_widget(Paragraph::new(lines).yellow(), errors);
        let lines: Vec<Line<'_>> =
            self.ports.iter().take(PORTS_SHOWN_MAX).map(|port| Line::from(port.words())).collect();
        frame.render_widget(Paragraph::new(lines), ports);
        let Some(selected) = self.streams.get(self.at()) else {
            let hint = match (self.is_asking, self.is_filtered) {
                (true, _) => "asking ...",
                (false, true) => HINT_FILTERED,
                (false, false) => HINT,
            };
            frame.render_widget(Paragraph::new(hint).wrap(Wrap { trim: true }), body);
            return;
        };
        let rows = (self.streams.len() as u16).saturating_add(2).min((body.height / 2).max(3));
        let [table, details] =
            Layout::vertical([Constraint::Length(rows), Constraint::Fill(1)]).areas(body);
        self.draw_table(frame, table);
        draw_details(frame, details, selected);
    }

    fn draw_title(&self, frame: &mut Frame<'_>, area: Rect) {
        let counted = |count: usize, one: &str, more: &str| {
            format!("{count} {}", if count == 1 { one } else { more })
        };
        let title = format!(
            "samplewire top: {} of {}",
            counted(self.streams.len(), "stream", "streams"),
            counted(self.processes, "process", "processes")
        );
        let keys = "up, down: choose   q: quit ";
        let [left, right] =
            Layout::horizontal([Constraint::Fill(1), Constraint::Length(keys.len() as u16)])
                .areas(area);
        frame.render_widget(Line::from(title).bold(), left);
        frame.render_widget(Line::from(keys), right);
    }

    fn draw_table(&self, frame: &mut Frame<'_>, area: Rect) {
        let rows = self.streams.iter().map(|shown| {
            let row = Row::new(cells(shown));
            if shown.facts.lost() > 0.0 { row.red() } else { row }
        });
        // On a narrow terminal the peer takes the column of the bits, which the details show too.
        let bits = if area.width < WIDE_COLUMNS { 0 } else { 9 };
        let widths = [7, 7, 0, 9, bits, 7, 6, 8, 7];
        let widths = widths.iter().zip(HEADS).map(|(&width, head)| match head {
            "PEER" => Constraint::Fill(1),
            _ => Constraint::Length(width),
        });
        let table = Table::new(rows, widths)
            .header(Row::new(HEADS).bold())
            .row_highlight_style(Style::new().reversed());
        let mut state = TableState::new().with_selected(self.at());
        frame.render_stateful_widget(table, area, &mut state);
    }
}

fn draw_details(frame: &mut Frame<'_>, area: Rect, shown: &Shown) {
    let facts = &shown.facts;
    let title = format!(" {} {} {} ", facts.verb, facts.pid, peer_words(shown));
    let block = Block::bordered().title(title);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let [words, rate_head, rates, repair_head, repairs] = Layout::vertical([
        Constraint::Max(4),
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(1),
        Constraint::Fill(1),
    ])
    .areas(inner);
    let lines = vec![
        Line::from(stream_words(shown)),
        Line::from(format!("missing samples  {}", cause_words(shown))),
        Line::from(format!("besides          {}", other_words(shown))),
    ];
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), words);
    let of_last = shown.rates.unwrap_or_default();
    let (samples, bits) = (of_last.samples.round(), of_last.bits.round());
    let rate = format!("{}, {}", measured(samples, "samples/s"), measured(bits, "b/s"));
    draw_history(frame, rate_head, rates, rate, &shown.rate_history);
    let repaired = format!("{} repaired", measured(of_last.repaired.round(), "packets/s"));
    draw_history(frame, repair_head, repairs, repaired, &shown.repair_history);
}

/// Draws a history, the latest value at the right.
fn draw_history(frame: &mut Frame<'_>, head: Rect, area: Rect, words: String, history: &[u64]) {
    frame.render_widget(Line::from(words).bold(), head);
    let width = usize::from(area.width);
    let shown = &history[history.len().saturating_sub(width)..];
    let missing = std::iter::repeat_n(None, width - shown.len());
    let bars = missing.chain(shown.iter().copied().map(Some)).map(SparklineBar::from);
    let line = Sparkline::default().data(bars).absent_value_symbol(" ");
    frame.render_widget(line, area);
}

const HINT: &str = "no streams of this user: start `samplewire record ADDR FILE`, \
                    `samplewire emulate`, or `samplewire demo` for both";
const HINT_FILTERED: &str = "no streams of these devices: `samplewire top` alone shows all";

/// From this width on a row shows all columns.
const WIDE_COLUMNS: u16 = 92;

/// Maximum number of errors at the bottom.
const ERRORS_MAX: usize = 3;
