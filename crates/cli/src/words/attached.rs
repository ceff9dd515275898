//! Sentences about files that go with a message.

use std::path::Path;

pub(crate) const NO_FILE_HINT: &str = "a name is taken from the folder you are in";
pub(crate) const FOLDER_HINT: &str = "name the files in it, each by itself";
pub(crate) const DEVICE_HINT: &str = "write it into a file first";
pub(crate) const NAME_HINT: &str = "a copy with another name can be sent";
pub(crate) const IMAGE_TOO_LARGE_HINT: &str = "make it smaller, or save it as JPEG";
pub(crate) const IMAGES_TOO_LARGE_HINT: &str = "send them with several messages";

pub(crate) fn name_is_no_text(path: &Path) -> String {
    format!("the name of `{}` is not UTF-8", path.display())
}

pub(crate) fn image_too_large(path: &Path, size: &str, limit: &str) -> String {
    format!("the image `{}` has {size}, and {limit} is the most", path.display())
}

pub(crate) fn images_too_large(size: &str, limit: &str) -> String {
    format!("the images of this message have {size} together, and {limit} is the most")
}

/// `shot.png (PNG image, 12.0 KiB)`
pub(crate) fn image(name: &str, kind: &str, size: &str) -> String {
    format!("{name} ({kind} image, {size})")
}

// While talking.

pub(crate) const NONE: &str = "No file goes with your next message.";

pub(crate) fn goes_along(file: &str) -> String {
    format!("{file} goes with your next message; `/attach --none` takes it back.")
}

pub(crate) fn go_along(files: &[String]) -> String {
    format!("With your next message go: {}. `/attach --none` takes them back.", files.join(", "))
}

pub(crate) fn goes_along_already(file: &str) -> String {
    format!("{file} goes with your next message already.")
}

/// Below a message.
pub(crate) fn with(things: &[String]) -> String {
    format!("with {}", things.join(", "))
}
