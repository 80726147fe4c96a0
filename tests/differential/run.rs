//! A program on the library: what each rank sees of it.

use crate::bodies::{self, Operation, Origin};
use crate::host;
use crate::program::{self, Operand, Step, Var};
use crate::reference::{Observation, other_shape};
use num_complex::Complex;
use sparsefuse::dense::{Array, Scalar, Vector};
use sparsefuse::kernels::{BinaryOp, DType, Element, Numeric, ReduceOp, Value};
use sparsefuse::runtime::{
    Config, Counters, Error, Local, Processes, Rounds, Runtime, Shape, State, StoreHandle, TaskArg,
    View,
};
use sparsefuse::sparse::{Csr, LocalRows};
use std::collections::BTreeMap;
use std::sync::Arc;

/// On what a program runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Setup {
    pub(crate) ranks: usize,
    pub(crate) config: Config,
}

/// What one rank has seen.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) observations: Vec<Result<Observation, Error>>,
    pub(crate) counters: Counters,
    /// Bytes in use after the program has dropped everything.
    pub(crate) leaked: usize,
    /// What was held of an array and has changed meanwhile.
    pub(crate) changed: Vec<String>,
}

/// Runs the steps of a program that the reference has admitted, on that many ranks of each process
/// that `mpiexec` has started.
pub(crate) fn run(steps: &[Step], setup: &Setup) -> Result<Vec<Seen>, Error> {
    Processes::join()?
        .run_ranks(setup.ranks, &setup.config, |runtime| {
            let mut rank = Rank {
                runtime: runtime.clone(),
                vars: BTreeMap::new(),
                held: Vec::new(),
                observations: Vec::new(),
            };
            let is_limited = setup.config.memory_limit != usize::MAX;
            let mut outcome = Ok(());
            for step in steps {
                outcome = rank.apply(step);
                // What fails outside of a task ends the program, on all ranks together.
                if is_limited
                    && outcome.is_ok() == rank.has_anyone_failed(step, outcome.is_err())?
                {
                    outcome = Err(Error::argument("step", "no failure", "one of another rank"));
                }
                if outcome.is_err() {
                    break;
                }
            }
            match outcome {
                Ok(()) => rank.show_all(),
                Err(cause) => rank.observations.push(Err(cause)),
            }
            let changed = rank.held.iter().filter_map(Held::change).collect();
            let Rank {
                observations,
                vars,
                held,
                ..
            } = rank;
            drop((vars, held));
            runtime.flush();
            Ok(Seen {
                observations,
                counters: runtime.counters(),
                leaked: runtime.memory_in_use(),
                changed,
            })
        })?
        .into_iter()
        .collect()
}

/// One rank of a program.
struct Rank {
    runtime: Runtime,
    vars: BTreeMap<Var, Entry>,
    held: Vec<Held>,
    observations: Vec<Result<Observation, Error>>,
}

/// A variable; its element type is known to the store.
#[derive(Clone)]
enum Entry {
    Array(Handle),
    Matrix(Matrix),
}

#[derive(Clone)]
struct Handle {
    store: StoreHandle,
    view: Option<Arc<View>>,
}

#[derive(Clone)]
enum Matrix {
    F32(Csr<f32>),
    F64(Csr<f64>),
    Complex(Csr<Complex<f64>>),
    I64(Csr<i64>),
}

/// A rank while it does the rounds of a loop, and the variables that these replace.
struct Loop<'r> {
    rank: &'r mut Rank,
    vars: Vec<Var>,
}

impl State for Loop<'_> {
    fn each_store(&mut self, visit: &mut dyn FnMut(&mut StoreHandle)) {
        for var in &self.vars {
            if let Some(Entry::Array(handle)) = self.rank.vars.get_mut(var) {
                visit(&mut handle.store);
            }
        }
    }

    fn is_whole(&self) -> bool {
        let entries = self.vars.iter().filter_map(|var| self.rank.vars.get(var));
        let mut entries = entries.map(|entry| match entry {
            Entry::Array(handle) => handle.view.is_none(),
            Entry::Matrix(_) => false,
        });
        entries.all(|is_whole| is_whole)
    }
}

