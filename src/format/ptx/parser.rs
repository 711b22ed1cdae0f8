use std::collections::{BTreeSet, HashMap, HashSet};

use super::lexer::{Lexer, Token, integer};
use super::types::{self, Extent, Parameter, Type};
use super::{Bounds, Function, Item, Linkage, Ptx, Space, Symbol, Variable};
use crate::error::Malformed;
use crate::format::text::until_nul;

const BOM: &[u8] = b"\xef\xbb\xbf";

pub(super) fn starts_with_version(bytes: &[u8]) -> bool {
    let mut lexer = Lexer::new(bytes, start(bytes));
    matches!(lexer.next(), Ok(Some(Token::Word(".version"))))
}

/// Offset of the first byte after a byte order mark.
fn start(bytes: &[u8]) -> usize {
    if bytes.starts_with(BOM) { BOM.len() } else { 0 }
}

pub(super) fn parse(bytes: &[u8]) -> Result<Ptx<'_>, Malformed> {
    parse_until(bytes, |_| false)
}

/// Reads no further than `.target`.
pub(super) fn parse_header(bytes: &[u8]) -> Result<Ptx<'_>, Malformed> {
    parse_until(bytes, |ptx| !ptx.target.is_empty())
}

fn parse_until<'a>(
    bytes: &'a [u8],
    enough: impl Fn(&Ptx<'a>) -> bool,
) -> Result<Ptx<'a>, Malformed> {
    let text = until_nul(bytes);
    let mut parser = Parser {
        lexer: Lexer::new(text, start(text)),
        ptx: Ptx::default(),
        names: HashMap::new(),
    };
    parser.module(enough)?;
    Ok(parser.ptx)
}

/// What starts a statement of a module.
const MODULE_DIRECTIVES: &[&str] = &[
    ".version",
    ".target",
    ".address_size",
    ".file",
    ".section",
    ".visible",
    ".extern",
    ".weak",
    ".common",
    ".entry",
    ".func",
    ".alias",
    ".global",
    ".const",
    ".shared",
];

struct Parser<'a> {
    lexer: Lexer<'a>,
    ptx: Ptx<'a>,
    /// Place of every module symbol in the list.
    names: HashMap<&'a str, u32>,
}

/// What a function body needs beside the function.
#[derive(Default)]
struct Body<'a> {
    /// Module names that a declaration in the body hides.
    hidden: HashSet<&'a str>,
    calls: HashSet<u32>,
    references: HashSet<u32>,
    indirect_calls: BTreeSet<Option<String>>,
    /// `.callprototype` labels.
    prototypes: HashMap<&'a str, String>,
}

/// What stands before a declared name.
#[derive(Clone, Copy)]
struct Declarator<'a> {
    kind: Type<'a>,
    align: Option<u64>,
    managed: bool,
}

