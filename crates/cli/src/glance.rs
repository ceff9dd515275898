//! A journal for what tells whether it is meant, where the catalog does not tell it.

use offshoot_session::{SessionHeader, SessionId};
use offshoot_store::{Loaded, SessionStore};

use crate::failure::Failure;
use crate::here::Here;
use crate::long::shape_of_long;
use crate::stored::read_failed;
use crate::which::Which;

pub(crate) struct Glance {
    pub(crate) title: Option<String>,
    pub(crate) project: Option<String>,
}

/// `None`: a crash stopped it from being born.
pub(crate) fn glance(here: &Here, id: &SessionId) -> Result<Option<Glance>, Failure> {
    let project = |header: Option<&SessionHeader>| header.and_then(|header| header.project.clone());
    if let Some(session) = shape_of_long(here, &Which::Stored(id.clone())) {
        let skeleton = session.skeleton();
        let (title, project) = (skeleton.title().map(str::to_owned), project(skeleton.header()));
        return Ok(Some(Glance { title, project }));
    }
    let loaded = here.store()?.read(id).map_err(|error| read_failed(&error))?;
    Ok(loaded.map(|Loaded { tree, .. }| Glance {
        title: tree.title().map(str::to_owned),
        project: project(tree.header()),
    }))
}