/// Part of an array that is kept, and what it was.
struct Held {
    now: Box<dyn Fn() -> Vec<Value>>,
    before: Vec<Value>,
}

impl Held {
    fn change(&self) -> Option<String> {
        let now = (self.now)();
        (now != self.before).then(|| format!("{:?} became {now:?}", self.before))
    }
}

/// Calls a generic expression with `$T` bound to the type that `$dtype` names.
macro_rules! with_element {
    ($dtype:expr, $T:ident => $call:expr) => {
        with_element!($dtype, $T => $call, bool => { type $T = bool; $call })
    };
    ($dtype:expr, $T:ident => $call:expr, bool => $bool:expr) => {
        match $dtype {
            DType::F32 => { type $T = f32; $call }
            DType::F64 => { type $T = f64; $call }
            DType::ComplexF32 => { type $T = Complex<f32>; $call }
            DType::ComplexF64 => { type $T = Complex<f64>; $call }
            DType::I32 => { type $T = i32; $call }
            DType::I64 => { type $T = i64; $call }
            DType::U32 => { type $T = u32; $call }
            DType::U64 => { type $T = u64; $call }
            DType::Bool => $bool,
        }
    };
}

/// Calls a generic expression with the matrix of any element type.
macro_rules! with_matrix {
    ($entry:expr, $matrix:ident => $call:expr) => {
        match $entry {
            Matrix::F32($matrix) => $call,
            Matrix::F64($matrix) => $call,
            Matrix::Complex($matrix) => $call,
            Matrix::I64($matrix) => $call,
        }
    };
}

/// The reference has admitted the step, so the variable is there and of this kind.
const ADMITTED: &str = "the reference has admitted the step";

impl Rank {
    fn array(&self, var: Var) -> Handle {
        match &self.vars[&var] {
            Entry::Array(handle) => handle.clone(),
            Entry::Matrix(_) => panic!("{ADMITTED}"),
        }
    }

    fn matrix(&self, var: Var) -> Matrix {
        match &self.vars[&var] {
            Entry::Array(_) => panic!("{ADMITTED}"),
            Entry::Matrix(matrix) => matrix.clone(),
        }
    }

    fn set(&mut self, out: Var, handle: Handle) {
        self.vars.insert(out, Entry::Array(handle));
    }

