//! The paths that source files name, in `use` declarations and elsewhere, and the files that define what they name.

use proc_macro2::{Span, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path as FilePath, PathBuf};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, Macro, Path, UseTree, Visibility};

/// A path that a module names.
pub(crate) struct Named {
    /// From the root of the crate on.
    pub(crate) path: Vec<String>,
    pub(crate) line: usize,
    pub(crate) in_tests: bool,
    /// `pub use`: offered to others, not used here.
    pub(crate) is_offered: bool,
}

/// A module, in a file of its own or inside another.
#[derive(Default)]
pub(crate) struct Module {
    pub(crate) file: PathBuf,
    children: BTreeSet<String>,
    items: BTreeSet<String>,
    /// Names that `use` declarations import, with their paths.
    imports: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
    pub(crate) named: Vec<Named>,
}

/// The modules of a crate, by their paths from its root on.
pub(crate) struct Crate(pub(crate) BTreeMap<Vec<String>, Module>);

impl Crate {
    /// `src`: the folder that holds `lib.rs`.
    pub(crate) fn read(src: &FilePath) -> Crate {
        let mut modules = BTreeMap::new();
        let mut files = vec![(Vec::new(), src.join("lib.rs"), false)];
        while let Some((path, file, in_tests)) = files.pop() {
            let text =
                fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
            let syntax =
                syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
            let mut reader = Reader {
                modules: &mut modules,
                files: &mut files,
                file: &file,
                src,
                path,
                in_tests,
            };
            reader.module(&syntax.items);
        }
        let mut all = Crate(modules);
        let paths: Vec<Vec<String>> = all.0.keys().cloned().collect();
        for path in paths {
            let mut named = std::mem::take(&mut all.0.get_mut(&path).expect("a module").named);
            named.retain_mut(|named| {
                let absolute = all.absolute(&path, &named.path);
                absolute.map(|absolute| named.path = absolute).is_some()
            });
            all.0.get_mut(&path).expect("a module").named = named;
        }
        all
    }

    /// From the root on, if the path as it is written in a module is one of this crate.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<Vec<String>> {
        let first = path.first()?;
        let mut here = module.to_vec();
        let mut rest = path;
        match first.as_str() {
            "crate" | "self" => {
                here.truncate(if first == "crate" { 0 } else { here.len() });
                rest = &rest[1..];
            }
            "super" => {}
            _ if self.0[module].children.contains(first) => {}
            _ => {
                let import =
                    self.0[module].imports.get(first).filter(|import| import[0] != *first)?;
                let mut path = self.absolute(module, import)?;
                path.extend_from_slice(&rest[1..]);
                return Some(path);
            }
        }
        while rest.first().is_some_and(|name| name == "super") {
            here.pop();
            rest = &rest[1..];
        }
        here.extend_from_slice(rest);
        Some(here)
    }

    /// The file that defines what a path from the root on names, wherever it is offered again.
    pub(crate) fn file(&self, path: &[String]) -> Option<&FilePath> {
        self.follow(path, 8).map(|module| module.file.as_path())
    }

    /// `depth`: how many imports are followed, since they may lead in a circle.
    fn follow(&self, path: &[String], depth: usize) -> Option<&Module> {
        let mut here = Vec::new();
        for (i, name) in path.iter().enumerate() {
            let module = self.0.get(&here)?;
            if module.children.contains(name) {
                here.push(name.clone());
                continue;
            }
            if let (Some(import), 1..) = (module.imports.get(name), depth) {
                let mut target = self.absolute(&here, import)?;
                target.extend_from_slice(&path[i + 1..]);
                return self.follow(&target, depth - 1);
            }
            let mut globs =
                module.globs.iter().filter_map(|glob| self.0.get(&self.absolute(&here, glob)?));
            let offers = |from: &&Module| !module.items.contains(name) && from.items.contains(name);
            return globs.find(offers).or(Some(module));
        }
        self.0.get(&here)
    }
}

struct Reader<'a> {
    modules: &'a mut BTreeMap<Vec<String>, Module>,
    /// Modules in files that are to be read: path, file, whether they are tests.
    files: &'a mut Vec<(Vec<String>, PathBuf, bool)>,
    file: &'a FilePath,
    src: &'a FilePath,
    path: Vec<String>,
    in_tests: bool,
}

