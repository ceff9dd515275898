//! Files that go with a message: an image as it is, any other file by its name, so that the agent opens it where it lies.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use offshoot_api::views::{BlockView, PromptView};
use offshoot_session::image::{IMAGE_BEGINS, ImageKind, LARGEST_IMAGE, LARGEST_IMAGES};

use crate::failure::Failure;
use crate::numbers::bytes;
use crate::words::attached as words;

/// A file that was looked at, and can be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attached {
    /// From the root, without detours.
    path: PathBuf,
    /// `None`: it goes by its name.
    image: Option<Image>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Image {
    kind: ImageKind,
    data: Vec<u8>,
}

/// What goes with a message.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Attachments {
    /// Names of files, inside of the project from there.
    pub(crate) files: Vec<String>,
    pub(crate) images: Vec<BlockView>,
}

impl Attached {
    /// Looks at it; what cannot be sent is refused with what to do about it.
    pub(crate) fn look_at(path: &Path) -> Result<Self, Failure> {
        let cannot = |error: std::io::Error| cannot_read(path, &error);
        let about = std::fs::metadata(path).map_err(cannot)?;
        if about.is_dir() {
            return Err(Failure::refused(crate::words::is_a_folder(path)).hint(words::FOLDER_HINT));
        }
        if !about.is_file() {
            return Err(Failure::refused(crate::words::is_a_device(path)).hint(words::DEVICE_HINT));
        }
        let whole = path.canonicalize().map_err(cannot)?;
        if whole.to_str().is_none() {
            return Err(Failure::refused(words::name_is_no_text(path)).hint(words::NAME_HINT));
        }
        let mut file = File::open(path).map_err(cannot)?;
        let mut data = Vec::new();
        file.by_ref().take(IMAGE_BEGINS).read_to_end(&mut data).map_err(cannot)?;
        let Some(kind) = ImageKind::of(&data) else { return Ok(Self { path: whole, image: None }) };
        // It may grow while it is read.
        file.take(LARGEST_IMAGE + 1 - IMAGE_BEGINS).read_to_end(&mut data).map_err(cannot)?;
        if length(&data) > LARGEST_IMAGE {
            let size = bytes(about.len().max(length(&data)));
            let failure = Failure::refused(words::image_too_large(path, &size, &bytes(LARGEST_IMAGE)));
            return Err(failure.hint(words::IMAGE_TOO_LARGE_HINT));
        }
        Ok(Self { path: whole, image: Some(Image { kind, data }) })
    }

    /// For whoever has named it.
    pub(crate) fn told(&self, project: &Path) -> String {
        let name = self.name(project);
        match &self.image {
            Some(Image { kind, data }) => words::image(&name, kind.name(), &bytes(length(data))),
            None => name,
        }
    }

    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        self.path == other.path
    }

    fn name(&self, project: &Path) -> String {
        let project = project.canonicalize();
        let inside = project.ok().and_then(|project| self.path.strip_prefix(project).ok());
        inside.unwrap_or(&self.path).to_string_lossy().into_owned()
    }

    fn size(&self) -> u64 {
        self.image.as_ref().map_or(0, |image| length(&image.data))
    }
}

impl Attachments {
    /// `project` is the folder that the agent works in.
    pub(crate) fn of(attached: &[Attached], project: &Path) -> Self {
        let mut attachments = Self::default();
        for one in attached {
            match &one.image {
                None => attachments.files.push(one.name(project)),
                Some(Image { kind, data }) => attachments.images.push(BlockView::Image {
                    media_type: kind.media_type().to_owned(),
                    base64: Some(base64::engine::general_purpose::STANDARD.encode(data)),
                    blob: None,
                }),
            }
        }
        attachments
    }

    pub(crate) fn is_nothing(&self) -> bool {
        self.files.is_empty() && self.images.is_empty()
    }

    /// A message with them.
    pub(crate) fn with(self, text: String) -> PromptView {
        PromptView { text, attachments: self.files, images: self.images }
    }
}

/// Looks at all files of one message.
pub(crate) fn look_at_all(paths: &[PathBuf]) -> Result<Vec<Attached>, Failure> {
    let attached: Vec<Attached> =
        paths.iter().map(|path| Attached::look_at(path)).collect::<Result<_, _>>()?;
    must_fit(&attached)?;
    Ok(attached)
}

/// Whether they can go with one message.
pub(crate) fn must_fit(attached: &[Attached]) -> Result<(), Failure> {
    let size = attached.iter().map(Attached::size).sum::<u64>();
    match size > LARGEST_IMAGES {
        true => Err(Failure::refused(words::images_too_large(&bytes(size), &bytes(LARGEST_IMAGES)))
            .hint(words::IMAGES_TOO_LARGE_HINT)),
        false => Ok(()),
    }
}

fn length(data: &[u8]) -> u64 {
    u64::try_from(data.len()).unwrap_or(u64::MAX)
}

fn cannot_read(path: &Path, error: &std::io::Error) -> Failure {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            Failure::not_found(crate::words::no_file(path)).hint(words::NO_FILE_HINT)
        }
        ErrorKind::PermissionDenied => {
            Failure::failed(crate::words::not_allowed(path)).hint(crate::words::not_allowed_hint(path))
        }
        _ => Failure::failed(crate::words::cannot_read(path, error)),
    }
}
