//! The HTTP client: one set of rules for everything that is sent from here.
//!
//! No redirect is followed, because a key or a conversation would follow it to another host. Proxies come from the environment
//! of the caller, never from our own process, and this machine is reached without one.

use std::sync::Once;
use std::time::Duration;

use offshoot_session::agent::Environment;
pub use reqwest::{Client, Error, RequestBuilder, Response, StatusCode, Url, header};
use reqwest::{ClientBuilder, NoProxy, Proxy, redirect};

/// A host that does not accept the connection by then counts as unreachable.
const CONNECT_LIMIT: Duration = Duration::from_secs(15);

/// The proxies of an environment. Requests with the same ones can share a client and its connections.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Proxies {
    http: Option<String>,
    https: Option<String>,
    exceptions: String,
}

impl Proxies {
    pub fn of(environment: &Environment) -> Self {
        let first = |names: &[&str]| {
            let values = names.iter().filter_map(|name| environment.get(name)?.to_str());
            values.into_iter().find(|value| !value.is_empty()).map(str::to_owned)
        };
        Self {
            http: first(&["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]),
            https: first(&["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]),
            exceptions: first(&["no_proxy", "NO_PROXY"]).unwrap_or_default(),
        }
    }
}

/// A client that asks no proxy and keeps no connection, for what is asked once.
pub fn client_without_connections() -> Result<Client, Error> {
    usual().pool_max_idle_per_host(0).build()
}

fn usual() -> ClientBuilder {
    static TLS: Once = Once::new();
    TLS.call_once(|| {
        // An error means that there is one already.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    Client::builder()
        .user_agent(concat!("offshoot/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .connect_timeout(CONNECT_LIMIT)
        .no_proxy()
}

/// A client for requests through these proxies.
pub fn client(proxies: &Proxies) -> Result<Client, Error> {
    let mut builder = usual();
    let exceptions = NoProxy::from_string(&format!("localhost,127.0.0.0/8,::1,{}", proxies.exceptions));
    if let Some(proxy) = &proxies.http {
        builder = builder.proxy(Proxy::http(proxy)?.no_proxy(exceptions.clone()));
    }
    if let Some(proxy) = &proxies.https {
        builder = builder.proxy(Proxy::https(proxy)?.no_proxy(exceptions));
    }
    builder.build()
}

/// Whether an address leads to this machine.
pub fn is_loopback(url: &Url) -> bool {
    match url.host_str() {
        Some("localhost") => true,
        Some(host) => {
            let host = host.trim_start_matches('[').trim_end_matches(']');
            host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        None => false,
    }
}

/// The whole story of an error: the causes say what the error itself leaves out. Without the address, which may have a key
/// in it.
pub fn told(error: Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_loopback() {
        let is = |url: &str| is_loopback(&url.parse().unwrap());
        assert!(is("http://127.0.0.1:11434/v1") && is("http://localhost/") && is("http://[::1]:80/"));
        assert!(
            !is("http://127.0.0.1.example.com/") && !is("https://api.example.com") && !is("http://10.0.0.1")
        );
    }

    #[test]
    fn proxies_come_from_the_environment_that_is_given() {
        let environment = [("HTTPS_PROXY", "http://proxy:3128"), ("no_proxy", "a.example")];
        let environment = environment.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let proxies = Proxies::of(&environment);
        assert_eq!(proxies.https.as_deref(), Some("http://proxy:3128"));
        assert_eq!((proxies.http, proxies.exceptions.as_str()), (None, "a.example"));
        assert!(client(&Proxies::of(&environment)).is_ok());
    }
}
