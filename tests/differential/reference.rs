//! What a program means: plain loops over plain vectors, one step at a time.
//!
//! Nothing here knows of tasks, windows or ranks. Elements are computed by `kernels::scalar`, sums
//! in the order that `kernels::reduce` documents, written down here once more.

use crate::program::{self, Operand, Program, Range, Step, Var};
use sparsefuse::kernels::{BinaryOp, DType, Element, ReduceOp, UnaryOp, Value, random, scalar};
use std::collections::BTreeMap;

/// The variables of a program while it runs.
#[derive(Clone, Debug)]
pub(crate) struct World {
    tile_len: usize,
    stores: Vec<Vec<Value>>,
    pub(crate) vars: BTreeMap<Var, Entry>,
}

/// A variable.
#[derive(Clone, Debug)]
pub(crate) enum Entry {
    Array(Array),
    Matrix(Matrix),
}

/// Some elements of a store.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
    store: usize,
    /// Where in the store each element is, row-major.
    index: Vec<usize>,
    /// Whether it is the whole store as it is.
    pub(crate) is_whole: bool,
    /// Whether it was made by slices with ascending steps alone, so that it can be written.
    pub(crate) is_slice: bool,
}

/// A sparse matrix.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    pub(crate) shape: [usize; 2],
    rows: Vec<Vec<usize>>,
    pub(crate) vals: Array,
}

/// What a program shows of itself: the elements of one variable.
pub(crate) type Observation = Vec<Value>;

/// A program cut down to the steps that make sense, and what each of them shows.
pub(crate) fn run(program: &Program) -> (Vec<Step>, Vec<Observation>) {
    let mut world = World::new(program.tile_len);
    let (mut steps, mut observations) = (Vec::new(), Vec::new());
    for step in &program.steps {
        if let Some(shown) = world.apply(step) {
            steps.push(step.clone());
            observations.extend(shown);
        }
    }
    for entry in world.vars.values() {
        observations.push(match entry {
            Entry::Array(array) => world.elements(array),
            Entry::Matrix(matrix) => world.entries(matrix),
        });
    }
    (steps, observations)
}

/// The largest array of a program.
const MOST: usize = 6000;

impl World {
    pub(crate) fn new(tile_len: usize) -> Self {
        Self {
            tile_len,
            stores: Vec::new(),
            vars: BTreeMap::new(),
        }
    }

    pub(crate) fn array(&self, var: Var) -> Option<&Array> {
        match self.vars.get(&var)? {
            Entry::Array(array) => Some(array),
            Entry::Matrix(_) => None,
        }
    }

    fn matrix(&self, var: Var) -> Option<&Matrix> {
        match self.vars.get(&var)? {
            Entry::Array(_) => None,
            Entry::Matrix(matrix) => Some(matrix),
        }
    }

    fn elements(&self, array: &Array) -> Vec<Value> {
        array
            .index
            .iter()
            .map(|&at| self.stores[array.store][at])
            .collect()
    }

    /// The positions, columns and values of a matrix.
    fn entries(&self, matrix: &Matrix) -> Vec<Value> {
        let mut pos = 0u64;
        let mut shown = vec![pos.to_value()];
        for row in &matrix.rows {
            pos += row.len() as u64;
            shown.push(pos.to_value());
        }
        let columns = matrix.rows.iter().flatten();
        shown.extend(columns.map(|&column| (column as u32).to_value()));
        shown.extend(self.elements(&matrix.vals));
        shown
    }