    fn apply(&mut self, step: &Step) -> Result<(), Error> {
        match step {
            Step::Data {
                out,
                dtype,
                shape,
                flavour,
                seed,
            } => {
                let elements = (0..shape.iter().product())
                    .map(|i| program::element(*dtype, *flavour, *seed, i));
                let shape = Shape::new(shape);
                let store = with_element!(*dtype, T => {
                    let elements: Vec<T> = elements.filter_map(Value::get).collect();
                    self.runtime.store_from_vec(shape, elements)
                })?;
                self.set(*out, Handle { store, view: None });
            }
            Step::Fill {
                out,
                dtype,
                shape,
                number,
            } => {
                let shape = Shape::new(shape);
                let operation = Operation::Copy {
                    to_array: shape.rank() > 0,
                };
                let value = program::number(*dtype, *number);
                self.issue(*out, &operation, *dtype, shape, &[Source::Number(value)])?;
            }
            Step::Index {
                out,
                dtype,
                shape,
                factor,
            } => {
                let value = program::number(*dtype, *factor);
                let shape = Shape::new(shape);
                self.issue(
                    *out,
                    &Operation::Index,
                    *dtype,
                    shape,
                    &[Source::Number(value)],
                )?;
            }
            Step::Random { out, shape, seed } => {
                let (seed, shape) = (Source::Number(seed.to_value()), Shape::new(shape));
                self.issue(*out, &Operation::Random, DType::U64, shape, &[seed])?;
            }
            Step::Unary { out, op, a } => {
                let a = self.array(*a);
                let output = op.output(a.dtype()).expect(ADMITTED);
                self.elementwise(*out, &Operation::Unary(*op), output, &[Source::of(a)])?;
            }
            Step::Cast { out, to, a } => {
                let a = self.array(*a);
                self.elementwise(*out, &Operation::Cast(*to), *to, &[Source::of(a)])?;
            }
            Step::Binary { out, op, a, b } => {
                let dtype = self.dtype_of(&[*a, *b]);
                let sources = [self.source(*a, dtype), self.source(*b, dtype)];
                let output = op.output(dtype).expect(ADMITTED);
                self.elementwise(*out, &Operation::Binary(*op), output, &sources)?;
            }
            Step::Select {
                out,
                condition,
                a,
                b,
            } => {
                let dtype = self.dtype_of(&[*a, *b]);
                let condition = self.source(*condition, DType::Bool);
                let sources = [condition, self.source(*a, dtype), self.source(*b, dtype)];
                self.elementwise(*out, &Operation::Select, dtype, &sources)?;
            }
            Step::Operator { out, op, a, b } => {
                let a = self.array(*a);
                let b = self.source(*b, a.dtype());
                let result = with_element!(
                    a.dtype(),
                    T => operator::<T>(*op, &a, &b),
                    bool => unreachable!("{ADMITTED}")
                )?;
                self.set(*out, result);
            }
            Step::Dot { out, a, b } => {
                let (a, b) = (self.array(*a), self.array(*b));
                let result = with_element!(
                    a.dtype(),
                    T => dot::<T>(&a, &b),
                    bool => unreachable!("{ADMITTED}")
                )?;
                self.set(*out, result);
            }
            Step::Norm { out, a } => {
                let a = self.array(*a);
                let result = match a.dtype() {
                    DType::F32 => norm::<f32>(&a)?,
                    _ => norm::<f64>(&a)?,
                };
                self.set(*out, result);
            }
            Step::Reduce { out, op, a } => {
                let a = self.array(*a);
                let output = op.output(a.dtype()).expect(ADMITTED);
                let operation = Operation::Reduce(*op);
                self.issue(*out, &operation, output, Shape::SCALAR, &[Source::of(a)])?;
            }
            Step::Several {
                out,
                sums,
                largest,
                a,
                b,
            } => {
                let (a, b) = (self.array(*a), self.array(*b));
                let dtype = a.dtype();
                let target = self.runtime.new_store(a.shape(), dtype);
                let totals = self.runtime.new_store(Shape::new(&[2]), dtype);
                let most = self.runtime.new_store(Shape::SCALAR, dtype);
                let body = bodies::body(&Operation::Several, &[(dtype, Origin::Array); 2]);
                let args = [
                    a.arg(),
                    b.arg(),
                    (&target).into(),
                    (&totals).into(),
                    (&most).into(),
                ];
                self.runtime.submit(&body, &args, &[])?;
                for (var, store) in [(*out, target), (*sums, totals), (*largest, most)] {
                    self.set(var, Handle { store, view: None });
                }
            }
            Step::RowReduce { out, op, a } => {
                let a = self.array(*a);
                let output = op.output(a.dtype()).expect(ADMITTED);
                let shape = Shape::new(&a.shape().dims()[..a.shape().rank() - 1]);
                self.issue(
                    *out,
                    &Operation::RowReduce(*op),
                    output,
                    shape,
                    &[Source::of(a)],
                )?;
            }
            Step::MatVec { out, a, x } => {
                let (a, x) = (self.array(*a), self.array(*x));
                let x = self.contiguous(&x)?;
                let shape = Shape::new(&a.shape().dims()[..a.shape().rank() - 1]);
                let sources = [Source::of(a), Source::Array(x)];
                let dtype = sources[0].dtype();
                self.issue(*out, &Operation::MatVec, dtype, shape, &sources)?;
            }
            Step::Slice { out, a, range } => {
                let a = self.array(*a);
                let view = a
                    .seen()
                    .slice(range.dim, range.start..range.end, range.step)?;
                self.set(*out, a.through(view));
            }
            Step::Permute { out, a, swap } => {
                let a = self.array(*a);
                let rank = a.shape().rank();
                let mut order: Vec<usize> = (0..rank).collect();
                if rank > 0 {
                    order.swap(swap.0 % rank, swap.1 % rank);
                }
                self.set(*out, a.through(a.seen().permute(&order)?));
            }
            Step::Reshape { out, a, shape } => {
                let a = self.array(*a);
                let shape = other_shape(a.shape().len(), *shape);
                let view = a.seen().reshape(Shape::new(&shape)).expect(ADMITTED);
                self.set(*out, a.through(view));
            }
            Step::Pick { out, a, dim, index } => {
                let a = self.array(*a);
                self.set(*out, a.through(a.seen().index(*dim, *index)?));
            }
            Step::Broadcast { out, a, shape } => {
                let a = self.array(*a);
                self.set(*out, a.through(a.seen().broadcast_to(Shape::new(shape))?));
            }
            Step::Moved { out, a, whole } => {
                let a = self.contiguous(&self.array(*a))?;
                let (runtime, store) = (&self.runtime, &a.store);
                let moved =
                    with_element!(a.dtype(), T => host::moved::<T>(runtime, store, *whole))?;
                self.set(
                    *out,
                    Handle {
                        store: moved,
                        view: None,
                    },
                );
            }
            Step::Chosen { out, a, every } => {
                let a = self.contiguous(&self.array(*a))?;
                let (runtime, store) = (&self.runtime, &a.store);
                let chosen =
                    with_element!(a.dtype(), T => host::chosen::<T>(runtime, store, *every))?;
                self.set(
                    *out,
                    Handle {
                        store: chosen,
                        view: None,
                    },
                );
            }
            Step::Clone { out, a } => {
                let entry = self.vars[a].clone();
                self.vars.insert(*out, entry);
            }
            Step::Drop { a } => {
                self.vars.remove(a);
            }
            Step::Assign {
                target,
                ranges,
                source,
            } => {
                let source = match source {
                    Operand::Of(var) if var == target => Source::of(self.array(*var)),
                    _ => self.source(*source, self.array(*target).dtype()),
                };
                let mut target_handle = match self.vars.remove(target) {
                    Some(Entry::Array(handle)) => handle,
                    _ => panic!("{ADMITTED}"),
                };
                let is_own =
                    target_handle.view.is_none() && self.runtime.is_unique(&target_handle.store);
                if !is_own {
                    target_handle = self.copy(&target_handle)?;
                }
                let mut view = *target_handle.seen();
                for range in ranges {
                    view = view.slice(range.dim, range.start..range.end, range.step)?;
                }
                self.write(&target_handle.through(view), &source)?;
                self.set(*target, target_handle);
            }
            Step::Write { target, source } => {
                let target = self.array(*target);
                let mut source = self.source(*source, target.dtype());
                if let Source::Array(handle) = &source
                    && handle.store.ptr_eq(&target.store)
                {
                    source = Source::Array(self.copy(handle)?);
                }
                self.write(&target, &source)?;
            }
            Step::Update { target, op, other } => {
                let target = self.array(*target);
                let mut other = self.source(*other, target.dtype());
                if let Source::Array(handle) | Source::Scalar(handle) = &other
                    && handle.store.ptr_eq(&target.store)
                    && *handle.seen() != *target.seen()
                {
                    let copy = self.copy(handle)?;
                    other = Source::of(copy);
                }
                // A task reaches a single element either by rows or as a scalar.
                let own = match other.origin() {
                    Origin::Array => Source::Array(target.clone()),
                    Origin::Scalar | Origin::Number => Source::of(target.clone()),
                };
                let sources = [own, other];
                self.submit(&Operation::Binary(*op), &target, &sources)?;
            }
            Step::Matrix {
                out,
                dtype,
                shape,
                pattern,
                seed,
            } => {
                let matrix = match dtype {
                    DType::F32 => Matrix::F32(csr(*shape, *pattern, *seed)?),
                    DType::F64 => Matrix::F64(csr(*shape, *pattern, *seed)?),
                    DType::ComplexF64 => Matrix::Complex(csr(*shape, *pattern, *seed)?),
                    _ => Matrix::I64(csr(*shape, *pattern, *seed)?),
                };
                self.vars.insert(*out, Entry::Matrix(matrix));
            }
            Step::Product { out, matrix, x } => {
                let (matrix, x) = (self.matrix(*matrix), self.array(*x));
                let is_vector = x.shape().rank() == 1;
                let y = with_matrix!(matrix, a => match is_vector {
                    true => Handle::of(&a.try_matvec(&x.vector()?)?),
                    false => Handle::of(&a.try_matmul(&x.array()?)?),
                });
                self.set(*out, y);
            }
            Step::Scale {
                out,
                matrix,
                factor,
            } => {
                let matrix = self.matrix(*matrix);
                let factor =
                    with_matrix!(&matrix, a => self.source(*factor, a.values().store().dtype()));
                let scaled = match matrix {
                    Matrix::F32(a) => Matrix::F32(scale(&a, &factor)?),
                    Matrix::F64(a) => Matrix::F64(scale(&a, &factor)?),
                    Matrix::Complex(a) => Matrix::Complex(scale(&a, &factor)?),
                    Matrix::I64(a) => Matrix::I64(scale(&a, &factor)?),
                };
                self.vars.insert(*out, Entry::Matrix(scaled));
            }
            Step::Values { out, matrix } => {
                let values = with_matrix!(self.matrix(*matrix), a => Handle::of(a.values()));
                self.set(*out, values);
            }
            Step::WithValues {
                out,
                matrix,
                values,
            } => {
                let values = self.array(*values);
                let changed = match self.matrix(*matrix) {
                    Matrix::F32(a) => Matrix::F32(a.with_values(values.vector()?)?),
                    Matrix::F64(a) => Matrix::F64(a.with_values(values.vector()?)?),
                    Matrix::Complex(a) => Matrix::Complex(a.with_values(values.vector()?)?),
                    Matrix::I64(a) => Matrix::I64(a.with_values(values.vector()?)?),
                };
                self.vars.insert(*out, Entry::Matrix(changed));
            }
            Step::TransposeMatrix { out, matrix } => {
                let transposed = match self.matrix(*matrix) {
                    Matrix::F32(a) => Matrix::F32(a.transpose()?),
                    Matrix::F64(a) => Matrix::F64(a.transpose()?),
                    Matrix::Complex(a) => Matrix::Complex(a.transpose()?),
                    Matrix::I64(a) => Matrix::I64(a.transpose()?),
                };
                self.vars.insert(*out, Entry::Matrix(transposed));
            }
            Step::Diagonal { out, matrix } => {
                let diagonal = with_matrix!(self.matrix(*matrix), a => Handle::of(&a.diagonal(0)?));
                self.set(*out, diagonal);
            }
            Step::ReadMatrix { matrix } => self.show_matrix(*matrix),
            Step::Read { a } => self.show_array(*a),
            Step::Hold { a } => {
                let handle = self.array(*a);
                let held = with_element!(handle.dtype(), T => {
                    self.runtime.local::<T>(&handle.store).map(Held::new)
                });
                // An array whose task has failed has nothing to hold.
                self.held.extend(held);
            }
            Step::Flush if self.runtime.config().run_ahead % 2 == 1 => self.runtime.start(),
            Step::Flush => self.runtime.flush(),
            Step::Rounds { count, steps } => {
                let mut vars: Vec<Var> = steps.iter().filter_map(Step::results).flatten().collect();
                vars.sort_unstable();
                vars.dedup();
                let mut state = Loop { rank: self, vars };
                let mut rounds = Rounds::new();
                for _ in 0..*count {
                    state.rank.runtime.flush();
                    rounds.run(&mut state, |state| {
                        steps.iter().try_for_each(|step| state.rank.apply(step))
                    })?;
                }
            }
        }
        Ok(())
    }

