//! Which images go with a prompt: what they are is told by their bytes, and models take only so many of them.

/// The largest single image, in bytes.
pub const LARGEST_IMAGE: u64 = 5 * 1024 * 1024;

/// All images of one prompt together.
pub const LARGEST_IMAGES: u64 = 10 * 1024 * 1024;

pub const MOST_IMAGES: usize = 20;

/// So many bytes of its beginning tell what it is.
pub const IMAGE_BEGINS: u64 = 12;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageKind {
    Png,
    Jpeg,
    Gif,
    WebP,
}

impl ImageKind {
    /// Names of files may say anything, so only the bytes count. `None`: no image that models read.
    pub fn of(begins: &[u8]) -> Option<Self> {
        match begins {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::WebP),
            _ => None,
        }
    }

    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Png => "PNG",
            Self::Jpeg => "JPEG",
            Self::Gif => "GIF",
            Self::WebP => "WebP",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_known_by_its_bytes() {
        let kind = |bytes: &[u8]| ImageKind::of(bytes).map(ImageKind::media_type);
        assert_eq!(kind(b"\x89PNG\r\n\x1a\n...."), Some("image/png"));
        assert_eq!(kind(b"\xff\xd8\xff\xe0"), Some("image/jpeg"));
        assert_eq!(kind(b"GIF89a"), Some("image/gif"));
        assert_eq!(kind(b"RIFF\x01\x02\x03\x04WEBPVP8 "), Some("image/webp"));
        for other in [b"RIFF\x01\x02\x03\x04WAVE".as_slice(), b"GIF is a format", b"\x89PNG", b""] {
            assert_eq!(kind(other), None, "{other:?}");
        }
    }
}