    /// Runs a step, and returns what it shows; `None`, and nothing happens, if it makes no sense.
    pub(crate) fn apply(&mut self, step: &Step) -> Option<Option<Observation>> {
        match step {
            Step::Data {
                out,
                dtype,
                shape,
                flavour,
                seed,
            } => {
                let elements = (0..len(shape)?)
                    .map(|i| program::element(*dtype, *flavour, *seed, i))
                    .collect();
                self.make(*out, *dtype, shape, elements);
            }
            Step::Fill {
                out,
                dtype,
                shape,
                number,
            } => {
                let elements = vec![program::number(*dtype, *number); len(shape)?];
                self.make(*out, *dtype, shape, elements);
            }
            Step::Index {
                out,
                dtype,
                shape,
                factor,
            } => {
                BinaryOp::Mul.output(*dtype).filter(|_| !shape.is_empty())?;
                let factor = program::number(*dtype, *factor);
                let index = |i: usize| scalar::cast(*dtype, (i as i64).to_value());
                let elements = (0..len(shape)?)
                    .map(|i| scalar::binary(BinaryOp::Mul, index(i), factor))
                    .collect();
                self.make(*out, *dtype, shape, elements);
            }
            Step::Random { out, shape, seed } => {
                let elements = (0..len(shape)?).map(|i| random::bits(*seed, i as u64).to_value());
                let elements = elements.collect();
                Some(()).filter(|()| !shape.is_empty())?;
                self.make(*out, DType::U64, shape, elements);
            }
            Step::Unary { out, op, a } => {
                let a = self.array(*a)?.clone();
                let dtype = op.output(a.dtype)?;
                let elements = self
                    .elements(&a)
                    .iter()
                    .map(|&x| scalar::unary(*op, x))
                    .collect();
                self.make(*out, dtype, &a.shape, elements);
            }
            Step::Cast { out, to, a } => {
                let a = self.array(*a)?.clone();
                let elements = self
                    .elements(&a)
                    .iter()
                    .map(|&x| scalar::cast(*to, x))
                    .collect();
                self.make(*out, *to, &a.shape, elements);
            }
            Step::Binary { out, op, a, b } => {
                let dtype = self.dtype_of([*a, *b])?;
                let output = op.output(dtype)?;
                let (shape, [a, b]) = self.together(dtype, [*a, *b])?;
                let pairs = a.iter().zip(&b);
                let elements = pairs.map(|(&a, &b)| scalar::binary(*op, a, b)).collect();
                self.make(*out, output, &shape, elements);
            }
            Step::Operator { out, op, a, b } => {
                let (a, b) = (Operand::Of(*a), *b);
                let dtype = self.dtype_of([a, b])?;
                let is_operator = matches!(
                    op,
                    BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div
                );
                let output = op.output(dtype).filter(|_| is_operator)?;
                // Handles of different ranks do not go together.
                let ranks = [a, b].map(|operand| self.rank_of(operand));
                let fits = ranks[1] == 0 || (ranks[0] == ranks[1] && ranks[0] <= 2);
                let fits = fits && (1..=2).contains(&ranks[0]);
                let (shape, [a, b]) = self.together(dtype, [a, b]).filter(|_| fits)?;
                let pairs = a.iter().zip(&b);
                let elements = pairs.map(|(&a, &b)| scalar::binary(*op, a, b)).collect();
                self.make(*out, output, &shape, elements);
            }
            Step::Select {
                out,
                condition,
                a,
                b,
            } => {
                let dtype = self.dtype_of([*a, *b])?;
                let is_condition = match condition {
                    Operand::Of(var) => self.array(*var)?.dtype == DType::Bool,
                    Operand::Number(_) => true,
                };
                let (shape, elements) = self.select(dtype, [*condition, *a, *b], is_condition)?;
                self.make(*out, dtype, &shape, elements);
            }
            Step::Dot { out, a, b } => {
                let (a, b) = (self.array(*a)?.clone(), self.array(*b)?.clone());
                let fits = a.dtype == b.dtype && a.shape == b.shape && a.dtype != DType::Bool;
                Some(()).filter(|()| fits && (1..=2).contains(&a.shape.len()))?;
                let conjugate = |x| {
                    if a.dtype.is_complex() {
                        scalar::unary(UnaryOp::Conj, x)
                    } else {
                        x
                    }
                };
                let pairs = self.elements(&a).into_iter().zip(self.elements(&b));
                let products: Vec<_> = pairs
                    .map(|(x, y)| scalar::binary(BinaryOp::Mul, conjugate(x), y))
                    .collect();
                let dot = reduce(ReduceOp::Sum, a.dtype, (&a.shape, &products), self.tile_len);
                self.make(*out, a.dtype, &[], vec![dot]);
            }
            Step::Norm { out, a } => {
                let a = self.array(*a)?.clone();
                let fits = a.dtype.is_real_float() && (1..=2).contains(&a.shape.len());
                Some(()).filter(|()| fits)?;
                let squares: Vec<_> = self
                    .elements(&a)
                    .iter()
                    .map(|&x| scalar::binary(BinaryOp::Mul, x, x))
                    .collect();
                let sum = reduce(ReduceOp::Sum, a.dtype, (&a.shape, &squares), self.tile_len);
                self.make(*out, a.dtype, &[], vec![scalar::unary(UnaryOp::Sqrt, sum)]);
            }
            Step::Reduce { out, op, a } => {
                let a = self.array(*a)?.clone();
                let dtype = op.output(a.dtype).filter(|_| !a.shape.is_empty())?;
                let value = reduce(*op, a.dtype, (&a.shape, &self.elements(&a)), self.tile_len);
                self.make(*out, dtype, &[], vec![value]);
            }
            Step::Several {
                out,
                sums,
                largest,
                a,
                b,
            } => {
                let (a, b) = (self.array(*a)?.clone(), self.array(*b)?.clone());
                let fits = a.dtype == b.dtype && a.shape == b.shape && !a.shape.is_empty();
                let output = ReduceOp::Max.output(a.dtype).filter(|_| fits)?;
                let pairs = self.elements(&a).into_iter().zip(self.elements(&b));
                let products: Vec<_> = pairs
                    .map(|(x, y)| scalar::binary(BinaryOp::Mul, x, y))
                    .collect();
                let elements = self.elements(&a);
                let totals = [&products, &elements];
                let totals =
                    totals.map(|of| reduce(ReduceOp::Sum, a.dtype, (&a.shape, of), self.tile_len));
                let most = reduce(ReduceOp::Max, a.dtype, (&a.shape, &elements), self.tile_len);
                self.make(*out, output, &a.shape, products);
                self.make(*sums, output, &[2], totals.to_vec());
                self.make(*largest, output, &[], vec![most]);
            }
            Step::RowReduce { out, op, a } => {
                let a = self.array(*a)?.clone();
                let is_position = matches!(op, ReduceOp::ArgMin | ReduceOp::ArgMax);
                let dtype = op
                    .output(a.dtype)
                    .filter(|_| a.shape.len() >= 2 && !is_position)?;
                let elements = self.elements(&a);
                let (last, outer) = a.shape.split_last()?;
                let row = |i: usize| &elements[i * last..(i + 1) * last];
                let n_rows = outer.iter().product();
                let rows =
                    (0..n_rows).map(|i| reduce(*op, a.dtype, (&[*last], row(i)), self.tile_len));
                let rows = rows.collect();
                self.make(*out, dtype, outer, rows);
            }
            Step::MatVec { out, a, x } => {
                let (a, x) = (self.array(*a)?.clone(), self.array(*x)?.clone());
                let (last, outer) = a.shape.split_last()?;
                let fits = !outer.is_empty() && x.shape == [*last];
                let fits = fits && a.dtype == x.dtype && a.dtype != DType::Bool;
                Some(()).filter(|()| fits)?;
                let (elements, x) = (self.elements(&a), self.elements(&x));
                let row = |i: usize| {
                    let products: Vec<_> = (0..x.len())
                        .map(|k| scalar::binary(BinaryOp::Mul, elements[i * x.len() + k], x[k]))
                        .collect();
                    reduce(ReduceOp::Sum, a.dtype, (&[*last], &products), self.tile_len)
                };
                let n_rows = outer.iter().product();
                let rows = (0..n_rows).map(row).collect();
                self.make(*out, a.dtype, outer, rows);
            }
            Step::Slice { out, a, range } => {
                let slice = self.array(*a)?.slice(range)?;
                self.vars.insert(*out, Entry::Array(slice));
            }
            Step::Permute { out, a, swap } => {
                let permuted = self.array(*a)?.swapped(*swap);
                self.vars.insert(*out, Entry::Array(permuted));
            }
            Step::Reshape { out, a, shape } => {
                let a = self.array(*a)?;
                let reshaped = a.reshaped(&other_shape(a.index.len(), *shape))?;
                self.vars.insert(*out, Entry::Array(reshaped));
            }
            Step::Pick { out, a, dim, index } => {
                let range = Range {
                    dim: *dim,
                    start: *index,
                    end: index + 1,
                    step: 1,
                };
                let mut picked = self.array(*a)?.slice(&range)?;
                picked.shape.remove(*dim);
                picked.is_slice = false;
                self.vars.insert(*out, Entry::Array(picked));
            }
            Step::Broadcast { out, a, shape } => {
                len(shape)?;
                let array = self.array(*a)?.broadcast(shape)?;
                self.vars.insert(*out, Entry::Array(array));
            }
            Step::Moved { out, a, whole } => {
                let a = self.array(*a)?.clone();
                let row_len = a.shape.iter().skip(1).product();
                let mut elements = self.elements(&a);
                match whole {
                    _ if a.shape.is_empty() => return None,
                    true => elements.reverse(),
                    false => {
                        let first = elements[..elements.len().min(row_len)].to_vec();
                        elements.truncate(elements.len() - first.len());
                        elements.splice(0..0, first);
                    }
                }
                self.make(*out, a.dtype, &a.shape, elements);
            }
            Step::Chosen { out, a, every } => {
                let a = self.array(*a)?.clone();
                if a.shape.is_empty() {
                    return None;
                }
                let chosen: Vec<Value> = self.elements(&a).into_iter().step_by(*every).collect();
                self.make(*out, a.dtype, &[chosen.len()], chosen);
            }
            Step::Clone { out, a } => {
                let entry = self.vars.get(a)?.clone();
                self.vars.insert(*out, entry);
            }
            Step::Drop { a } => {
                self.vars.remove(a)?;
            }
            Step::Assign {
                target,
                ranges,
                source,
            } => {
                let old = self
                    .array(*target)
                    .filter(|array| !array.shape.is_empty())?
                    .clone();
                let copy = self.elements(&old);
                let mut part = Array::whole(old.dtype, &old.shape, usize::MAX);
                for range in ranges {
                    part = part.slice(range).filter(|_| range.step > 0)?;
                }
                let elements = self.source(&part, *source)?;
                self.make(*target, old.dtype, &old.shape, copy);
                let store = self.stores.len() - 1;
                for (&at, element) in part.index.iter().zip(elements) {
                    self.stores[store][at] = element;
                }
            }
            Step::Write { target, source } => {
                let part = self
                    .array(*target)
                    .filter(|array| array.is_writable())?
                    .clone();
                let elements = self.source(&part, *source)?;
                for (&at, element) in part.index.iter().zip(elements) {
                    self.stores[part.store][at] = element;
                }
            }
            Step::Update { target, op, other } => {
                let part = self
                    .array(*target)
                    .filter(|array| array.is_writable())?
                    .clone();
                op.output(part.dtype).filter(|dtype| *dtype == part.dtype)?;
                let others = self.source(&part, *other)?;
                for (&at, other) in part.index.iter().zip(others) {
                    let element = &mut self.stores[part.store][at];
                    *element = scalar::binary(*op, *element, other);
                }
            }
            Step::Matrix {
                out,
                dtype,
                shape,
                pattern,
                seed,
            } => {
                len(shape).filter(|_| program::MATRIX_DTYPES.contains(dtype))?;
                let rows: Vec<Vec<usize>> = (0..shape[0])
                    .map(|row| program::columns(*pattern, *seed, row, *shape))
                    .collect();
                let elements: Vec<Value> = rows
                    .iter()
                    .enumerate()
                    .flat_map(|(row, columns)| {
                        columns.iter().map(move |&column| row * shape[1] + column)
                    })
                    .map(|place| program::element(*dtype, program::Flavour::Smooth, *seed, place))
                    .collect();
                let n = elements.len();
                self.make(*out, *dtype, &[n], elements);
                let vals = self.array(*out)?.clone();
                self.vars.insert(
                    *out,
                    Entry::Matrix(Matrix {
                        shape: *shape,
                        rows,
                        vals,
                    }),
                );
            }
            Step::Product { out, matrix, x } => {
                let (matrix, x) = (self.matrix(*matrix)?.clone(), self.array(*x)?.clone());
                let fits = x.dtype == matrix.vals.dtype
                    && (1..=2).contains(&x.shape.len())
                    && x.shape[0] == matrix.shape[1];
                Some(()).filter(|()| fits)?;
                let width: usize = x.shape[1..].iter().product();
                let shape = [&[matrix.shape[0]], &x.shape[1..]].concat();
                let (vals, x) = (self.elements(&matrix.vals), self.elements(&x));
                let dtype = matrix.vals.dtype;
                let (mut product, mut entry) = (Vec::new(), 0);
                for columns in &matrix.rows {
                    let vals = &vals[entry..entry + columns.len()];
                    product.extend((0..width).map(|j| {
                        let entries = columns.iter().zip(vals);
                        entries.fold(scalar::from_f64(dtype, 0.0), |sum, (&column, &entry)| {
                            scalar::mul_add(entry, x[column * width + j], sum)
                        })
                    }));
                    entry += columns.len();
                }
                self.make(*out, dtype, &shape, product);
            }
            Step::Scale {
                out,
                matrix,
                factor,
            } => {
                let matrix = self.matrix(*matrix)?.clone();
                let is_single = self.rank_of(*factor) == 0;
                let factor = self.source(&Array::whole(matrix.vals.dtype, &[1], 0), *factor);
                let factor = factor.filter(|_| is_single)?[0];
                let vals = self.elements(&matrix.vals);
                let vals = vals
                    .iter()
                    .map(|&x| scalar::binary(BinaryOp::Mul, x, factor))
                    .collect();
                self.make(*out, matrix.vals.dtype, &matrix.vals.shape, vals);
                let vals = self.array(*out)?.clone();
                self.vars
                    .insert(*out, Entry::Matrix(Matrix { vals, ..matrix }));
            }
            Step::Values { out, matrix } => {
                let vals = self.matrix(*matrix)?.vals.clone();
                self.vars.insert(*out, Entry::Array(vals));
            }
            Step::WithValues {
                out,
                matrix,
                values,
            } => {
                let matrix = self.matrix(*matrix)?.clone();
                let vals = self.array(*values)?.clone();
                let fits = vals.dtype == matrix.vals.dtype && vals.shape == matrix.vals.shape;
                Some(()).filter(|()| fits)?;
                let vals = if vals.is_whole {
                    vals
                } else {
                    // A view is copied, so the matrix is not reached through it.
                    let elements = self.elements(&vals);
                    self.make(*out, vals.dtype, &vals.shape, elements);
                    self.array(*out)?.clone()
                };
                self.vars
                    .insert(*out, Entry::Matrix(Matrix { vals, ..matrix }));
            }
            Step::TransposeMatrix { out, matrix } => {
                let matrix = self.matrix(*matrix)?.clone();
                let vals = self.elements(&matrix.vals);
                let mut rows = vec![Vec::new(); matrix.shape[1]];
                let mut by_row = vec![Vec::new(); matrix.shape[1]];
                let mut next = vals.into_iter();
                for (row, columns) in matrix.rows.iter().enumerate() {
                    for &column in columns {
                        rows[column].push(row);
                        by_row[column].extend(next.next());
                    }
                }
                let vals: Vec<Value> = by_row.concat();
                let n = vals.len();
                self.make(*out, matrix.vals.dtype, &[n], vals);
                let vals = self.array(*out)?.clone();
                let shape = [matrix.shape[1], matrix.shape[0]];
                self.vars
                    .insert(*out, Entry::Matrix(Matrix { shape, rows, vals }));
            }
            Step::Diagonal { out, matrix } => {
                let matrix = self.matrix(*matrix)?.clone();
                let dtype = matrix.vals.dtype;
                let n = matrix.shape[0].min(matrix.shape[1]);
                let mut diagonal = vec![scalar::from_f64(dtype, 0.0); n];
                let mut vals = self.elements(&matrix.vals).into_iter();
                for (row, columns) in matrix.rows.iter().enumerate() {
                    for (&column, value) in columns.iter().zip(&mut vals) {
                        if column == row {
                            diagonal[row] = value;
                        }
                    }
                }
                self.make(*out, dtype, &[n], diagonal);
                if let Some(Entry::Array(array)) = self.vars.get_mut(out) {
                    // It may be a view; no program writes through it here.
                    (array.is_whole, array.is_slice) = (false, false);
                }
            }
            Step::ReadMatrix { matrix } => {
                let matrix = self.matrix(*matrix)?;
                return Some(Some(self.entries(matrix)));
            }
            Step::Read { a } => {
                let array = self.array(*a)?;
                return Some(Some(self.elements(array)));
            }
            Step::Hold { a } => {
                self.array(*a)?;
            }
            Step::Flush => {}
            Step::Rounds { count, steps } => {
                let mut world = self.clone();
                for step in (0..*count).flat_map(|_| steps) {
                    step.results()?;
                    world.apply(step)?;
                }
                *self = world;
            }
        }
        Some(None)
    }

