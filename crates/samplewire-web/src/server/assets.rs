//! The files of the page, which are part of the program.

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

/// A file of the page.
pub(super) struct Asset {
    pub(super) path: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

impl Asset {
    pub(super) fn response(&self) -> Response {
        ([(CONTENT_TYPE, self.kind)], self.bytes).into_response()
    }
}

macro_rules! assets {
    ($($path:literal, $file:literal, $kind:expr;)*) => {
        &[$(Asset {
            path: $path,
            kind: $kind,
            bytes: include_bytes!(concat!("../../page/", $file)),
        }),*]
    };
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

pub(super) const ASSETS: &[Asset] = assets! {
    "/", "index.html", HTML;
    "/icon.svg", "icon.svg", "image/svg+xml";
    "/style.css", "style.css", CSS;
    "/uplot.css", "uplot.css", CSS;
    "/uplot-LICENSE.txt", "uplot-LICENSE.txt", "text/plain; charset=utf-8";
    "/account.js", "account.js", SCRIPT;
    "/actions.js", "actions.js", SCRIPT;
    "/axes.js", "axes.js", SCRIPT;
    "/band.js", "band.js", SCRIPT;
    "/colors.js", "colors.js", SCRIPT;
    "/connection.js", "connection.js", SCRIPT;
    "/cursor.js", "cursor.js", SCRIPT;
    "/format.js", "format.js", SCRIPT;
    "/frame.js", "frame.js", SCRIPT;
    "/gaps.js", "gaps.js", SCRIPT;
    "/history.js", "history.js", SCRIPT;
    "/keys.js", "keys.js", SCRIPT;
    "/main.js", "main.js", SCRIPT;
    "/plots.js", "plots.js", SCRIPT;
    "/processes.js", "processes.js", SCRIPT;
    "/repair.js", "repair.js", SCRIPT;
    "/rows.js", "rows.js", SCRIPT;
    "/streams.js", "streams.js", SCRIPT;
    "/theme.js", "theme.js", SCRIPT;
    "/timeline.js", "timeline.js", SCRIPT;
    "/uplot.js", "uplot.js", SCRIPT;
    "/waterfall.js", "waterfall.js", SCRIPT;
    "/words.js", "words.js", SCRIPT;
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_are_small_and_each_is_served() {
        let total: usize = ASSETS.iter().map(|asset| asset.bytes.len()).sum();
        assert!(total <= 200_000, "{total} bytes");
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
        let files = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap());
        assert_eq!(files.count(), ASSETS.len());
    }
}
