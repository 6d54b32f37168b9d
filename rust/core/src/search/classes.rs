//! What every character is to the search analyser: the tables of Unicode 14.0 (spec/recall.md section 2.1).

use std::sync::LazyLock;

use unicode_normalization::char::canonical_combining_class;

/// Runs over all code points from 0 on: a class letter, then the length of the run in hexadecimal, nothing for 1. The
/// same string stands in `kernel/reference/search/classes14.py`; a test compares the two.
#[rustfmt::skip]
pub const CLASSES: &str = "\
S30NaS7L1aS6L1aS2fLS7N2SLS3NLSN3SL17SL1fSL1caS4LcSeL5S7LSLS11M70L5SL2X2L4SLX4S2LSL3XLXL14XL53SL8bSM7La6XL26X2LS6L29S\
2X2S3XM2dSMSM2SM2SMX8L1bX4L4S2XbS10MbS5L2bM15NaS4L2ML63SLM7S2M6L2M2SM4L2NaL3S2LSeXSLML1eM1bX2L59MbLXeNaL21M9L2S4LX2M\
S2L16M4LM9LM3LM5X2SfXL19M3X2SXLbX5L18SL6XS2X6M8L2aM18SM21L36M3LM12LM7LaM2S2NaSL10M3XL8X2L2X2L16XL7XLX3L4X2MLM7X2M2X2\
M3LX8MX4L2XL3M2X2NaL2S2N6S2LSMX2M3XL6X4L2X2L16XL7XL2XL2XL2X2MXM5X4M2X2M3X3MX7L4XLX7NaM2L3MSXaM3XL9XL3XL16XL7XL2XL5X2\
MLM8XM3XM3X2LXfL2M2X2NaS2X7LM6XM3XL8X2L2X2L16XL7XL2XL5X2MLM7X2M2X2M3X7M3X4L2XL3M2X2NaSLN6XaMLXL6X3L3XL4X3L2XLXL2X3L2\
X3L3X3LcX4M5X3M3XM4X2LX6MXeNdS8X5M5L8XL3XL17XL10X2MLM7XM3XM4X7M2XL3X2LX2L2M2X2NaX7SN7SLM3SL8XL3XL17XLaXL5X2MLM7XM3XM\
4X7M2X6L2XL2M2X2NaXL2XdM4L9XL3XL29M2LM7XM3XM4LSX4L3MN7L3M2X2N13SL6XM3XL12X3L18XL9XLX2L7X3MX4M6XMXM8X6NaX2M2SXcU30MU2\
M7X4SU7M8SNaS2X25U2XUXU5XU18XUXUaMU2M9UX2U5XUXM6X2NaX2U4X20US17M2S6N14SMSMSMS4M2U8XU24X4M14SM2U5MbXM24XS8MS6XSdX25U2\
bM14UNaS6U6M4U4M3UM3U2M7U3M4UdMcUMNaM4S2L26XLX5LX2L2bSL14dXL4X2L7XLXL4X2L29XL4X2L21XL4X2L7XLXL4X2LfXL39XL4X2L43X2M3S\
9N14X3L10SaX6L56X2L6X2SL26cS2L11SL1aS2X3L4bS3N3L8X7L12M4X9L13M3S2X9L12M2XcLdXL3XM2XcU34M20S3US4UMX2NaX6NaX6SbM3SMNaX\
6L59X7L5M2L22MLX5L46XaL1fXMcX4McX4SX3S2NaL1eX2L5XbL2cX4L1aX6NbX3S22L17M5X2S2L35MaXM1dX2MNaX6NaX6S7LS6X2M1fX31M5L2fM1\
1L8X3NaS11M9SbXM3L1eMdL2NaL2cMeX8S4L24M14X3S5NaX3L3NaL24S2L9X7L2bX2L3S8X8M3SM15L4ML6ML2M3LX5Lc0M40L116X2L6X2L26X2L6X\
2L8XLXLXLXL1fX2L35XL7SLS3L3XL7S3L4X2L6XS3LdS3X2L3XL7S2XS65XSaNLX2N6S5LNaS5XLdX3S21XfM21XfS2LS4LS2LaSLS3L5S6LSLSLSL4S\
LbS2L4S5L5S4LSN33L2N5S2X4S297X19SbX15N3cS4eN16S276N1eS3e0X2S20XS69Le5S6L4M3L2X5S4NS2L26XLX5LX2L38X7LSXeML17X9L7XL7XL\
7XL7XL7XL7XL7XL7XM20S2fLS2eX22S1aXS59XcSd6X1aScX4S5U3S19U9M6SU5S2N3L2S3XU56X2M2S2U3SU5aSU4X5L2bXL5eXS2N4SaL20S24XcU1\
0S1fXNaS1eN8SNfS20NaS27NfS140U19c0S40U5200L48dX3S37X9L2eS2L10dS3L10NaL2X14L2fM4SMaSL1fM2L46NaM2S6X8S17L9S2L67S2L40X5\
L2XLXL5X18L10ML3ML4ML17M5S4MX3N6S4X6L34S4X8M2L32M12X8S2NaX6M12L6S3LSL2MNaL1cM8S2L17MdXbSL1dX3M4L2fMeSdXLNaX4S2U5MUaN\
aU5XL29MeX9L3ML8M2X2NaX2S4U17S3UM3U2L30MLM3L2M2L5M2LMLX18L3S2LbM5S2L3M2XaL6X2L6X2L6X9L7XL7XL2bSLeS2X4L73M8SM2X2NaX6U\
2ba4XcL17X4L31X4S2100U16eX2U6aX26L7XcL5X5LMLaSLdXL5XLXL2XL2XL6cS11X10L16bS12L40X2L36X7SX20LcS4M10SaX6M10S23XS13XS4X4\
L5XL87X2SXSfNaS7L1aS6L1aSbU3aL1fX3L6X2L6X2L6X2L3X3S7XS7XaS5X2LcXL1aXL13XL2XLfX2LeX22L7bX5S3X4N2dX3S9N39S11N2S3XSdX3S\
X2fS2dMX82L1dX3L31XfMN1bX4L20N4X9L14NL8NX5L26M5X5L1eXSL24X4L8SN5X2aL9eX2NaX6L24X4L24X4L28X8L34XbSLbXLfXL7XL2XLbXLfXL\
7XL2X43L137X9L16XaL8X18L6XL2aXL9X45L6X2LXL2cXL2X3LX2L17XSN8L17S2N7L1fX8N9X30L13XL2X5N5L16N6X3SL1aX5SX40L38X4N2L2N10X\
2N2eLM3XM2X5M4L4XL3XL1dX2M3X4MN9X7S9X7L1dN2SL1dN3X20L8SL1cM2X4N5S7X9L36X3S7L16X2N8L13X5N8L12X7S4XcN7X50L49X37L33XdL3\
3X7N6L24M4X8NaX126N1fXL2aXM2SX2L2X4eL1dNaLX8L16MbN4S5X16L12M4S4X26L15N7X14L17X9M3L35MfS7X4N1eML2M2LX9M4L2dMbS7MXaSX2\
L19X7NaX6M3L24MeXNaS4LM2LX8L23MS2LX9M3L30MeL4S4M4SM2NaLSLS3XN14XbL12XL19McS6MX41L7XLXL4XLfXLaSX6L2fMcX5NaX6M4XL8X2L2\
X2L16XL7XL2XL5XM2LM7X2M2X2M3X2LX6MX5L5M2X2M7X3M5X8bL35M12L4S5NaS2XSML3X1eL30M14L2SLX8NaXa6L2fM7X2M9S17L4M2X22L30M11S\
3LXbNaX6SdX13L2bMdLSX6NaX36L1bX2MfX4NcS4L7Xb9L2cMfSX64L40N13XcL8X2LX2L8XL2XL18M6XM2X2M4LMLM2S3X9NaX46L8X2L27M7X2M7LS\
LMX1bLMaL28M7LM4S8MX8LMbL2eM10S3LS5XdL49X107L9XL25M8XM8LS5XaN1dX3S2L1eX2M16XMeX49L7XL2XL26M6X3MXM2XM7LMX8NaX6L6XL2XL\
20M5XM2XM5LX7NaX136L13M4S2Xb7LXfN15S1dXdSL39aX66N6fXS5XbLc4Xa4cL61S2XdL42fXS9Xfc7L247X21b9L239X7L1fXNaX4S2L4fXNaX6L1\
eX2M5SXaL30M7S9L4S2XaNaXN7XL15X5L13X2b0L40N17S4X65L4bX4MLM37X7M4LdX40L2SLMXbM2XeL17f8X8L4d6X2aL9X22e7L4XL7XL2XU123X2\
dU3X11U4X8L18cX904L6bX5LdX3L9X7LaX2SM2S5X125cM2eX2M17X9S74X3cSf6XaS27X2S3cM5S3M6S8M8S2M7S1eM4S3dX15S42M3SX9aN14XcS57\
X9N19X87L55XL47XL2X2LX2L2X2L4XLcXLXL7XL41XL4X2L8XL7XL1cXL4XL5XLX3L7XL154X2L19SL19SL1fSL19SL1fSL19SL1fSL19SL1fSL19SL8\
X2N32S200M37S4M32S8MSeMS7XfM5XMfX450L1fXe1M7XM11X2M7XM2XM5Xd5L2dX3M7L7X2NaX4LSX140L1eMX11L2cM4NaX5SX4e0L7XL4XL2XLfXL\
c5X2N9M7X29L44M7LX4NaX4S2X311N3bSN3SN4X4cN2dSNfXc2L4XL1bXL2XLX2LXLaXL4XLXLX6LX4LXLXLXL3XL2XLX2LXLXLXLXLXL2XLX2L4XL7X\
L4XL4XLXLaXL11X5L3XL5XL11X34S2X10eS2cX4S64XcSfX2SfXSfXS25XaNdSa1X38S1dXdS2cX4S9X7S2XeS6X9aS3d8X5S10X3SdX3S74XcS59X7S\
cX4SXfScX4S38X8SaX6S28X8S1eX2S2X4eS154XcSeX2S5X3S5X3S7X9S1dX3SbX5S6XaSaX6S8X8S7X9S93XS37X25NaX406Ua6e0X20U1039X7UdeX\
2U1682XeU1d31Xc1fU21eX5e2U134bXaecb6SX1eS60X80Mf0Xfe10SfffeX2SfffeX2";