    /// A variable with a store of its own.
    fn make(&mut self, out: Var, dtype: DType, shape: &[usize], elements: Vec<Value>) {
        self.stores.push(elements);
        let array = Array::whole(dtype, shape, self.stores.len() - 1);
        self.vars.insert(out, Entry::Array(array));
    }

    /// The type that all variables among some operands have; at least one is a variable.
    fn dtype_of<const N: usize>(&self, operands: [Operand; N]) -> Option<DType> {
        let mut dtypes = Vec::new();
        for operand in operands {
            if let Operand::Of(var) = operand {
                dtypes.push(self.array(var)?.dtype);
            }
        }
        let first = *dtypes.first()?;
        dtypes.iter().all(|dtype| *dtype == first).then_some(first)
    }

    fn rank_of(&self, operand: Operand) -> usize {
        match operand {
            Operand::Of(var) => self.array(var).map_or(0, |array| array.shape.len()),
            Operand::Number(_) => 0,
        }
    }

    /// The shape that operands broadcast to, and their elements at it.
    fn together<const N: usize>(
        &self,
        dtype: DType,
        operands: [Operand; N],
    ) -> Option<(Vec<usize>, [Vec<Value>; N])> {
        let mut shape: Vec<usize> = Vec::new();
        for operand in operands {
            if let Operand::Of(var) = operand {
                shape = common(&shape, &self.array(var)?.shape)?;
            }
        }
        len(&shape)?;
        let target = Array::whole(dtype, &shape, 0);
        let mut all = Vec::with_capacity(N);
        for operand in operands {
            all.push(match operand {
                Operand::Of(var) => self.elements(&self.array(var)?.broadcast(&shape)?),
                Operand::Number(choice) => vec![program::number(dtype, choice); target.index.len()],
            });
        }
        Some((shape, all.try_into().ok()?))
    }