impl Reader<'_> {
    fn module(&mut self, items: &[Item]) {
        self.here().file = self.file.to_owned();
        items.iter().for_each(|item| self.visit_item(item));
    }

    fn here(&mut self) -> &mut Module {
        self.modules.entry(self.path.clone()).or_default()
    }

    fn name(&mut self, path: Vec<String>, at: Span, is_offered: bool) {
        let (line, in_tests) = (at.start().line, self.in_tests);
        self.here().named.push(Named { path, line, in_tests, is_offered });
    }

    fn use_tree(&mut self, tree: &UseTree, mut prefix: Vec<String>, at: Span, is_offered: bool) {
        let (name, ident) = match tree {
            UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                return self.use_tree(&path.tree, prefix, at, is_offered);
            }
            UseTree::Group(group) => {
                let trees = group.items.iter();
                return trees.for_each(|tree| self.use_tree(tree, prefix.clone(), at, is_offered));
            }
            UseTree::Glob(_) => {
                self.here().globs.push(prefix.clone());
                return self.name(prefix, at, is_offered);
            }
            UseTree::Name(name) => (&name.ident, &name.ident),
            UseTree::Rename(rename) => (&rename.rename, &rename.ident),
        };
        // `self` in braces is the path before them.
        if ident != "self" {
            prefix.push(ident.to_string());
        }
        let name = if name == "self" { prefix.last().cloned() } else { Some(name.to_string()) };
        self.here().imports.extend(name.map(|name| (name, prefix.clone())));
        self.name(prefix, at, is_offered);
    }

    /// Paths among the arguments of a macro.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match &token {
                TokenTree::Ident(ident) if path.is_empty() || colons == 2 => {
                    path.push(ident.to_string())
                }
                TokenTree::Punct(sign) if sign.as_char() == ':' => {
                    colons += 1;
                    continue;
                }
                TokenTree::Group(group) => self.tokens(group.stream()),
                _ => {}
            }
            colons = 0;
            let goes_on =
                matches!(tokens.peek(), Some(TokenTree::Punct(sign)) if sign.as_char() == ':');
            if !goes_on {
                let path = std::mem::take(&mut path);
                if path.len() > 1 {
                    self.name(path, token.span(), false);
                }
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, name) = parts(item);
        let was_in_tests = self.in_tests;
        self.in_tests |= attributes.iter().any(is_for_tests);
        self.here().items.extend(name);
        match item {
            Item::Mod(inner) => {
                let name = inner.ident.to_string();
                self.here().children.insert(name.clone());
                self.path.push(name);
                let elsewhere =
                    inner.attrs.iter().any(|attribute| attribute.path().is_ident("path"));
                match &inner.content {
                    Some((_, items)) if !elsewhere => self.module(items),
                    None if !elsewhere => {
                        let path = self.src.join(self.path.join("/"));
                        let file = [path.with_extension("rs"), path.join("mod.rs")];
                        let file =
                            file.into_iter().find(|file| file.exists()).expect("a module's file");
                        self.files.push((self.path.clone(), file, self.in_tests));
                    }
                    // Shared with the tests outside.
                    _ => {}
                }
                self.path.pop();
            }
            Item::Use(item) => {
                let is_offered = !matches!(item.vis, Visibility::Inherited);
                self.use_tree(&item.tree, Vec::new(), item.use_token.span, is_offered);
            }
            _ => visit::visit_item(self, item),
        }
        self.in_tests = was_in_tests;
    }

    fn visit_path(&mut self, path: &'ast Path) {
        let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        if let (Some(first), 2..) = (path.segments.first(), names.len()) {
            self.name(names, first.ident.span(), false);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast Macro) {
        self.visit_path(&called.path);
        self.tokens(called.tokens.clone());
    }
}

/// `cfg(test)`, also with further conditions.
fn is_for_tests(attribute: &Attribute) -> bool {
    let mut found = false;
    if attribute.path().is_ident("cfg") {
        // What this closure does not take is an error of the parser, which does not matter here.
        let _ = attribute.parse_nested_meta(|meta| {
            found |= meta.path.is_ident("test");
            if meta.path.is_ident("all") {
                meta.parse_nested_meta(|meta| {
                    found |= meta.path.is_ident("test");
                    Ok(())
                })?;
            }
            Ok(())
        });
    }
    found
}

/// An item's attributes and name.
fn parts(item: &Item) -> (&[Attribute], Option<String>) {
    let (attributes, name) = match item {
        Item::Const(item) => (&item.attrs, &item.ident),
        Item::Enum(item) => (&item.attrs, &item.ident),
        Item::Fn(item) => (&item.attrs, &item.sig.ident),
        Item::Static(item) => (&item.attrs, &item.ident),
        Item::Struct(item) => (&item.attrs, &item.ident),
        Item::Trait(item) => (&item.attrs, &item.ident),
        Item::Type(item) => (&item.attrs, &item.ident),
        Item::Union(item) => (&item.attrs, &item.ident),
        Item::Mod(item) => return (&item.attrs, None),
        Item::Use(item) => return (&item.attrs, None),
        Item::Impl(item) => return (&item.attrs, None),
        Item::ForeignMod(item) => return (&item.attrs, None),
        Item::Macro(item) => return (&item.attrs, item.ident.as_ref().map(ToString::to_string)),
        _ => return (&[], None),
    };
    (attributes, Some(name.to_string()))
}
