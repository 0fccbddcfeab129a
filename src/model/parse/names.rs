//! Renaming of the names in a formula.

use super::tokens::{Token, TokenKind, Tokens};

/// Returns the formula with each name replaced by the result of `replace`; a name stays if the result is `None`.
/// Functions and the words of the language are not replaced. The text after a token that cannot be read stays as it
/// is.
pub(crate) fn replace_names<'a>(
    text: &'a str,
    mut replace: impl FnMut(&'a str) -> Option<String>,
) -> String {
    let mut tokens = Tokens::new(text);
    let mut next = || tokens.next().ok().filter(|token| token.kind != TokenKind::End);
    let (mut out, mut written) = (String::with_capacity(text.len()), 1);
    let mut characters = text.chars();
    let mut current = next();
    while let Some(Token { kind, text: word, column }) = current {
        out.extend(characters.by_ref().take(column - written));
        let length = word.chars().count();
        characters.by_ref().take(length).for_each(drop);
        written = column + length;
        current = next();
        let called = current.is_some_and(|token| token.text == "(");
        let plain = kind == TokenKind::Name && !called && !matches!(word, "and" | "or" | "not");
        match if plain { replace(word) } else { None } {
            Some(other) => out.push_str(&other),
            None => out.push_str(word),
        }
    }
    out.extend(characters);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_and_nothing_else() {
        let prefix = |name: &str| (name != "x").then(|| format!("g_{name}"));
        assert_eq!(
            replace_names("a*exp (-x/β1) + 2e3*e1 - if(x < 1 and not b > 2, 1, exp)", prefix),
            "g_a*exp (-x/g_β1) + 2e3*g_e1 - if(x < 1 and not g_b > 2, 1, g_exp)"
        );
        assert_eq!(replace_names("  x  ", prefix), "  x  ");
        assert_eq!(replace_names("", prefix), "");
    }
}