    /// Whether a step that may fail outside of a task has done so on any rank.
    fn has_anyone_failed(&self, step: &Step, have_i: bool) -> Result<bool, Error> {
        match step {
            Step::Data { .. } | Step::Diagonal { .. } => {
                Ok(self.runtime.all_gather(&[have_i])?.concat().contains(&true))
            }
            _ => Ok(have_i),
        }
    }

    fn show_all(&mut self) {
        let vars: Vec<Var> = self.vars.keys().copied().collect();
        for var in vars {
            match &self.vars[&var] {
                Entry::Array(_) => self.show_array(var),
                Entry::Matrix(_) => self.show_matrix(var),
            }
        }
    }

    fn show_array(&mut self, var: Var) {
        let Handle { store, view } = self.array(var);
        let seen = with_element!(store.dtype(), T => {
            let elements = self.runtime.read::<T>(&store, view.as_deref());
            elements.map(|elements| elements.into_iter().map(Element::to_value).collect())
        });
        self.observations.push(seen);
    }

    fn show_matrix(&mut self, var: Var) {
        let seen = with_matrix!(self.matrix(var), a => a.to_rows().map(|rows| {
            let pos = rows.pos.into_iter().map(Element::to_value);
            let crd = rows.crd.into_iter().map(Element::to_value);
            pos.chain(crd).chain(rows.vals.into_iter().map(Element::to_value)).collect()
        }));
        self.observations.push(seen);
    }

