//! Who may request what: `docs/web.md#security`.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST,
    HeaderName, HeaderValue, ORIGIN, REFERRER_POLICY, SEC_WEBSOCKET_PROTOCOL,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::App;
use super::connection::Connection;

/// Checks the host and the origin of every request, and adds the headers of every response.
pub(super) async fn request(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let mut response = match refusal(&app, &request) {
        Some((status, words)) => (status, words).into_response(),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

fn refusal(app: &App, request: &Request) -> Option<(StatusCode, &'static str)> {
    let headers = request.headers();
    if !one(headers, &HOST).is_some_and(|host| is_ours(host, app.address, &app.names)) {
        let words = "this host name is not one of the page: see --name in docs/web.md\n";
        return Some((StatusCode::MISDIRECTED_REQUEST, words));
    }
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let is_upgrade = request.uri().path() == "/api/ws";
    let is_named = headers.contains_key(ORIGIN);
    if (!is_read || is_upgrade || is_named) && !is_own_origin(app, headers) {
        return Some((StatusCode::FORBIDDEN, "requests of other origins are refused\n"));
    }
    None
}

/// Whether the page of this origin is ours.
fn is_own_origin(app: &App, headers: &HeaderMap) -> bool {
    let Some(origin) = one(headers, &ORIGIN) else { return false };
    let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    // A proxy serves a configured name; its host and its origin are the same.
    host.is_some_and(|host| {
        is_ours(host, app.address, &app.names) && one(headers, &HOST) == Some(host)
    })
}

/// Whether a host is the address where the page listens, or a configured name.
fn is_ours(host: &str, address: SocketAddr, names: &[String]) -> bool {
    let host = host.to_ascii_lowercase();
    if names.contains(&host) {
        return true;
    }
    if let Ok(named) = host.parse::<SocketAddr>() {
        let is_any = address.ip().is_unspecified();
        // An address is no name, so that no site can point it elsewhere.
        return named.port() == address.port() && (is_any || named.ip() == address.ip());
    }
    let is_local = is_reached_locally(address.ip());
    let name = host.strip_suffix(&format!(":{}", address.port())).unwrap_or(&host);
    (is_local && host == format!("localhost:{}", address.port()))
        || names.iter().any(|it| it == name)
}

fn is_reached_locally(ip: IpAddr) -> bool {
    ip.is_loopback() || ip.is_unspecified()
}

/// Checks the token of a request to the API. A wrong one costs time and the connection.
pub(super) async fn token(
    State(app): State<Arc<App>>,
    Extension(connection): Extension<Arc<Connection>>,
    request: Request,
    next: Next,
) -> Response {
    let shown = shown(request.headers(), request.uri().path() == "/api/ws");
    if shown.is_some_and(|shown| app.token.matches(shown)) {
        connection.know();
        return next.run(request).await;
    }
    if shown.is_some() {
        tokio::time::sleep(WRONG_TOKEN_PAUSE).await;
    }
    let words = "the token is missing or wrong: open the URL that the command printed\n";
    let close = [(CONNECTION, HeaderValue::from_static("close"))];
    (StatusCode::UNAUTHORIZED, close, words).into_response()
}

/// The token of a request: a header, or a subprotocol where a browser can set no header.
fn shown(headers: &HeaderMap, is_upgrade: bool) -> Option<&str> {
    if is_upgrade {
        let protocols = one(headers, &SEC_WEBSOCKET_PROTOCOL)?.split(',').map(str::trim);
        return protocols.filter_map(|it| it.strip_prefix(TOKEN_PROTOCOL)).next();
    }
    one(headers, &AUTHORIZATION)?.strip_prefix("Bearer ")
}

/// The value of a header that is there exactly once.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// What the token follows in the list of subprotocols.
const TOKEN_PROTOCOL: &str = "token.";

/// How long a wrong token takes.
const WRONG_TOKEN_PAUSE: Duration = Duration::from_millis(500);

/// The headers of every response.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_the_page_are_ours_and_no_others() {
        let local = "127.0.0.1:8000".parse().unwrap();
        let any = "0.0.0.0:8000".parse().unwrap();
        let six = "[::1]:8000".parse().unwrap();
        let names = ["lab.example".to_owned()];
        for (host, address, is_right) in [
            ("127.0.0.1:8000", local, true),
            ("localhost:8000", local, true),
            ("LOCALHOST:8000", local, true),
            ("lab.example", local, true),
            ("lab.example:8000", local, true),
            ("[::1]:8000", six, true),
            ("192.168.1.5:8000", any, true),
            ("localhost", local, false),
            ("127.0.0.1", local, false),
            ("127.0.0.1:8001", local, false),
            ("192.168.1.5:8000", local, false),
            ("evil.example:8000", local, false),
            ("evil.example:8000", any, false),
            ("localhost.evil.example:8000", local, false),
            ("lab.example:9000", local, false),
            ("127.0.0.1:8000@evil.example", local, false),
            ("", local, false),
        ] {
            assert_eq!(is_ours(host, address, &names), is_right, "{host} at {address}");
        }
    }
}
