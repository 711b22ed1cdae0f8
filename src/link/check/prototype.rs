//! Signatures as linkers compare them, such as `#ii`, put into words. They know widths alone: `int` and
//! `float` are both `i`, and every structure is its number of bytes (measured on ptxas 11.8 to 13.5).

/// `#ib8` → `returns 32 bits, takes 8-byte struct`. A text of another form is given back as it is.
pub fn in_words(prototype: &str) -> String {
    let Some((returns, parameters)) = prototype.strip_prefix('#').and_then(split_first) else {
        return format!("has the signature `{prototype}`");
    };
    let mut words = Vec::new();
    let mut rest = parameters;
    while let Some((item, after)) = split_first(rest) {
        words.push(item_in_words(item));
        rest = after;
    }
    let returns = item_in_words(returns);
    let takes = match words.split_last() {
        None => "nothing".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    };
    format!("returns {returns}, takes {takes}")
}

/// The first letter with its count, and the rest.
fn split_first(text: &str) -> Option<(&str, &str)> {
    let letter = text.chars().next()?.len_utf8();
    let digits = text[letter..]
        .bytes()
        .take_while(u8::is_ascii_digit)
        .count();
    Some(text.split_at(letter + digits))
}

fn item_in_words(item: &str) -> String {
    let (letter, count) = item.split_at(item.chars().next().map_or(0, char::len_utf8));
    let one = match letter {
        "v" => "nothing",
        "b" => "8 bits",
        "h" => "16 bits",
        "i" => "32 bits",
        "l" => "64 bits",
        "x" => "128 bits",
        "f" => "32-bit float",
        "d" => "64-bit float",
        _ => return format!("`{item}`"),
    };
    match (letter, count) {
        (_, "") => one.to_owned(),
        (_, "0") => "an array without size".to_owned(),
        ("b", bytes) => format!("{bytes}-byte struct"),
        (_, count) => format!("{count} times {one}"),
    }
}

#[cfg(test)]
mod tests {
    use super::in_words;

    #[test]
    fn every_form() {
        for (prototype, words) in [
            ("#v", "returns nothing, takes nothing"),
            ("#ii", "returns 32 bits, takes 32 bits"),
            (
                "#vlib8",
                "returns nothing, takes 64 bits, 32 bits and 8-byte struct",
            ),
            (
                "#b24fd",
                "returns 24-byte struct, takes 32-bit float and 64-bit float",
            ),
            (
                "#vi4b0",
                "returns nothing, takes 4 times 32 bits and an array without size",
            ),
            ("#vq", "returns nothing, takes `q`"),
            ("#", "has the signature `#`"),
            ("é", "has the signature `é`"),
            ("#éé", "returns `é`, takes `é`"),
        ] {
            assert_eq!(in_words(prototype), words);
        }
    }
}