    fn select(
        &self,
        dtype: DType,
        [condition, a, b]: [Operand; 3],
        is_condition: bool,
    ) -> Option<(Vec<usize>, Vec<Value>)> {
        Some(()).filter(|()| is_condition)?;
        // Numbers have the type of the list they stand in, so the condition's is made here.
        let (shape, [mut conditions, a, b]) = self.together(dtype, [condition, a, b])?;
        if let Operand::Number(choice) = condition {
            conditions.fill(program::number(DType::Bool, choice));
        }
        let choose = |i: usize| {
            if conditions[i] == true.to_value() {
                a[i]
            } else {
                b[i]
            }
        };
        let elements = (0..a.len()).map(choose).collect();
        Some((shape, elements))
    }

    /// The elements of what is written to an array.
    fn source(&self, target: &Array, source: Operand) -> Option<Vec<Value>> {
        match source {
            Operand::Number(choice) => Some(vec![
                program::number(target.dtype, choice);
                target.index.len()
            ]),
            Operand::Of(var) => {
                let array = self
                    .array(var)
                    .filter(|array| array.dtype == target.dtype)?;
                Some(self.elements(&array.broadcast(&target.shape)?))
            }
        }
    }
}

/// One of the shapes of up to four dimensions with this many elements.
pub(crate) fn other_shape(len: usize, choice: usize) -> Vec<usize> {
    let mut dims = Vec::new();
    let (mut rest, mut choice) = (len, choice);
    for _ in 0..choice % 4 {
        let divisors: Vec<usize> = (1..=rest).filter(|&n| rest.is_multiple_of(n)).collect();
        choice /= 4;
        let dim = divisors.get(choice % divisors.len().max(1)).copied();
        dims.push(dim.unwrap_or(choice % 5));
        rest /= dim.unwrap_or(1);
    }
    dims.push(rest);
    dims
}

