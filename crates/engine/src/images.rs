//! Images that come with a prompt: checked before anything is written, whichever front end sends them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use offshoot_api::views::BlockView;
use offshoot_api::{ApiError, ErrorCode, ErrorData};
use offshoot_session::image::{ImageKind, LARGEST_IMAGE, LARGEST_IMAGES, MOST_IMAGES};

/// Refuses images that are too large, too many, or not what they say they are.
pub(crate) fn check(images: &[BlockView]) -> Result<(), ApiError> {
    if images.len() > MOST_IMAGES {
        let message = format!("a message has at most {MOST_IMAGES} images, not {}", images.len());
        return Err(too_large("images", images.len() as u64, MOST_IMAGES as u64, message));
    }
    let mut all = 0;
    for image in images {
        let BlockView::Image { media_type, base64, .. } = image else {
            return Err(ApiError::new(
                ErrorCode::Invalid,
                "only images can stand among the images of a message",
            ));
        };
        // One that is stored already was checked when it came.
        let Some(base64) = base64 else { continue };
        let invalid = || ApiError::new(ErrorCode::Invalid, "an image is not in base64");
        let bytes = STANDARD.decode(base64).map_err(|_| invalid())?;
        let size = bytes.len() as u64;
        if size > LARGEST_IMAGE {
            let message = format!("an image has {size} bytes, and at most {LARGEST_IMAGE} are accepted");
            return Err(too_large("image", size, LARGEST_IMAGE, message));
        }
        let kind = ImageKind::of(&bytes).filter(|kind| kind.media_type() == media_type);
        if kind.is_none() {
            let message =
                format!("an image is not of the type `{media_type}`; PNG, JPEG, GIF and WebP are accepted");
            return Err(ApiError::new(ErrorCode::Invalid, message));
        }
        all += size;
    }
    if all > LARGEST_IMAGES {
        let message =
            format!("the images of a message have {all} bytes, and at most {LARGEST_IMAGES} are accepted");
        return Err(too_large("images", all, LARGEST_IMAGES, message));
    }
    Ok(())
}

fn too_large(what: &str, bytes: u64, limit: u64, message: String) -> ApiError {
    let data = ErrorData {
        problem: Some(what.to_owned()),
        bytes: Some(bytes),
        limit: Some(limit),
        ..ErrorData::default()
    };
    ApiError::new(ErrorCode::TooLarge, message).about(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n....";

    fn image(bytes: &[u8], media_type: &str) -> BlockView {
        BlockView::Image {
            media_type: media_type.to_owned(),
            base64: Some(STANDARD.encode(bytes)),
            blob: None,
        }
    }

    fn code(images: &[BlockView]) -> Option<ErrorCode> {
        check(images).err().map(|error| error.code)
    }

    #[test]
    fn images_are_what_they_say_and_not_too_large() {
        assert_eq!(code(&[image(PNG, "image/png")]), None);
        assert_eq!(code(&[image(PNG, "image/gif")]), Some(ErrorCode::Invalid));
        assert_eq!(code(&[image(b"text", "text/plain")]), Some(ErrorCode::Invalid));
        let large = [PNG, &vec![0; LARGEST_IMAGE as usize]].concat();
        assert_eq!(code(&[image(&large, "image/png")]), Some(ErrorCode::TooLarge));
        let half = [PNG, &vec![0; 4 * 1024 * 1024]].concat();
        let three: Vec<BlockView> = (0..3).map(|_| image(&half, "image/png")).collect();
        assert_eq!(code(&three), Some(ErrorCode::TooLarge));
        let many: Vec<BlockView> = (0..=MOST_IMAGES).map(|_| image(PNG, "image/png")).collect();
        assert_eq!(code(&many), Some(ErrorCode::TooLarge));
    }
}
