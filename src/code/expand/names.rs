use std::borrow::Cow;
use std::collections::HashMap;

/// Tells things of one name apart: `b.o`, `b.o#2`.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// How often each name was asked for or given out.
    counts: HashMap<String, u32>,
}

impl Names {
    pub(super) fn unique(&mut self, name: &str) -> String {
        let name = &*shortened(name);
        let Some(count) = self.counts.get(name).copied() else {
            self.counts.insert(name.to_owned(), 1);
            return name.to_owned();
        };
        let mut count = count;
        // A name may look like one that was given out.
        let unique = loop {
            count += 1;
            let candidate = format!("{name}#{count}");
            if !self.counts.contains_key(&candidate) {
                break candidate;
            }
        };
        self.counts.insert(name.to_owned(), count);
        self.counts.insert(unique.clone(), 1);
        unique
    }
}

/// Every image and problem repeats the names it lies under, so a name may not be arbitrarily long.
fn shortened(name: &str) -> Cow<'_, str> {
    const LONGEST: usize = 4096;
    if name.len() <= LONGEST {
        return name.into();
    }
    let end = name.floor_char_boundary(LONGEST);
    format!("{}…", &name[..end]).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_given_once() {
        let mut names = Names::default();
        let given = ["b.o", "b.o#2", "b.o", "b.o", "b.o#2", "c.o"].map(|name| names.unique(name));
        assert_eq!(given, ["b.o", "b.o#2", "b.o#3", "b.o#4", "b.o#2#2", "c.o"]);
    }
}