impl Array {
    fn whole(dtype: DType, shape: &[usize], store: usize) -> Self {
        let index = (0..shape.iter().product()).collect();
        let shape = shape.to_vec();
        Self {
            dtype,
            shape,
            store,
            index,
            is_whole: true,
            is_slice: true,
        }
    }

    /// Whether a task may write through it.
    pub(crate) fn is_writable(&self) -> bool {
        self.is_slice
    }

    fn slice(&self, range: &Range) -> Option<Self> {
        let Range {
            dim,
            start,
            end,
            step,
        } = *range;
        let fits = dim < self.shape.len() && start <= end && step != 0;
        Some(()).filter(|()| fits && end <= self.shape[dim])?;
        let mut kept: Vec<usize> = if step > 0 {
            (start..end).step_by(step.unsigned_abs()).collect()
        } else {
            (start..end).rev().step_by(step.unsigned_abs()).collect()
        };
        kept.shrink_to_fit();
        let mut shape = self.shape.clone();
        shape[dim] = kept.len();
        let inner: usize = self.shape[dim + 1..].iter().product();
        let outer: usize = self.shape[..dim].iter().product();
        let mut index = Vec::new();
        for i in 0..outer {
            for &k in &kept {
                let first = (i * self.shape[dim] + k) * inner;
                index.extend_from_slice(&self.index[first..first + inner]);
            }
        }
        let is_slice = self.is_slice && step > 0;
        let is_whole = self.is_whole && step == 1 && shape == self.shape;
        Some(Self {
            shape,
            index,
            is_slice,
            is_whole,
            ..*self
        })
    }