    fn dtype_of(&self, operands: &[Operand]) -> DType {
        let found = operands.iter().find_map(|operand| match operand {
            Operand::Of(var) => Some(self.array(*var).dtype()),
            Operand::Number(_) => None,
        });
        found.expect(ADMITTED)
    }

    fn source(&self, operand: Operand, dtype: DType) -> Source {
        match operand {
            Operand::Of(var) => Source::of(self.array(var)),
            Operand::Number(choice) => Source::Number(program::number(dtype, choice)),
        }
    }

    /// A task whose new result has the shape that the operands broadcast to.
    fn elementwise(
        &mut self,
        out: Var,
        operation: &Operation,
        output: DType,
        sources: &[Source],
    ) -> Result<(), Error> {
        let mut dims: Vec<usize> = Vec::new();
        for source in sources {
            if let Source::Array(handle) = source {
                let shape = handle.shape();
                let (short, long) = if shape.rank() > dims.len() {
                    (dims, shape.dims().to_vec())
                } else {
                    (shape.dims().to_vec(), dims)
                };
                dims = long;
                let lead = dims.len() - short.len();
                for (d, have) in short.into_iter().enumerate() {
                    if dims[lead + d] == 1 {
                        dims[lead + d] = have;
                    }
                }
            }
        }
        self.issue(out, operation, output, Shape::new(&dims), sources)
    }

