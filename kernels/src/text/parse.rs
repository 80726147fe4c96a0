//! From text to kernels.

use crate::element::{DType, Element, Value};
use crate::ir::{
    Arg, ArgId, ArgKind, BinaryOp, Inst, Kernel, Loop, RandomKind, ReduceOp, UnaryOp, ValueId,
};
use std::str::FromStr;

/// Where a text stops being a kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: expected {expected}, found {found}")]
pub struct ParseError {
    /// The line, counted from 1.
    pub line: usize,
    /// What would have been right there.
    pub expected: String,
    /// What stands there.
    pub found: String,
}

/// Reads the text form of a kernel; white space between words is free.
///
/// # Errors
///
/// Returns the first word that does not fit the grammar.
///
/// ```
/// use sparsefuse_kernels::text::parse;
///
/// let kernel = parse("kernel(a0: array f64 @0) { loop d0 { %0 = load a0 store a0 %0 } }")?;
/// assert_eq!(kernel.loops[0].body.len(), 2);
/// # Ok::<(), sparsefuse_kernels::text::ParseError>(())
/// ```
pub fn parse(text: &str) -> Result<Kernel, ParseError> {
    let mut parser = Parser {
        words: words(text),
        next: 0,
    };
    let kernel = parser.kernel()?;
    match parser.peek() {
        None => Ok(kernel),
        Some(_) => Err(parser.error("the end of the text")),
    }
}

/// A piece of text without white space, and its line.
type Word<'a> = (usize, &'a str);

fn words(text: &str) -> Vec<Word<'_>> {
    let is_mark = |c: char| "(){}:;,=".contains(c);
    let mut words = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for part in line.split_whitespace() {
            // Each mark is a word of its own.
            let mut rest = part;
            while let Some(at) = rest.find(is_mark) {
                if at > 0 {
                    words.push((number + 1, &rest[..at]));
                }
                words.push((number + 1, &rest[at..=at]));
                rest = &rest[at + 1..];
            }
            if !rest.is_empty() {
                words.push((number + 1, rest));
            }
        }
    }
    words
}

struct Parser<'a> {
    words: Vec<Word<'a>>,
    next: usize,
}

type Parsed<T> = Result<T, ParseError>;

impl<'a> Parser<'a> {
    fn kernel(&mut self) -> Parsed<Kernel> {
        let mut kernel = Kernel::default();
        self.expect("kernel")?;
        self.expect("(")?;
        while !self.is_at(";") && !self.is_at(")") {
            if !kernel.args.is_empty() {
                self.expect(",")?;
            }
            self.expect(&format!("a{}", kernel.args.len()))?;
            kernel.args.push(self.arg()?);
        }
        if self.accept(";") {
            while !self.is_at(")") {
                if !kernel.params.is_empty() {
                    self.expect(",")?;
                }
                self.expect(&format!("p{}", kernel.params.len()))?;
                self.expect(":")?;
                kernel.params.push(self.dtype()?);
            }
        }
        self.expect(")")?;
        self.expect("{")?;
        while !self.accept("}") {
            kernel.loops.push(self.loop_()?);
        }
        Ok(kernel)
    }

    fn arg(&mut self) -> Parsed<Arg> {
        self.expect(":")?;
        Ok(Arg {
            kind: self.named("a kind of argument", &ArgKind::ALL, ArgKind::name)?,
            dtype: self.dtype()?,
            memory: self.number('@', "the memory of an argument")?,
            temporary: self.accept("temporary"),
        })
    }

    fn loop_(&mut self) -> Parsed<Loop> {
        self.expect("loop")?;
        let domain = self.number('d', "a domain")?;
        self.expect("{")?;
        let mut body = Vec::new();
        while !self.accept("}") {
            let inst = match self.peek() {
                Some("store" | "store_scalar" | "reduce") => self.effect()?,
                Some(word) if word.starts_with('%') => {
                    self.expect(&format!("%{}", body.len()))?;
                    self.expect("=")?;
                    self.definition()?
                }
                _ => return Err(self.error("an instruction or `}`")),
            };
            body.push(inst);
        }
        Ok(Loop { domain, body })
    }

    /// An instruction that only writes memory.
    fn effect(&mut self) -> Parsed<Inst> {
        if self.accept("store") {
            return Ok(Inst::Store(self.arg_id()?, self.value_id()?));
        }
        if self.accept("store_scalar") {
            return Ok(Inst::StoreScalar(self.arg_id()?, self.value_id()?));
        }
        self.expect("reduce")?;
        let op = self.reduce_op()?;
        Ok(Inst::Reduce(op, self.arg_id()?, self.value_id()?))
    }