    fn swapped(&self, swap: (usize, usize)) -> Self {
        let rank = self.shape.len().max(1);
        let (a, b) = (swap.0 % rank, swap.1 % rank);
        let mut shape = self.shape.clone();
        // How far neighbours along each dimension lie apart.
        let mut strides: Vec<usize> = (0..self.shape.len())
            .map(|d| self.shape[d + 1..].iter().product())
            .collect();
        if a != b {
            shape.swap(a, b);
            strides.swap(a, b);
        }
        let place = |mut flat: usize| {
            let mut place = 0;
            for (dim, stride) in shape.iter().zip(&strides).rev() {
                place += flat % dim * stride;
                flat /= dim;
            }
            place
        };
        let index = (0..self.index.len()).map(|at| self.index[place(at)]);
        let index = index.collect();
        let is_plain = a == b;
        Self {
            shape,
            index,
            is_whole: self.is_whole && is_plain,
            is_slice: self.is_slice && is_plain,
            ..*self
        }
    }

    /// In another shape, if it can be reached by steps of one length along each dimension.
    fn reshaped(&self, shape: &[usize]) -> Option<Self> {
        let mut is_reached = true;
        let mut inner = 1;
        for &len in shape.iter().rev().filter(|_| !self.index.is_empty()) {
            // Neighbours along this dimension are `inner` places of the list apart.
            let step = |at: usize| self.index[at + inner] as isize - self.index[at] as isize;
            for block in (0..self.index.len()).step_by(len * inner) {
                let places = block..block + (len - 1) * inner;
                is_reached &= places.clone().all(|at| step(at) == step(0));
            }
            inner *= len;
        }
        let is_same = shape == self.shape;
        is_reached.then(|| Self {
            shape: shape.to_vec(),
            index: self.index.clone(),
            is_whole: self.is_whole && is_same,
            is_slice: self.is_slice && is_same,
            ..*self
        })
    }