const PAGE: usize = 256;
/// Marks of this combining class and above are accents, vowel points and tones, which people leave out.
const LEAST_ACCENT: u8 = 10;

/// The classes, equal pages once.
struct Table {
    stage: Vec<u16>,
    pages: Vec<[u8; PAGE]>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut all = Vec::with_capacity(0x11_0000);
    let mut letters = CLASSES.bytes().peekable();
    while let Some(letter) = letters.next() {
        let mut length = 0;
        while let Some(digit) = letters.peek().and_then(|byte| char::from(*byte).to_digit(16)) {
            length = length * 16 + digit as usize;
            letters.next();
        }
        all.resize(all.len() + length.max(1), letter.to_ascii_lowercase());
    }
    let mut table = Table { stage: Vec::new(), pages: Vec::new() };
    for chunk in all.chunks(PAGE) {
        let mut page = [b'x'; PAGE];
        page[..chunk.len()].copy_from_slice(chunk);
        let number = table.pages.iter().position(|known| *known == page).unwrap_or_else(|| {
            table.pages.push(page);
            table.pages.len() - 1
        });
        table.stage.push(u16::try_from(number).unwrap_or(0));
    }
    table
});

/// The class of a character: one of `x u l m n s`.
#[must_use]
pub fn class_of(c: char) -> u8 {
    let point = c as usize;
    if c.is_ascii() {
        return ASCII[point] & !KEPT;
    }
    let table = &*TABLE;
    let page = table.stage.get(point / PAGE).map_or(0, |page| usize::from(*page));
    table.pages.get(page).map_or(b'x', |page| page[point % PAGE])
}