    /// A task that writes all of a new store.
    fn issue(
        &mut self,
        out: Var,
        operation: &Operation,
        output: DType,
        shape: Shape,
        sources: &[Source],
    ) -> Result<(), Error> {
        let store = self.runtime.new_store(shape, output);
        let target = Handle { store, view: None };
        self.submit(operation, &target, sources)?;
        self.set(out, target);
        Ok(())
    }

    fn write(&self, target: &Handle, source: &Source) -> Result<(), Error> {
        let operation = Operation::Copy {
            to_array: target.shape().rank() > 0 || source.origin() == Origin::Array,
        };
        self.submit(&operation, target, std::slice::from_ref(source))
    }

    fn copy(&self, handle: &Handle) -> Result<Handle, Error> {
        let store = self.runtime.new_store(handle.shape(), handle.dtype());
        let target = Handle { store, view: None };
        self.write(&target, &Source::of(handle.clone()))?;
        Ok(target)
    }

    fn contiguous(&self, handle: &Handle) -> Result<Handle, Error> {
        if handle.view.is_none() {
            Ok(handle.clone())
        } else {
            self.copy(handle)
        }
    }

    /// A task from sources to a target; arrays are broadcast to its shape.
    fn submit(
        &self,
        operation: &Operation,
        target: &Handle,
        sources: &[Source],
    ) -> Result<(), Error> {
        let is_by_rows = !matches!(
            operation,
            Operation::Reduce(_) | Operation::RowReduce(_) | Operation::MatVec
        );
        let origins: Vec<_> = sources
            .iter()
            .map(|source| (source.dtype(), source.origin()))
            .collect();
        let body = bodies::body(operation, &origins);
        let mut handles = Vec::new();
        let mut params = Vec::new();
        for source in sources {
            match source {
                Source::Array(handle) if is_by_rows && handle.shape() != target.shape() => {
                    let view = handle.seen().broadcast_to(target.shape())?;
                    handles.push(handle.through(view));
                }
                Source::Array(handle) | Source::Scalar(handle) => handles.push(handle.clone()),
                Source::Number(value) => params.push(*value),
            }
        }
        handles.push(target.clone());
        let args: Vec<TaskArg<'_>> = handles.iter().map(Handle::arg).collect();
        self.runtime.submit(&body, &args, &params)
    }
}