    fn broadcast(&self, shape: &[usize]) -> Option<Self> {
        if self.shape == shape {
            return Some(self.clone());
        }
        let lead = shape.len().checked_sub(self.shape.len())?;
        let fits = self
            .shape
            .iter()
            .zip(&shape[lead..])
            .all(|(&have, &want)| have == want || have == 1);
        Some(()).filter(|()| fits)?;
        let mut index = Vec::with_capacity(shape.iter().product());
        for mut flat in 0..shape.iter().product::<usize>() {
            let (mut from, mut stride) = (0, 1);
            for d in (0..shape.len()).rev() {
                let at = flat % shape[d];
                flat /= shape[d];
                if d >= lead && self.shape[d - lead] != 1 {
                    from += at * stride;
                }
                if d >= lead {
                    stride *= self.shape[d - lead];
                }
            }
            index.push(self.index[from]);
        }
        let shape = shape.to_vec();
        Some(Self {
            shape,
            index,
            is_whole: false,
            is_slice: false,
            ..*self
        })
    }
}

/// The number of elements, if it is small enough for a test.
fn len(shape: &[usize]) -> Option<usize> {
    Some(shape.iter().product()).filter(|&n| n <= MOST)
}

/// The shape that two shapes broadcast to.
fn common(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let at =
        |shape: &[usize], d: usize| (d + shape.len()).checked_sub(rank).map_or(1, |d| shape[d]);
    (0..rank)
        .map(|d| match (at(a, d), at(b, d)) {
            (a, b) if a == b || b == 1 => Some(a),
            (1, b) => Some(b),
            _ => None,
        })
        .collect()
}

