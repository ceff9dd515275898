//! Images as agents name them: a `data:` address that holds the image, or an address of another kind.

use offshoot_session::{Block, ImageData};

pub(crate) fn image_at(address: &str) -> Block {
    match inline(address) {
        Some((media_type, data)) => {
            Block::Image { media_type: media_type.to_owned(), data: ImageData::Inline(data.to_owned()) }
        }
        None => Block::Image { media_type: String::new(), data: ImageData::Blob(address.to_owned()) },
    }
}

/// Media type and base64 of a `data:` address.
fn inline(address: &str) -> Option<(&str, &str)> {
    let (head, data) = address.strip_prefix("data:")?.split_once(',')?;
    Some((head.strip_suffix(";base64")?, data))
}