impl<'a> Parser<'a> {
    fn module(&mut self, enough: impl Fn(&Ptx<'a>) -> bool) -> Result<(), Malformed> {
        if self.lexer.peek()? != Some(Token::Word(".version")) {
            return Err(self
                .lexer
                .malformed("PTX starts with `.version`, which is not here"));
        }
        let mut linkage = Linkage::Local;
        while let Some(token) = self.lexer.next()? {
            let Token::Word(word) = token else {
                self.skip_statement(token)?;
                continue;
            };
            let next = match word {
                ".visible" => Linkage::Visible,
                ".extern" => Linkage::Extern,
                ".weak" => Linkage::Weak,
                ".common" => Linkage::Common,
                _ => Linkage::Local,
            };
            if next == Linkage::Local {
                self.statement(word, linkage)?;
            }
            linkage = next;
            if enough(&self.ptx) {
                break;
            }
        }
        Ok(())
    }

    fn statement(&mut self, word: &'a str, linkage: Linkage) -> Result<(), Malformed> {
        match word {
            ".version" => self.version(),
            ".target" => self.target(),
            ".address_size" => {
                let size = self.number("`.address_size`")?;
                self.ptx.address_size = u32::try_from(size).ok();
                Ok(())
            }
            ".file" => self.file(),
            ".entry" => self.function(linkage, true),
            ".func" => self.function(linkage, false),
            ".global" => self.variables(linkage, Space::Global),
            ".const" => self.variables(linkage, Space::Constant),
            ".shared" => self.variables(linkage, Space::Shared),
            ".alias" => self.alias(),
            _ => self.skip_statement(Token::Word(word)),
        }
    }

    /// Skips what this reader has no use for: up to `;`, over a block in braces, or to the next thing
    /// that it knows, since a directive of a later PTX version may end without any of them.
    fn skip_statement(&mut self, first: Token<'a>) -> Result<(), Malformed> {
        let mut token = first;
        loop {
            match token {
                Token::Punct(b';') => return Ok(()),
                Token::Punct(b'{') => return self.skip_block(),
                _ => {}
            }
            if let Some(Token::Word(next)) = self.lexer.peek()?
                && MODULE_DIRECTIVES.contains(&next)
            {
                return Ok(());
            }
            token = self.lexer.need("a statement")?;
        }
    }

    /// Skips to the brace that closes one already taken.
    fn skip_block(&mut self) -> Result<(), Malformed> {
        let mut depth = 1_usize;
        while depth > 0 {
            match self.lexer.need("a block in braces")? {
                Token::Punct(b'{') => depth += 1,
                Token::Punct(b'}') => depth -= 1,
                _ => {}
            }
        }
        Ok(())
    }

    fn version(&mut self) -> Result<(), Malformed> {
        let at = self.lexer.offset();
        let token = self.lexer.need("`.version`")?;
        let version = match token {
            Token::Number(text) => text
                .split_once('.')
                .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?))),
            _ => None,
        };
        self.ptx.version =
            version.ok_or_else(|| Malformed::new(at, "`.version` needs a number such as 8.5"))?;
        Ok(())
    }

    fn target(&mut self) -> Result<(), Malformed> {
        let Some(target) = self.lexer.take_word()? else {
            return Err(self.lexer.malformed("`.target` needs a name such as sm_90"));
        };
        self.ptx.target = target;
        while self.lexer.take(b',')? {
            if let Some(option) = self.lexer.take_word()? {
                self.ptx.options.push(option);
            }
        }
        Ok(())
    }

    /// `.file 1 "path"` and optionally a time and a size.
    fn file(&mut self) -> Result<(), Malformed> {
        while let Some(Token::Number(_) | Token::String(_) | Token::Punct(b',')) =
            self.lexer.peek()?
        {
            self.lexer.next()?;
        }
        Ok(())
    }

    fn number(&mut self, what: &str) -> Result<u64, Malformed> {
        let at = self.lexer.offset();
        if let Token::Number(text) = self.lexer.need(what)?
            && let Some(value) = integer(text)
        {
            return Ok(value);
        }
        Err(Malformed::new(at, format!("{what} needs a number")))
    }

    fn name(&mut self, what: &str) -> Result<&'a str, Malformed> {
        match self.lexer.take_word()? {
            Some(name) => Ok(name),
            None => Err(self.lexer.malformed(format!("expected a name in {what}"))),
        }
    }

    /// Adds a symbol or finds the one that was declared before.
    fn symbol(
        &mut self,
        name: &'a str,
        linkage: Linkage,
        item: Item<'a>,
        definition: Option<&'a [u8]>,
    ) {
        let place = self.ptx.symbols.len();
        // One symbol takes several bytes of text, and texts are below 4 GiB.
        let index = *self.names.entry(name).or_insert(place as u32) as usize;
        let defined = definition.is_some();
        let symbol = Symbol {
            name,
            linkage,
            defined,
            text: definition.unwrap_or_default(),
            item,
        };
        match self.ptx.symbols.get_mut(index) {
            None => self.ptx.symbols.push(symbol),
            // The definition says more than the declaration, wherever they stand.
            Some(known) if defined || !known.defined => {
                let linkage = match (known.linkage, linkage) {
                    (Linkage::Weak, _) | (_, Linkage::Weak) => Linkage::Weak,
                    (Linkage::Visible, Linkage::Local) => Linkage::Visible,
                    (_, linkage) => linkage,
                };
                *known = Symbol { linkage, ..symbol };
            }
            Some(_) => {}
        }
    }

    fn function(&mut self, linkage: Linkage, is_entry: bool) -> Result<(), Malformed> {
        let what = if is_entry { "`.entry`" } else { "`.func`" };
        // `.attribute(.unified(…))` and the like.
        while self.lexer.peek()? == Some(Token::Word(".attribute")) {
            self.lexer.next()?;
            self.skip_parentheses(what)?;
        }
        let returns = self.parameters(what)?;
        let name = self.name(what)?;
        let parameters = self.parameters(what)?;
        let mut function = Function {
            is_entry,
            prototype: types::prototype(&returns, &parameters),
            returns,
            parameters,
            ..Function::default()
        };
        let has_body = self.function_directives(&mut function.bounds, what)?;
        // A function may call itself: it is known before its body.
        self.symbol(
            name,
            linkage,
            Item::Function(Box::new(function.clone())),
            has_body.then_some(&[]),
        );
        if has_body {
            let start = self.lexer.offset();
            let body_function = self.body(function)?;
            let text = self.lexer.text_since(start);
            let item = Item::Function(Box::new(body_function));
            self.symbol(name, linkage, item, Some(text));
        }
        Ok(())
    }

    /// What stands between the signature and `{` or `;`. Returns whether a body follows.
    fn function_directives(&mut self, bounds: &mut Bounds, what: &str) -> Result<bool, Malformed> {
        loop {
            let word = match self.lexer.need(what)? {
                Token::Punct(b'{') => return Ok(true),
                Token::Punct(b';') => return Ok(false),
                Token::Word(word) => word,
                // Values of directives that are not known here.
                _ => continue,
            };
            match word {
                ".maxntid" => bounds.max_threads = Some(self.dimensions(word)?),
                ".reqntid" => bounds.required_threads = Some(self.dimensions(word)?),
                ".reqnctapercluster" => bounds.cluster = Some(self.dimensions(word)?),
                ".minnctapersm" => bounds.min_blocks = Some(self.small_number(word)?),
                ".maxnreg" => bounds.max_registers = Some(self.small_number(word)?),
                ".maxclusterrank" => bounds.max_cluster_rank = Some(self.small_number(word)?),
                ".explicitcluster" => bounds.explicit_cluster = true,
                ".blocksareclusters" => bounds.blocks_are_clusters = true,
                _ => {}
            }
        }
    }

    fn small_number(&mut self, what: &str) -> Result<u32, Malformed> {
        let at = self.lexer.offset();
        let value = self.number(what)?;
        u32::try_from(value)
            .map_err(|_| Malformed::new(at, format!("{what} is {value}, which is too large")))
    }

    /// `x`, `x, y` or `x, y, z`; those left out are 1.
    fn dimensions(&mut self, what: &str) -> Result<[u32; 3], Malformed> {
        let mut dimensions = [1; 3];
        for (axis, dimension) in dimensions.iter_mut().enumerate() {
            if axis > 0 && !self.lexer.take(b',')? {
                break;
            }
            *dimension = self.small_number(what)?;
        }
        Ok(dimensions)
    }

    fn skip_parentheses(&mut self, what: &str) -> Result<(), Malformed> {
        self.lexer.expect(b'(', what)?;
        let mut depth = 1_usize;
        while depth > 0 {
            match self.lexer.need(what)? {
                Token::Punct(b'(') => depth += 1,
                Token::Punct(b')') => depth -= 1,
                _ => {}
            }
        }
        Ok(())
    }

    /// A list in parentheses, or nothing.
    fn parameters(&mut self, what: &str) -> Result<Vec<Parameter<'a>>, Malformed> {
        let mut list = Vec::new();
        if !self.lexer.take(b'(')? {
            return Ok(list);
        }
        let mut end = 0_u64;
        while !self.lexer.take(b')')? {
            let mut parameter = self.parameter(what)?;
            parameter.offset = end
                .checked_next_multiple_of(parameter.align.max(1))
                .unwrap_or(u64::MAX);
            end = parameter.offset.saturating_add(parameter.size);
            list.push(parameter);
            self.lexer.take(b',')?;
        }
        Ok(list)
    }

    fn parameter(&mut self, what: &str) -> Result<Parameter<'a>, Malformed> {
        let declarator = self.declarator(what)?;
        let name = self.name(what)?;
        let extent = self.extent()?;
        Ok(Parameter {
            name,
            kind: declarator.kind,
            extent,
            align: declarator.align.unwrap_or(declarator.kind.bytes()),
            offset: 0,
            size: types::size(declarator.kind, extent).unwrap_or(0),
        })
    }

    /// `.param .align 8 .b8`, `.reg .v2 .f32`, `.param .u64 .ptr .global .align 4`…
    fn declarator(&mut self, what: &str) -> Result<Declarator<'a>, Malformed> {
        let at = self.lexer.offset();
        let mut kind = None;
        let mut lanes = 1;
        let mut align = None;
        let mut managed = false;
        while let Some(Token::Word(word)) = self.lexer.peek()? {
            if !word.starts_with('.') {
                break;
            }
            self.lexer.next()?;
            match word {
                // After a `.ptr` it is the alignment of what the pointer points to.
                ".align" => {
                    let value = self.number("`.align`")?;
                    if kind.is_none() {
                        align = Some(value);
                    }
                }
                ".attribute" => managed |= self.attribute(what)?,
                ".v2" => lanes = 2,
                ".v4" => lanes = 4,
                ".v8" => lanes = 8,
                _ => kind = kind.or(Type::parse(word)),
            }
        }
        match kind {
            Some(kind) => Ok(Declarator {
                kind: Type { lanes, ..kind },
                align,
                managed,
            }),
            None => Err(Malformed::new(at, format!("expected a type in {what}"))),
        }
    }

    /// `(.managed)`, `(.unified(…))`: whether it says managed.
    fn attribute(&mut self, what: &str) -> Result<bool, Malformed> {
        let mut ahead = self.lexer.clone();
        ahead.expect(b'(', what)?;
        let managed = ahead.next()? == Some(Token::Word(".managed"));
        self.skip_parentheses(what)?;
        Ok(managed)
    }

    fn extent(&mut self) -> Result<Extent, Malformed> {
        let mut extent = Extent::Scalar;
        while self.lexer.take(b'[')? {
            let dimension = self.dimension()?;
            extent = match (extent, dimension) {
                (Extent::Scalar, dimension) => dimension,
                (Extent::Array(a), Extent::Array(b)) => {
                    a.checked_mul(b).map_or(Extent::Unknown, Extent::Array)
                }
                (Extent::Unsized, _) | (_, Extent::Unsized) => Extent::Unsized,
                _ => Extent::Unknown,
            };
        }
        Ok(extent)
    }

    /// The inside of brackets of which the first is taken.
    fn dimension(&mut self) -> Result<Extent, Malformed> {
        let first = self.lexer.need("an array's brackets")?;
        if first == Token::Punct(b']') {
            return Ok(Extent::Unsized);
        }
        let count = match first {
            Token::Number(text) => integer(text),
            _ => None,
        };
        if self.lexer.take(b']')? {
            return Ok(count.map_or(Extent::Unknown, Extent::Array));
        }
        while self.lexer.need("an array's brackets")? != Token::Punct(b']') {}
        Ok(Extent::Unknown)
    }

    /// `.global .align 4 .b8 a[16] = {1, 2}, b;`
    fn variables(&mut self, linkage: Linkage, space: Space) -> Result<(), Malformed> {
        let what = "a variable";
        let declarator = self.declarator(what)?;
        loop {
            let name = self.name(what)?;
            let extent = self.extent()?;
            let initialised = self.lexer.take(b'=')?;
            let start = self.lexer.offset();
            let references = if initialised {
                self.initialiser()?
            } else {
                Vec::new()
            };
            let variable = Variable {
                space,
                kind: declarator.kind,
                extent,
                size: types::size(declarator.kind, extent),
                align: declarator.align.unwrap_or(declarator.kind.bytes()),
                managed: declarator.managed,
                initialised,
                references,
            };
            let text = self.lexer.text_since(start);
            let definition = (linkage != Linkage::Extern).then_some(text);
            self.symbol(name, linkage, Item::Variable(variable), definition);
            if !self.lexer.take(b',')? {
                return self.lexer.expect(b';', what);
            }
        }
    }

    /// Reads up to the `,` or `;` that ends an initialiser and returns the symbols it names.
    fn initialiser(&mut self) -> Result<Vec<u32>, Malformed> {
        let mut depth = 0_usize;
        let mut references = HashSet::new();
        loop {
            match self.lexer.peek()? {
                None => return Err(self.lexer.malformed("PTX ends within an initialiser")),
                Some(Token::Punct(b'{' | b'(')) => depth += 1,
                Some(Token::Punct(b'}' | b')')) => depth = depth.saturating_sub(1),
                Some(Token::Punct(b',' | b';')) if depth == 0 => return Ok(sorted(references)),
                Some(Token::Punct(b';')) => {
                    return Err(self.lexer.malformed("initialiser has no closing brace"));
                }
                Some(Token::Word(word)) => references.extend(self.names.get(word)),
                Some(_) => {}
            }
            self.lexer.next()?;
        }
    }

    /// `.alias a, b;`: `a`, declared before, is defined as `b`.
    fn alias(&mut self) -> Result<(), Malformed> {
        let alias = self.name("`.alias`")?;
        self.lexer.expect(b',', "`.alias`")?;
        let target = self.name("`.alias`")?;
        let place = |name| self.names.get(name).copied();
        if let (Some(alias), Some(target)) = (place(alias), place(target)) {
            let symbol = &mut self.ptx.symbols[alias as usize];
            symbol.defined = true;
            if let Item::Function(function) = &mut symbol.item {
                function.calls.push(target);
            }
        }
        self.lexer.expect(b';', "`.alias`")
    }

    /// A function's body, of which the opening brace is taken.
    fn body(&mut self, mut function: Function<'a>) -> Result<Function<'a>, Malformed> {
        let mut body = Body::default();
        let mut depth = 1_usize;
        while depth > 0 {
            match self.lexer.need("a function's body")? {
                Token::Punct(b'{') => depth += 1,
                Token::Punct(b'}') => depth -= 1,
                Token::Word(word) if self.lexer.take(b':')? => {
                    self.label(word, &mut body)?;
                }
                Token::Word(word) if word.starts_with('.') => self.local(word, &mut body)?,
                Token::Word(word) if word == "call" || word.starts_with("call.") => {
                    self.call(&mut function, &mut body)?;
                }
                // The predicate: the instruction follows.
                Token::Punct(b'@') => {
                    self.lexer.take(b'!')?;
                    self.lexer.take_word()?;
                }
                Token::Word(_) => self.operands(&mut function, &mut body)?,
                _ => {}
            }
        }
        function.calls = sorted(body.calls);
        function.references = sorted(body.references);
        function.indirect_calls = body.indirect_calls.into_iter().collect();
        Ok(function)
    }

    /// After `name:`.
    fn label(&mut self, name: &'a str, body: &mut Body<'a>) -> Result<(), Malformed> {
        let what = "`.callprototype`";
        if self.lexer.peek()? != Some(Token::Word(".callprototype")) {
            return Ok(());
        }
        self.lexer.next()?;
        let returns = self.parameters(what)?;
        self.name(what)?;
        let parameters = self.parameters(what)?;
        body.prototypes
            .insert(name, types::prototype(&returns, &parameters));
        self.skip_statement(Token::Word(what))
    }

    /// A directive in a body.
    fn local(&mut self, word: &'a str, body: &mut Body<'a>) -> Result<(), Malformed> {
        match word {
            ".loc" => self.loc(),
            ".reg" | ".param" | ".local" | ".shared" | ".const" | ".global" => {
                self.local_names(body)
            }
            // Branch targets are labels, call targets are functions whose address is taken.
            ".calltargets" => {
                while let Token::Word(name) = self.lexer.need(word)? {
                    body.references.extend(self.names.get(name));
                    if !self.lexer.take(b',')? {
                        return self.lexer.expect(b';', word);
                    }
                }
                Ok(())
            }
            _ => self.skip_statement(Token::Word(word)),
        }
    }

    /// `.loc 1 10 5` and optionally `, function_name $L, inlined_at 1 9 3`. No `;` ends it.
    fn loc(&mut self) -> Result<(), Malformed> {
        self.ptx.has_lines = true;
        loop {
            match self.lexer.peek()? {
                Some(Token::Number(_) | Token::Punct(b',' | b'+')) => {}
                Some(Token::Word("function_name")) => {
                    self.lexer.next()?;
                }
                Some(Token::Word("inlined_at")) => {}
                _ => return Ok(()),
            }
            self.lexer.next()?;
        }
    }

    /// Names declared in a body hide those of the module.
    fn local_names(&mut self, body: &mut Body<'a>) -> Result<(), Malformed> {
        loop {
            match self.lexer.need("a declaration")? {
                Token::Punct(b';') => return Ok(()),
                Token::Word(word) if self.names.contains_key(word) => {
                    body.hidden.insert(word);
                }
                _ => {}
            }
        }
    }

    /// `call.uni (ret), name, (arguments);` or `call (ret), %rd1, (arguments), prototype;`
    fn call(&mut self, function: &mut Function<'a>, body: &mut Body<'a>) -> Result<(), Malformed> {
        if self.lexer.peek()? == Some(Token::Punct(b'(')) {
            self.skip_parentheses("a call")?;
            self.lexer.take(b',')?;
        }
        let target = self.name("a call")?;
        let known = self
            .names
            .get(target)
            .filter(|_| !body.hidden.contains(target));
        if let Some(&known) = known {
            body.calls.insert(known);
            return self.operands(function, body);
        }
        // Through a pointer. The prototype is the last word.
        let mut last = None;
        loop {
            match self.lexer.need("a call")? {
                Token::Punct(b';') => break,
                Token::Word(word) => last = Some(word),
                _ => last = None,
            }
        }
        let prototype = last.and_then(|label| body.prototypes.get(label)).cloned();
        body.indirect_calls.insert(prototype);
        Ok(())
    }

    /// The operands of an instruction, up to its `;`.
    fn operands(
        &mut self,
        function: &mut Function<'a>,
        body: &mut Body<'a>,
    ) -> Result<(), Malformed> {
        loop {
            match self.lexer.need("an instruction")? {
                Token::Punct(b';') => return Ok(()),
                Token::Word("%envreg1" | "%envreg2") => function.reads_grid_registers = true,
                Token::Word(word) if !word.starts_with('%') => {
                    if let Some(&index) = self.names.get(word)
                        && !body.hidden.contains(word)
                    {
                        body.references.insert(index);
                    }
                }
                _ => {}
            }
        }
    }
}

