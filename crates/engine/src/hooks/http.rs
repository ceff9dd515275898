//! A hook behind an address of this machine: one POST, one answer.

use std::sync::OnceLock;

use offshoot_agents::http::{Client, Error, client_without_connections, header, told};

use super::HookError;
use super::program::LONGEST;

pub(super) async fn post(url: &str, body: &str) -> Result<Vec<u8>, HookError> {
    if !url.starts_with("http://") {
        return Err(HookError::BadUrl(url.to_owned()));
    }
    let request = client()?.post(url).header(header::CONTENT_TYPE, "application/json").body(body.to_owned());
    let not_sent = |error: Error| match error.is_builder() {
        true => HookError::BadUrl(url.to_owned()),
        false => HookError::NotReached(told(error)),
    };
    let mut response = request.send().await.map_err(not_sent)?;
    if !response.status().is_success() {
        return Err(HookError::Failed(format!("status {}", response.status().as_u16())));
    }
    let mut answer = Vec::new();
    let broke_off = |error| HookError::Nonsense(told(error));
    while let Some(chunk) = response.chunk().await.map_err(broke_off)? {
        answer.extend_from_slice(&chunk);
        if answer.len() as u64 > LONGEST {
            return Err(HookError::Nonsense(format!("more than {LONGEST} bytes")));
        }
    }
    Ok(answer)
}

/// All hooks share it: it takes time to make.
fn client() -> Result<&'static Client, HookError> {
    static CLIENT: OnceLock<Client> = OnceLock::new();
    if let Some(client) = CLIENT.get() {
        return Ok(client);
    }
    let client = client_without_connections().map_err(|error| HookError::NotReached(told(error)))?;
    Ok(CLIENT.get_or_init(|| client))
}
