//! Requests as the log tells them: which, about which session, how long it took. What they say is left out.

use std::fmt::{self, Write};
use std::time::Instant;

use offshoot_api::{ApiError, ErrorCode, Request, Response};
use tracing::{debug, enabled, error};

/// A request that is being answered. Empty where nobody wants to know.
pub(crate) struct Told(Option<Asked>);

struct Asked {
    request: String,
    session: String,
    began: Instant,
}

impl Told {
    pub(crate) fn of(request: &Request) -> Self {
        if !enabled!(tracing::Level::ERROR) {
            return Self(None);
        }
        Self(Some(Asked {
            request: word(request),
            session: request.session().unwrap_or("none").to_owned(),
            began: Instant::now(),
        }))
    }

    pub(crate) fn answered(self, answer: &Result<Response, ApiError>) {
        let Some(Asked { request, session, began }) = self.0 else { return };
        let ms = began.elapsed().as_millis() as u64;
        match answer {
            Ok(_) => debug!(name: "request answered", request, session, ms),
            // What a person may do wrong is no trouble of ours.
            Err(ApiError { code: code @ (ErrorCode::Internal | ErrorCode::DiskFull), .. }) => {
                error!(name: "request failed", request, session, ms, ?code);
            }
            Err(ApiError { code, .. }) => debug!(name: "request refused", request, session, ms, ?code),
        }
    }
}

/// The name of the variant. What comes behind it is never put together: the sink takes no more.
fn word(request: &Request) -> String {
    let mut first = FirstWord(String::new());
    // It ends with an error as soon as the word is over.
    let _ = write!(first, "{request:?}");
    first.0
}

struct FirstWord(String);

impl Write for FirstWord {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let length = text.bytes().take_while(u8::is_ascii_alphanumeric).count();
        self.0.push_str(text.get(..length).unwrap_or_default());
        if length < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use offshoot_api::request::Rename;

    use super::*;

    #[test]
    fn a_request_is_told_by_its_name() {
        let rename =
            Rename { session: "s".to_owned(), title: Some("what was said".to_owned()), client_id: None };
        assert_eq!(word(&Request::Rename(rename)), "Rename");
        assert_eq!(word(&Request::Hello(offshoot_api::request::Hello::default())), "Hello");
    }
}