/// An operand of a task.
enum Source {
    Array(Handle),
    Scalar(Handle),
    Number(Value),
}

impl Source {
    /// A view of a single element is an array without dimensions.
    fn of(handle: Handle) -> Self {
        if handle.shape().rank() == 0 && handle.view.is_none() {
            Self::Scalar(handle)
        } else {
            Self::Array(handle)
        }
    }

    fn dtype(&self) -> DType {
        match self {
            Self::Array(handle) | Self::Scalar(handle) => handle.dtype(),
            Self::Number(value) => value.dtype(),
        }
    }

    fn origin(&self) -> Origin {
        match self {
            Self::Array(_) => Origin::Array,
            Self::Scalar(_) => Origin::Scalar,
            Self::Number(_) => Origin::Number,
        }
    }
}

impl Handle {
    fn of<T: Element, const D: usize>(array: &Array<T, D>) -> Self {
        Self {
            store: array.store().clone(),
            view: array.view().cloned(),
        }
    }

    fn dtype(&self) -> DType {
        self.store.dtype()
    }

    fn shape(&self) -> Shape {
        self.arg().shape()
    }

    fn arg(&self) -> TaskArg<'_> {
        TaskArg {
            store: &self.store,
            view: self.view.as_ref(),
        }
    }

    fn seen(&self) -> Arc<View> {
        let identity = || Arc::new(View::identity(self.store.shape()));
        self.view.clone().unwrap_or_else(identity)
    }

    fn through(&self, view: View) -> Self {
        let view = Some(Arc::new(view)).filter(|view| !view.is_identity());
        Self {
            store: self.store.clone(),
            view,
        }
    }

    fn array<T: Element, const D: usize>(&self) -> Result<Array<T, D>, Error> {
        Array::from_store(self.store.clone(), self.view.clone())
    }

    /// Scalars of `dense` are whole stores.
    fn scalar<T: Element>(&self) -> Result<Scalar<T>, Error> {
        let whole = self.array::<T, 0>()?.contiguous()?;
        Scalar::from_store(whole.store().clone())
    }

    fn vector<T: Element>(&self) -> Result<Vector<T>, Error> {
        self.array()
    }
}

impl Held {
    fn new<T: Element>(local: Local<T>) -> Self {
        let now = move || local.iter().map(|element| element.to_value()).collect();
        Self {
            before: now(),
            now: Box::new(now),
        }
    }
}