/// The class of a character where words are looked for: `- + _ . / ' @ & \ # ) ]` are their own.
#[must_use]
pub fn token_class(c: char) -> u8 {
    if !c.is_ascii() {
        return class_of(c);
    }
    token_class_of_byte(c as u8)
}

/// The same of a character of ASCII.
#[must_use]
pub fn token_class_of_byte(byte: u8) -> u8 {
    let class = ASCII[usize::from(byte)];
    if class & KEPT == 0 { class } else { byte }
}

/// Marks a class in [`ASCII`] whose character is its own class.
const KEPT: u8 = 0x80;

static ASCII: [u8; 256] = {
    let mut classes = [b's'; 256];
    let mut at = 0;
    let mut byte = 0_u8;
    while at < 128 {
        if byte.is_ascii_alphabetic() {
            classes[at] = b'l';
        } else if byte.is_ascii_digit() {
            classes[at] = b'n';
        } else if matches!(byte, b'-' | b'+' | b'_' | b'.' | b'/' | b'\'' | b'@' | b'&' | b'\\' | b'#' | b')' | b']') {
            classes[at] = b's' | KEPT;
        }
        at += 1;
        byte += 1;
    }
    classes
};

/// Whether a mark is an accent, a vowel point or a tone, which [`super::fold::strip`] takes away.
#[must_use]
pub fn is_accent(c: char) -> bool {
    canonical_combining_class(c) >= LEAST_ACCENT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortcut_for_ascii_says_what_the_table_says() {
        for c in '\0'..='\u{7f}' {
            let table = &*TABLE;
            assert_eq!(class_of(c), table.pages[usize::from(table.stage[0])][c as usize], "{c:?}");
        }
        assert_eq!(TABLE.stage.len(), 0x1100);
    }

    #[test]
    fn classes_are_those_of_the_specification() {
        for (c, class) in
            [('é', b'l'), ('猫', b'u'), ('한', b'u'), ('\u{301}', b'm'), ('٣', b'n'), ('€', b's'), ('\u{1fae9}', b'x')]
        {
            assert_eq!(class_of(c), class, "{c:?}");
        }
        assert_eq!((token_class('-'), token_class(')'), token_class('(')), (b'-', b')', b's'));
    }
}