/// A reduction of an array in the documented order: 16 lanes by index within each tile, the lanes
/// pairwise at distances 8, 4, 2, 1, then a binary tree over the tiles of a line, and over the
/// lines of each dimension.
fn reduce(
    op: ReduceOp,
    dtype: DType,
    (shape, elements): (&[usize], &[Value]),
    tile_len: usize,
) -> Value {
    let binary = match op {
        ReduceOp::Sum => BinaryOp::Add,
        ReduceOp::Prod => BinaryOp::Mul,
        ReduceOp::Min => BinaryOp::Min,
        ReduceOp::Max => BinaryOp::Max,
        ReduceOp::Any => BinaryOp::Or,
        ReduceOp::All => BinaryOp::And,
        ReduceOp::ArgMin | ReduceOp::ArgMax => return position(op, elements),
    };
    let empty = identity(op, dtype);
    let tile = |tile: &[Value]| {
        let mut lanes = [empty; 16];
        for (i, &element) in tile.iter().enumerate() {
            lanes[i % 16] = scalar::binary(binary, lanes[i % 16], element);
        }
        for half in [8, 4, 2, 1] {
            for l in 0..half {
                lanes[l] = scalar::binary(binary, lanes[l], lanes[l + half]);
            }
        }
        lanes[0]
    };
    let row_len = shape.iter().skip(1).product::<usize>().max(1);
    let mut parts: Vec<Value> = if elements.len() <= tile_len || row_len == 1 {
        elements.chunks(tile_len).map(tile).collect()
    } else if row_len <= tile_len {
        let divides = |rows: &usize| tile_len.is_multiple_of(*rows);
        let rows = (1..=tile_len / row_len).rfind(divides).unwrap_or(1);
        elements.chunks(rows * row_len).map(tile).collect()
    } else {
        let rows = elements.chunks(row_len);
        rows.map(|row| reduce(op, dtype, (&shape[1..], row), tile_len))
            .collect()
    };
    while parts.len() > 1 {
        let join = |pair: &[Value]| match *pair {
            [left, right] => scalar::binary(binary, left, right),
            _ => pair[0],
        };
        parts = parts.chunks(2).map(join).collect();
    }
    parts.first().copied().unwrap_or(empty)
}

fn identity(op: ReduceOp, dtype: DType) -> Value {
    let extreme = |float: f64, integer: fn(DType) -> Value| {
        if dtype.is_integer() {
            integer(dtype)
        } else {
            scalar::from_f64(dtype, float)
        }
    };
    match op {
        ReduceOp::Sum => scalar::from_f64(dtype, 0.0),
        ReduceOp::Prod => scalar::from_f64(dtype, 1.0),
        // A conversion of an infinity saturates.
        ReduceOp::Min => extreme(f64::INFINITY, |to| {
            scalar::cast(to, f64::INFINITY.to_value())
        }),
        ReduceOp::Max => extreme(f64::NEG_INFINITY, |to| {
            scalar::cast(to, f64::NEG_INFINITY.to_value())
        }),
        ReduceOp::Any => false.to_value(),
        ReduceOp::All => true.to_value(),
        ReduceOp::ArgMin | ReduceOp::ArgMax => (-1i64).to_value(),
    }
}

/// The first of the extreme elements; a NaN is the most extreme; -1 where there are none.
fn position(op: ReduceOp, elements: &[Value]) -> Value {
    let mut best: Option<usize> = None;
    for (i, &element) in elements.iter().enumerate() {
        let is_better = best.is_none_or(|best| {
            let best = elements[best];
            let beats = match op {
                ReduceOp::ArgMin => scalar::less(element, best),
                _ => scalar::less(best, element),
            };
            !scalar::is_nan(best) && (beats || scalar::is_nan(element))
        });
        if is_better {
            best = Some(i);
        }
    }
    best.map_or(-1i64, |i| i as i64).to_value()
}