fn operator<T: Numeric>(op: BinaryOp, a: &Handle, b: &Source) -> Result<Handle, Error> {
    match a.shape().rank() {
        1 => operator_of::<T, 1>(op, a, b),
        _ => operator_of::<T, 2>(op, a, b),
    }
}

fn operator_of<T: Numeric, const D: usize>(
    op: BinaryOp,
    a: &Handle,
    b: &Source,
) -> Result<Handle, Error> {
    macro_rules! apply {
        ($a:expr, $b:expr) => {
            match op {
                BinaryOp::Add => $a.try_add($b),
                BinaryOp::Sub => $a.try_sub($b),
                BinaryOp::Mul => $a.try_mul($b),
                _ => $a.try_div($b),
            }
        };
    }
    let a = a.array::<T, D>()?;
    let result = match b {
        Source::Array(b) if b.shape().rank() > 0 => apply!(a, &b.array::<T, D>()?),
        Source::Array(b) | Source::Scalar(b) => apply!(a, &b.scalar::<T>()?),
        Source::Number(value) => apply!(a, value.get::<T>().expect(ADMITTED)),
    }?;
    Ok(Handle::of(&result))
}

fn dot<T: Numeric>(a: &Handle, b: &Handle) -> Result<Handle, Error> {
    let dot = match a.shape().rank() {
        1 => a.array::<T, 1>()?.try_dot(&b.array::<T, 1>()?)?,
        _ => a.array::<T, 2>()?.try_dot(&b.array::<T, 2>()?)?,
    };
    Ok(Handle {
        store: dot.store().clone(),
        view: None,
    })
}

fn norm<T: Numeric>(a: &Handle) -> Result<Handle, Error> {
    let norm = match a.shape().rank() {
        1 => a.array::<T, 1>()?.norm2(),
        _ => a.array::<T, 2>()?.norm2(),
    };
    Ok(Handle {
        store: norm.store().clone(),
        view: None,
    })
}

fn csr<T: Numeric>(
    shape: [usize; 2],
    pattern: program::Pattern,
    seed: u64,
) -> Result<Csr<T>, Error> {
    Csr::from_rows(shape[0], shape[1], |rows| {
        let mut local = LocalRows::with_capacity(rows.len(), 0);
        for row in rows {
            for column in program::columns(pattern, seed, row, shape) {
                let place = row * shape[1] + column;
                let value = program::element(T::DTYPE, program::Flavour::Smooth, seed, place);
                local.push(
                    column as u32,
                    value.get().expect("the element has the type asked for"),
                );
            }
            local.end_row();
        }
        local
    })
}

fn scale<T: Numeric>(matrix: &Csr<T>, factor: &Source) -> Result<Csr<T>, Error> {
    Ok(match factor {
        Source::Number(value) => matrix.scale(value.get::<T>().expect(ADMITTED)),
        Source::Array(handle) | Source::Scalar(handle) => matrix * &handle.scalar::<T>()?,
    })
}

/// Whether two elements are the same to the bit, where any NaN is like any other.
pub(crate) fn is_same(a: Value, b: Value) -> bool {
    let part = |value: Value, word: usize| {
        let bits = value.bits()[word];
        let is_nan = match value.dtype() {
            DType::F32 | DType::ComplexF32 => f32::from_bits(bits as u32).is_nan(),
            DType::F64 | DType::ComplexF64 => f64::from_bits(bits).is_nan(),
            _ => false,
        };
        (!is_nan).then_some(bits)
    };
    a.dtype() == b.dtype() && part(a, 0) == part(b, 0) && part(a, 1) == part(b, 1)
}

/// The reductions of an element type that a program may ask for.
pub(crate) fn reductions(dtype: DType) -> Vec<ReduceOp> {
    ReduceOp::ALL
        .into_iter()
        .filter(|op| op.output(dtype).is_some())
        .collect()
}