fn sorted(set: HashSet<u32>) -> Vec<u32> {
    let mut list: Vec<u32> = set.into_iter().collect();
    list.sort_unstable();
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = ".version 8.5\n.target sm_90a, debug\n.address_size 64\n";

    fn with_header(text: &str) -> String {
        format!("{HEADER}{text}")
    }

    fn names(ptx: &Ptx<'_>, list: &[u32]) -> Vec<String> {
        list.iter()
            .map(|&index| ptx.symbols[index as usize].name.to_owned())
            .collect()
    }

    #[test]
    fn header_after_comments_a_byte_order_mark_and_windows_line_ends() {
        let text = "\u{feff}// made by hand\r\n\r\n/* x */ .version 8.5\r\n.target sm_90a, debug\r\n\
            .address_size 64\r\n\0 padding \x01";
        let ptx = Ptx::parse(text.as_bytes()).unwrap();
        assert_eq!(ptx.version, (8, 5));
        assert_eq!(ptx.target, "sm_90a");
        assert_eq!(ptx.options, ["debug"]);
        assert_eq!(ptx.address_size, Some(64));
        assert!(Ptx::is_ptx(text.as_bytes()));
        assert!(!Ptx::is_ptx(b".target sm_90"));
        assert!(!Ptx::is_ptx(b""));
    }

    #[test]
    fn parameters_lie_at_their_natural_offsets() {
        let text = with_header(
            ".visible .entry k(.param .u8 a, .param .u64 .ptr .global .align 4 b,\n\
             .param .align 16 .b8 c[3][4], .param .f32 d) .maxntid 128 .minnctapersm 2 .maxnreg 40\n\
             .reqnctapercluster 2, 1, 1 .maxclusterrank 8 .explicitcluster { ret; }",
        );
        let ptx = Ptx::parse(text.as_bytes()).unwrap();
        let (symbol, kernel) = ptx.functions().next().unwrap();
        assert_eq!((symbol.name, symbol.linkage), ("k", Linkage::Visible));
        let places: Vec<_> = kernel
            .parameters
            .iter()
            .map(|p| (p.offset, p.size))
            .collect();
        assert_eq!(places, [(0, 1), (8, 8), (16, 12), (28, 4)]);
        assert_eq!(kernel.parameter_bytes(), 32);
        assert_eq!(
            kernel.bounds,
            Bounds {
                max_threads: Some([128, 1, 1]),
                min_blocks: Some(2),
                max_registers: Some(40),
                cluster: Some([2, 1, 1]),
                max_cluster_rank: Some(8),
                explicit_cluster: true,
                ..Bounds::default()
            }
        );
    }

    #[test]
    fn prototypes_count_widths() {
        for (text, prototype) in [
            ("f", "#v"),
            ("(.param .b32 r) f(.param .b32 a, .param .b64 b)", "#iil"),
            (
                "(.param .align 8 .b8 r[24]) f(.param .f32 a, .param .f64 b)",
                "#b24fd",
            ),
            ("f(.param .b8 a[])", "#vb0"),
            (
                "(.reg .v2 .f32 r) f(.reg .v4 .b32 a, .param .b16 b)",
                "#lxh",
            ),
        ] {
            let text = with_header(&format!(".extern .func {text};"));
            let ptx = Ptx::parse(text.as_bytes()).unwrap();
            assert_eq!(ptx.functions().next().unwrap().1.prototype, prototype);
        }
    }

    #[test]
    fn variables_with_sizes_and_references() {
        let text = with_header(
            ".visible .func f() { ret; }\n\
             .global .attribute(.managed) .align 4 .u32 m;\n\
             .visible .const .align 8 .b8 c[16] = {1, 2}, d[2];\n\
             .extern .shared .b8 dyn[];\n\
             .common .global .v4 .f32 v[2];\n\
             .global .u64 table[2] = {f, generic(m)};",
        );
        let ptx = Ptx::parse(text.as_bytes()).unwrap();
        let variables: Vec<_> = ptx
            .symbols
            .iter()
            .filter_map(|symbol| match &symbol.item {
                Item::Variable(variable) => Some((symbol.name, symbol.defined, variable)),
                Item::Function(_) => None,
            })
            .collect();
        let sizes: Vec<_> = variables
            .iter()
            .map(|(name, defined, v)| (*name, *defined, v.size))
            .collect();
        assert_eq!(
            sizes,
            [
                ("m", true, Some(4)),
                ("c", true, Some(16)),
                ("d", true, Some(2)),
                ("dyn", false, None),
                ("v", true, Some(32)),
                ("table", true, Some(16)),
            ]
        );
        assert!(variables[0].2.managed && !variables[1].2.managed);
        assert!(variables[1].2.initialised && !variables[2].2.initialised);
        assert_eq!(names(&ptx, &variables[5].2.references), ["f", "m"]);
    }

    #[test]
    fn bodies_tell_calls_from_other_uses() {
        let text = with_header(
            ".extern .func (.param .b32 r) f(.param .b32 a);\n.extern .func unused();\n\
             .extern .func taken();\n.global .u32 x;\n.global .u32 hidden;\n\
             .visible .entry k() {\n .reg .b32 %r<3>; .reg .b32 hidden;\n\
             .loc 1 2 3, function_name $L__info0, inlined_at 1 4 5\n\
             @!%p1 ld.global.u32 %r1, [x+4]; mov.u32 hidden, %envreg2;\n\
             { call.uni (retval0), f, (param0); }\n mov.u64 %rd1, taken;\n\
             p: .callprototype (.param .b32 _) _ (.param .b64 _);\n\
             call (retval0), %rd1, (param0), p;\n$L1: bra $L1; }",
        );
        let ptx = Ptx::parse(text.as_bytes()).unwrap();
        let (_, kernel) = ptx
            .functions()
            .find(|(symbol, _)| symbol.name == "k")
            .unwrap();
        assert_eq!(names(&ptx, &kernel.calls), ["f"]);
        assert_eq!(names(&ptx, &kernel.references), ["taken", "x"]);
        assert_eq!(kernel.indirect_calls, [Some("#il".to_owned())]);
        assert!(kernel.reads_grid_registers && ptx.has_lines);
        assert_eq!(ptx.used(), [true, false, true, true, false, false]);
    }

    #[test]
    fn a_definition_wins_over_declarations() {
        let text = with_header(
            ".weak .func f(.param .b32 a);\n.func f(.param .b32 a) { ret; }\n.extern .func f(.param .b32 a);\n\
             .visible .func g();\n.visible .func h() { ret; }\n.alias g, h;",
        );
        let ptx = Ptx::parse(text.as_bytes()).unwrap();
        assert_eq!(ptx.symbols.len(), 3);
        assert!(ptx.symbols.iter().all(|symbol| symbol.defined));
        assert_eq!(ptx.symbols[0].linkage, Linkage::Weak);
    }

    #[test]
    fn what_is_not_known_does_not_swallow_a_kernel() {
        let text = with_header(
            ".file 1 \"a.cu\", 1, 2\n.newer 5, x\n.visible .entry a() { ret; }\n.pragma \"x\";\n\
             @@DWARF .byte 1\n.entry b { ret; }\n.section .debug_info { .b8 1, 2\n.b64 a\n}\n.entry c() .newer 1, 2 { ret; }",
        );
        let ptx = Ptx::parse(text.as_bytes()).unwrap();
        let kernels: Vec<_> = ptx.functions().map(|(symbol, _)| symbol.name).collect();
        assert_eq!(kernels, ["a", "b", "c"]);
    }

    #[test]
    fn cut_texts_are_errors() {
        for text in [
            ".entry k() { ret",
            ".entry k() { ret; ",
            ".entry k(.param .u32 a",
            ".entry k()",
            ".global .u32 x = {1",
            ".global .u32",
            ".pragma \"x",
        ] {
            assert!(Ptx::parse(with_header(text).as_bytes()).is_err(), "{text}");
        }
        assert_eq!(
            Ptx::parse(b"hello").unwrap_err().to_string(),
            "at offset 0x0: PTX starts with `.version`, which is not here"
        );
    }
}