    /// An instruction that defines a value.
    fn definition(&mut self) -> Parsed<Inst> {
        let word = self.peek().unwrap_or_default();
        if let Some(op) = find(word, &UnaryOp::ALL, UnaryOp::name) {
            self.next += 1;
            return Ok(Inst::Unary(op, self.value_id()?));
        }
        if let Some(op) = find(word, &BinaryOp::ALL, BinaryOp::name) {
            self.next += 1;
            return Ok(Inst::Binary(op, self.value_id()?, self.value_id()?));
        }
        let at = self.next;
        self.next += 1;
        Ok(match word {
            "const" => Inst::Const(self.constant()?),
            "param" => Inst::Param(self.number('p', "a parameter")?),
            "load_scalar" => Inst::LoadScalar(self.arg_id()?),
            "index" => Inst::Index,
            "load" => Inst::Load(self.arg_id()?),
            "select" => Inst::Select(self.value_id()?, self.value_id()?, self.value_id()?),
            "cast" => Inst::Cast(self.dtype()?, self.value_id()?),
            "random" => Inst::Random {
                kind: self.named("a distribution", &RandomKind::ALL, RandomKind::name)?,
                seed: self.value_id()?,
                index: self.value_id()?,
            },
            "row_sum" => Inst::RowSum {
                structure: self.arg_id()?,
                entries: self.arg_id()?,
                x: self.arg_id()?,
            },
            "gather" => Inst::Gather {
                structure: self.arg_id()?,
                x: self.arg_id()?,
            },
            "row_reduce" => Inst::RowReduce {
                op: self.reduce_op()?,
                rows: self.arg_id()?,
                x: match self.peek() {
                    Some(word) if word.starts_with('a') => Some(self.arg_id()?),
                    _ => None,
                },
            },
            _ => {
                self.next = at;
                return Err(self.error("an operation"));
            }
        })
    }

    fn constant(&mut self) -> Parsed<Value> {
        let dtype = self.dtype()?;
        let bits = match dtype {
            DType::ComplexF32 | DType::ComplexF64 => {
                self.expect("(")?;
                let re = self.real(dtype.real())?;
                self.expect(",")?;
                let im = self.real(dtype.real())?;
                self.expect(")")?;
                [re, im]
            }
            DType::F32 | DType::F64 => [self.real(dtype)?, 0],
            DType::I32 => self.element::<i32>()?,
            DType::I64 => self.element::<i64>()?,
            DType::U32 => self.element::<u32>()?,
            DType::U64 => self.element::<u64>()?,
            DType::Bool => self.element::<bool>()?,
        };
        Ok(Value::from_bits(dtype, bits))
    }

    /// The bits of a real number: decimal, `inf`, `-inf`, or `nan(bits)`.
    fn real(&mut self, dtype: DType) -> Parsed<u64> {
        if self.accept("nan") {
            self.expect("(")?;
            let expected = "the bits of a NaN, such as `0x7ff8000000000000`";
            let bits = self.read(expected, |word| {
                let bits = u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()?;
                let value = Value::from_bits(dtype, [bits, 0]);
                (crate::scalar::is_nan(value) && value.bits()[0] == bits).then_some(bits)
            })?;
            self.expect(")")?;
            return Ok(bits);
        }
        let [bits, _] = match dtype {
            DType::F32 => self.element::<f32>()?,
            _ => self.element::<f64>()?,
        };
        Ok(bits)
    }

    fn element<T: Element + FromStr>(&mut self) -> Parsed<[u64; 2]> {
        let expected = format!("an element of type {}", T::DTYPE);
        // A NaN must show its bits, so it is not an element here.
        self.read(&expected, |word| {
            let value = word.parse::<T>().ok()?.to_value();
            (!crate::scalar::is_nan(value)).then_some(value.bits())
        })
    }

    fn dtype(&mut self) -> Parsed<DType> {
        self.read("an element type", DType::from_name)
    }

    fn reduce_op(&mut self) -> Parsed<ReduceOp> {
        self.named("a reduction", &ReduceOp::ALL, ReduceOp::name)
    }

    fn arg_id(&mut self) -> Parsed<ArgId> {
        self.number('a', "an argument")
    }

    fn value_id(&mut self) -> Parsed<ValueId> {
        self.number('%', "a value")
    }

    /// A number behind a letter.
    fn number(&mut self, letter: char, expected: &str) -> Parsed<u32> {
        let example = format!("{expected}, such as `{letter}0`");
        self.read(&example, |word| word.strip_prefix(letter)?.parse().ok())
    }

    fn named<T: Copy>(
        &mut self,
        expected: &str,
        all: &[T],
        name: fn(T) -> &'static str,
    ) -> Parsed<T> {
        self.read(expected, |word| find(word, all, name))
    }

    /// Takes the next word if `read` understands it.
    fn read<T>(&mut self, expected: &str, read: impl FnOnce(&str) -> Option<T>) -> Parsed<T> {
        match self.peek().and_then(read) {
            Some(value) => {
                self.next += 1;
                Ok(value)
            }
            None => Err(self.error(expected)),
        }
    }

    fn expect(&mut self, word: &str) -> Parsed<()> {
        if self.accept(word) {
            Ok(())
        } else {
            Err(self.error(&format!("`{word}`")))
        }
    }

    fn accept(&mut self, word: &str) -> bool {
        let is_at = self.is_at(word);
        self.next += usize::from(is_at);
        is_at
    }

    fn is_at(&self, word: &str) -> bool {
        self.peek() == Some(word)
    }

    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.next).map(|&(_, word)| word)
    }

    fn error(&self, expected: &str) -> ParseError {
        let last_line = self.words.last().map_or(1, |&(line, _)| line);
        let (line, found) = match self.words.get(self.next) {
            Some(&(line, word)) => (line, format!("`{word}`")),
            None => (last_line, "the end of the text".to_owned()),
        };
        ParseError {
            line,
            expected: expected.to_owned(),
            found,
        }
    }
}

fn find<T: Copy>(word: &str, all: &[T], name: fn(T) -> &'static str) -> Option<T> {
    all.iter().copied().find(|&item| name(item) == word)
}
